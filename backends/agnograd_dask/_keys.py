"""Keys that Dask does not take, or reads unlike NumPy: rewritten as keys that it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import dask.array as da
import numpy as np

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import is_basic

__all__ = ["at_mask", "is_mask", "needs_positions", "positions", "set_at_mask", "writes_positions"]

Shape = tuple[int, ...]


def is_mask(key: Any) -> bool:
    """Return whether a key is just an array of booleans, which has axes."""
    return _is_boolean(key) and getattr(key, "ndim", 0) > 0


def needs_positions(key: Any, rank: int) -> bool:
    """Return whether Dask itself reads at a key as NumPy does: at one index array, of one axis."""
    parts = key if isinstance(key, tuple) else (key,)
    axes = [np.ndim(part) for part in parts if isinstance(part, list) or hasattr(part, "ndim")]
    if is_mask(key):
        return key.ndim not in (1, rank)
    if any(isinstance(part, range) or (_is_boolean(part) and not np.ndim(part)) for part in parts):
        return True
    several = sum(map(bool, axes)) > 1 or max(axes, default=0) > 1
    return several or (bool(axes) and any(part is None for part in parts))


def positions(key: Any, shape: Shape) -> Any:
    """Return the positions in the flattened array that a key selects, in the result's shape.

    As in Dask and PyTorch, a number takes its axis away; in NumPy it is one of the index arrays,
    and may move their axes to the front.
    """
    parts = list(_as_indices(key if isinstance(key, tuple) else (key,)))
    used = sum(part is not None and part is not ... and not _is_new(part) for part in parts)
    place = next((i for i, part in enumerate(parts) if part is ...), len(parts))
    parts[place : place + 1] = [slice(None)] * (len(shape) - used)
    if used > len(shape):
        raise IndexError(f"a key of {used} indices for an array of {len(shape)} axes")
    basic: list[Any] = []  # of each axis of the result, positions along it
    arrays: list[tuple[int, Any]] = []  # of each index array, after how many of these it is
    axis, start = 0, 0
    for part in parts:
        if part is None:
            basic.append(np.zeros(1, dtype=np.int64))
            continue
        if _is_new(part):
            arrays.append((len(basic), part[0]))
            continue
        length, step = shape[axis], math.prod(shape[axis + 1 :])
        axis += 1
        if isinstance(part, slice):
            basic.append(np.arange(length)[part] * step)
        elif part.ndim:
            arrays.append((len(basic), _from_start(part, length) * step))
        else:
            start = start + _from_start(part, length) * step
    together = len({before for before, _ in arrays}) == 1
    first = arrays[0][0] if together else 0
    after = len(basic) - first
    total: Any = start
    for _, array in arrays:
        total = total + array.reshape(*array.shape, *[1] * after)
    joint = np.broadcast_shapes(*(array.shape for _, array in arrays)) if arrays else ()
    for number, along in enumerate(basic):
        behind = len(basic) - 1 - number + (len(joint) if number < first else 0)
        total = total + along.reshape(-1, *[1] * behind)
    lengths = [along.size for along in basic]
    return da.broadcast_to(da.asarray(total), (*lengths[:first], *joint, *lengths[first:]))


def _as_indices(parts: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the parts of a key: integers and lists as arrays, masks as the indices they select."""
    for part in parts:
        if part is None or part is ... or isinstance(part, slice):
            yield part
            continue
        if not isinstance(part, da.Array):
            part = np.asarray(part, dtype=None if np.size(part) else np.int64)
        lazy = isinstance(part, da.Array)
        if not _is_boolean(part) and not (lazy and math.isnan(part.size)):
            yield part
        elif lazy:
            raise UnsupportedArrayError(
                "how many elements a mask selects is unknown before Dask computes it, and Dask "
                "takes no such key: use xp.where(mask, x, 0.0) in place of x[mask], and "
                "x = xp.where(mask, value, x) in place of x[mask] = value, with a mask of the "
                "shape of x"
            )
        elif part.ndim:
            yield from np.nonzero(part)
        else:  # True selects all, and False nothing, along an axis that is new
            yield (np.zeros(int(part), dtype=np.int64),)


def _is_new(part: Any) -> bool:
    return isinstance(part, tuple)


def _is_boolean(part: Any) -> bool:
    return isinstance(part, bool) or str(getattr(part, "dtype", "")) == "bool"


def _from_start(part: Any, length: int) -> Any:
    """Return indices counted from the start of an axis."""
    if isinstance(part, da.Array):
        part = part.astype(np.int64)
        return da.where(part < 0, part + length, part)
    part = part.astype(np.int64)
    outside = part[(part < -length) | (part >= length)]
    if outside.size:
        raise IndexError(f"index {outside.flat[0]} is out of bounds for an axis of length {length}")
    return np.where(part < 0, part + length, part)


def set_at_mask(x: Any, mask: Any, value: Any) -> Any:
    """Return an array with a value, or as many as a mask of its first axes selects, there."""
    mask = da.asarray(mask)
    rest = x.ndim - mask.ndim
    if getattr(value, "ndim", 0) > rest:
        values = da.asarray(value)  # which may have more leading axes, of length one
        values = values.reshape(values.shape[-1 - rest :])
        rows = da.broadcast_to(values, (values.shape[0], *x.shape[mask.ndim :]))
        value = at_mask(mask, rows, x.shape)
    return da.where(mask.reshape(*mask.shape, *[1] * rest), value, x).astype(x.dtype)


def at_mask(mask: Any, values: Any, shape: Shape) -> Any:
    """Return zeros with the values, in their order, where a mask of the first axes is true."""
    if values.size == 0:
        return da.zeros(shape, dtype=values.dtype)
    flat = mask.reshape(-1)
    rank = da.maximum(da.cumsum(flat.astype("int64"), axis=0) - 1, 0)
    spread = values.reshape(values.shape[0], -1)[da.minimum(rank, values.shape[0] - 1)]
    return da.where(flat[:, None], spread, 0).astype(values.dtype).reshape(shape)


def writes_positions(key: Any, rank: int, several: bool) -> bool:
    """Return whether Dask cannot write at a key other than a mask as NumPy does.

    It refuses arrays without axes, mixes up axes where an integer is beside a negative step or an
    index array, and writes a single value, but not ``several``, at a mask among other indices.
    """
    parts = key if isinstance(key, tuple) else (key,)
    numbers = any(isinstance(part, Integral) for part in parts)
    if is_basic(key):
        return numbers and any(isinstance(part, slice) and (part.step or 1) < 0 for part in parts)
    lazy = any(not is_basic(part) and np.ndim(part) == 0 for part in parts)
    masks = several and any(map(is_mask, parts))
    return numbers or lazy or masks or needs_positions(key, rank)
