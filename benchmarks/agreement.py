"""Whether derivatives that two processes found are the same."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

__all__ = ["disagreement"]

TOLERANCE = {"float32": 1e-4, "float64": 1e-8}  # of the largest element of a derivative


def disagreement(found: Path, expected: Path, tolerance: float | None = None) -> str:
    """Return how derivatives in a file differ from those in another one; nothing if they do not.

    The tolerance is a share of the largest element of each; by default it is that of the dtype.
    """
    with np.load(found) as ours, np.load(expected) as theirs:
        pairs = itertools.zip_longest(ours.values(), theirs.values())
        for i, (one, other) in enumerate(pairs):
            if one is None or other is None:
                return f"{len(ours)} derivatives instead of {len(theirs)}"
            kinds = [f"{each.dtype}{list(each.shape)}" for each in (one, other)]
            if kinds[0] != kinds[1]:
                return f"derivative {i} is {kinds[0]} instead of {kinds[1]}"
            largest = np.max(np.abs(other), initial=0.0)
            error = np.max(np.abs(one - other), initial=0.0)
            allowed = TOLERANCE[str(other.dtype)] if tolerance is None else tolerance
            if not error <= allowed * largest:
                return f"derivative {i}, of up to {largest:.1e}, is wrong by up to {error:.1e}"
    return ""
