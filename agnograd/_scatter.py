"""Adding at an index, in the standard alone: the default for libraries that have no such thing."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import array_api_compat

from agnograd._indexing import is_basic, without_newaxis

__all__ = ["scatter_add", "scatter_add_axis"]

# Elements of one block of what is selected (32 MiB in float64).
_BLOCK = 1 << 22


def scatter_add(xp: ModuleType, into: Any, key: Any, values: Any) -> Any:
    """Add ``values`` to ``into[key]``, repeated positions adding up; return the result.

    Positions that cannot repeat are read, added to and written. For integer arrays the library's
    own indexing says which positions the key selects.
    """
    if is_basic(key):
        key = without_newaxis(key)
        here = into[key]
        into[key] = here + xp.reshape(values, here.shape)
        return into
    if _is_mask(xp, key):
        into[key] = into[key] + values
        return into
    every = xp.reshape(
        xp.arange(math.prod(into.shape), device=array_api_compat.device(into)), into.shape
    )
    selected = every[key]
    values = xp.broadcast_to(values, selected.shape)
    rows = _add_rows(
        xp,
        xp.reshape(into, (-1, 1)),
        xp.reshape(selected, (-1,)),
        xp.reshape(values, (-1, 1)),
    )
    return xp.reshape(rows, into.shape)


def scatter_add_axis(xp: ModuleType, into: Any, indices: Any, values: Any, axis: int) -> Any:
    """Add slices of ``values`` along an axis to those of ``into`` that ``indices`` name."""
    front = xp.moveaxis(into, axis, 0)
    values = xp.moveaxis(values, axis, 0)
    rest = math.prod(front.shape[1:])
    length = front.shape[0]
    # A narrow dtype may not hold the sum.
    indices = xp.astype(indices, xp.arange(0).dtype)
    indices = xp.where(indices < 0, indices + length, indices)
    rows = _add_rows(
        xp,
        xp.reshape(front, (length, rest)),
        indices,
        xp.reshape(values, (indices.shape[0], rest)),
    )
    return xp.moveaxis(xp.reshape(rows, front.shape), 0, axis)


def _add_rows(xp: ModuleType, into: Any, indices: Any, values: Any) -> Any:
    """Add row j of ``values`` to row ``indices[j]`` of ``into``.

    Each row of ``into`` selects its values among all of them, in blocks of rows. Nothing depends
    on the values of the indices, so that lazy libraries stay lazy; and what is not selected is
    left out, not multiplied with zero, which would spread infinities.
    """
    length = into.shape[0]
    every = xp.arange(length, device=array_api_compat.device(into))
    height = max(1, _BLOCK // max(1, math.prod(values.shape)))
    blocks = [into[:0, :]]
    for start in range(0, length, height):
        rows = slice(start, min(start + height, length))
        selects = xp.expand_dims(xp.expand_dims(every[rows], axis=1) == indices, axis=2)
        selected = xp.where(selects, values, xp.zeros_like(values))
        blocks.append(into[rows, :] + xp.sum(selected, axis=1))
    return xp.concat(blocks, axis=0)


def _is_mask(xp: ModuleType, key: Any) -> bool:
    return hasattr(key, "dtype") and bool(xp.isdtype(key.dtype, "bool"))
