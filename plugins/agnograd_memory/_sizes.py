"""Sizes of arrays."""

import math
from typing import Any

import array_api_compat

from agnograd.errors import ArgumentError

__all__ = ["nbytes"]


def nbytes(array: Any) -> int:
    """Return the size of an array in bytes; 0 for one of a size that is not yet known.

    Raises
    ------
    ArgumentError
        If it is not an array.
    """
    if not (hasattr(array, "dtype") and hasattr(array, "shape")):
        raise ArgumentError(f"nbytes takes an array, not {array!r}: make one of it by ag.asarray")
    size = array_api_compat.size(array)
    if size is None or math.isnan(size):
        return 0
    if hasattr(array, "nbytes"):
        return int(array.nbytes)
    xp = array_api_compat.array_namespace(array)
    if xp.isdtype(array.dtype, "bool"):
        return int(size)
    facts = xp.iinfo if xp.isdtype(array.dtype, "integral") else xp.finfo
    parts = 2 if xp.isdtype(array.dtype, "complex floating") else 1
    return int(size * parts * facts(array.dtype).bits) // 8
