"""Arrays that are so large that element-wise rules are applied to them block by block."""

import numpy as np

__all__ = ["SHAPE", "drawn"]

SHAPE = (500, 1000)


def drawn(seed, dtype="float64", order="C"):
    """Return an array of the shape, of numbers between 0.5 and 1.5."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 1.5, SHAPE)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(0.5, 1.5, SHAPE)
    return np.asarray(values, dtype=dtype, order=order)
