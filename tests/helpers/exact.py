"""Comparisons of results that are the same bit for bit with the usual switches."""

import numpy as np

from agnograd._util.switches import MODE


def is_as_exact(found, expected):
    """Return whether arrays have the same bits; with other switches, whether they are close.

    Small programs may then be C, whose functions differ from NumPy's in the last places.
    """
    if MODE.side or MODE.numbers:
        return np.allclose(found, expected, rtol=1e-13, atol=0.0, equal_nan=True)
    return found.tobytes() == expected.tobytes()
