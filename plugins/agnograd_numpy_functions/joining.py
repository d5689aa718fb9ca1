"""Arrays joined and split, with parts put in and taken out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from agnograd_numpy_functions._arguments import cast
from agnograd_numpy_functions._helpers import (
    along,
    at_least,
    axes_of,
    flat,
    part,
    promoted,
    together,
)
from agnograd_numpy_functions._program import Array, Arrays, DType, Out, Table

__all__ = ["table"]

table = Table()
Parts = list[Array]


def _joined(
    xp: Any, arrays: Parts, axis: int | None, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    arrays = _of_one_dtype(xp, arrays, dtype, casting)
    if axis is None:
        arrays, axis = [flat(xp, each) for each in arrays], 0
    return xp.concat(arrays, axis=axis)


def _of_one_dtype(xp: Any, arrays: Parts, dtype: Any, casting: str) -> Parts:
    if dtype is None and (casting == "same_kind" or not arrays):
        return together(xp, *arrays) if arrays else arrays
    dtype = promoted(xp, *arrays) if dtype is None else dtype
    return cast(xp, arrays, dtype, casting)


@table.add("concatenate", "concat")
def _concatenate(
    xp: Any,
    arrays: Arrays,
    /,
    axis: int | None = 0,
    out: Out = None,
    *,
    dtype: DType | None = None,
    casting: str = "same_kind",
) -> Array:
    return _joined(xp, arrays, axis, dtype, casting)


@table.add("stack")
def _stack(
    xp: Any,
    arrays: Arrays,
    axis: int = 0,
    out: Out = None,
    *,
    dtype: DType | None = None,
    casting: str = "same_kind",
) -> Array:
    return xp.stack(_of_one_dtype(xp, arrays, dtype, casting), axis=axis)


@table.add("vstack")
def _vstack(
    xp: Any, tup: Arrays, *, dtype: DType | None = None, casting: str = "same_kind"
) -> Array:
    return _joined(xp, [at_least(xp, each, 2) for each in tup], 0, dtype, casting)


@table.add("hstack")
def _hstack(
    xp: Any, tup: Arrays, *, dtype: DType | None = None, casting: str = "same_kind"
) -> Array:
    parts = [at_least(xp, each, 1) for each in tup]
    return _joined(xp, parts, 0 if parts[0].ndim == 1 else 1, dtype, casting)


@table.add("dstack")
def _dstack(xp: Any, tup: Arrays) -> Array:
    shaped = []
    for each in tup:
        two = at_least(xp, each, 2)
        shaped.append(xp.expand_dims(two, axis=2) if two.ndim == 2 else two)
    return _joined(xp, shaped, 2)


@table.add("column_stack")
def _column_stack(xp: Any, tup: Arrays) -> Array:
    columns = [xp.reshape(each, (-1, 1)) if each.ndim < 2 else each for each in tup]
    return _joined(xp, columns, 1)


@table.add("block")
def _block(xp: Any, arrays: Any) -> Array:
    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    levels = depth(arrays)

    def rank(part: Any) -> int:
        return max(map(rank, part)) if isinstance(part, list) else xp.asarray(part).ndim

    full = max(levels, rank(arrays))

    def joined(part: Any, level: int) -> Array:
        if not isinstance(part, list):
            return at_least(xp, xp.asarray(part), full)
        return _joined(xp, [joined(each, level + 1) for each in part], level - levels)

    return joined(arrays, 0)


@table.add("append")
def _append(xp: Any, arr: Array, values: Array, axis: int | None = None) -> Array:
    return _joined(xp, [arr, values], axis)


def _split(xp: Any, ary: Array, sections: Any, axis: int, equal: bool) -> Parts:
    (axis,) = axes_of(axis, ary.ndim)
    length = ary.shape[axis]
    if isinstance(sections, int) or (
        hasattr(sections, "__index__") and not hasattr(sections, "ndim")
    ):
        count = int(sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(length, count)
        if equal and extra:
            raise ValueError("array split does not result in an equal division")
        ends = [each * i + min(i, extra) for i in range(count + 1)]
    else:
        ends = [0, *(int(end) for end in sections), length]
    return [part(ary, axis, *bounds) for bounds in pairwise(ends)]


@table.each("split", "array_split")
def _split_at(name: str, xp: Any, ary: Array, indices_or_sections: Any, axis: int = 0) -> Parts:
    return _split(xp, ary, indices_or_sections, axis, equal=name == "split")


@table.each("hsplit", "vsplit", "dsplit")
def _split_along(name: str, xp: Any, ary: Array, indices_or_sections: Any) -> Parts:
    rank, axis = {"hsplit": (1, 1), "vsplit": (2, 0), "dsplit": (3, 2)}[name]
    if ary.ndim < rank:
        raise ValueError(f"{name} only works on arrays of {rank} or more dimensions")
    return _split(xp, ary, indices_or_sections, min(axis, ary.ndim - 1), equal=True)


@table.add("unstack")
def _unstack(xp: Any, x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    return tuple(xp.unstack(x, axis=axis))


def _positions(xp: Any, obj: Any, length: int) -> list[int]:
    """Return the positions, from 0, that an index, a slice, a list or a mask names."""
    if isinstance(obj, slice):
        return list(range(length))[obj]
    obj = _listed(obj)
    if isinstance(obj, bool) or (isinstance(obj, Sequence) and obj and isinstance(obj[0], bool)):
        flags = [obj] if isinstance(obj, bool) else obj
        if len(flags) != length:
            raise ValueError(f"a mask of {len(flags)} elements is not that of an axis of {length}")
        return [i for i, flag in enumerate(flags) if flag]
    return _from_zero(obj, length, length - 1)


def _from_zero(obj: Any, length: int, last: int) -> list[int]:
    """Return positions from 0 on an axis of a length, the last of which may be one behind it."""
    places = [int(each) for each in (obj if isinstance(obj, Sequence) else [obj])]
    for place in places:
        if not -length <= place <= last:
            raise IndexError(f"index {place} is out of bounds for an axis of length {length}")
    return [place if place >= 0 else place + length for place in places]


def _listed(obj: Any) -> Any:
    return obj.tolist() if hasattr(obj, "tolist") else obj


@table.add("delete")
def _delete(xp: Any, arr: Array, obj: Any, axis: int | None = None) -> Array:
    arr, axis = along(xp, arr, axis)
    gone = set(_positions(xp, obj, arr.shape[axis]))
    kept = [i for i in range(arr.shape[axis]) if i not in gone]
    return xp.take(arr, xp.asarray(kept, dtype=xp.int64, device=arr.device), axis=axis)


@table.add("insert")
def _insert(xp: Any, arr: Array, obj: Any, values: Array, axis: int | None = None) -> Array:
    arr, axis = along(xp, arr, axis)
    length = arr.shape[axis]
    one = isinstance(obj, int) or getattr(obj, "shape", None) == ()
    if isinstance(obj, slice):
        places = _positions(xp, obj, length)
    else:  # before an element, or after the last one
        places = _from_zero(_listed(obj), length, length)
    if len(places) == 1:
        values = at_least(xp, values, arr.ndim)
        if one:  # its values lie along the first axis
            values = xp.moveaxis(values, 0, axis)
        places = places * values.shape[axis]
    shape = (*arr.shape[:axis], len(places), *arr.shape[axis + 1 :])
    values = xp.broadcast_to(xp.astype(values, arr.dtype), shape)
    order = sorted(
        range(length + len(places)),
        key=lambda i: (i, 1, 0) if i < length else (places[i - length], 0, i),
    )
    both = xp.concat([arr, values], axis=axis)
    return xp.take(both, xp.asarray(order, dtype=xp.int64, device=arr.device), axis=axis)


@table.add("trim_zeros")
def _trim_zeros(xp: Any, filt: Array, trim: str = "fb", axis: Any = None) -> Array:
    axes = axes_of(axis, filt.ndim)
    key: list[slice] = [slice(None)] * filt.ndim
    for axis in axes:
        others = tuple(i for i in range(filt.ndim) if i != axis)
        busy = xp.any(filt != 0, axis=others) if others else filt != 0
        places = [i for i in range(filt.shape[axis]) if busy[i]]
        first = (places[0] if places else filt.shape[axis]) if "f" in trim.lower() else 0
        last = (places[-1] + 1 if places else 0) if "b" in trim.lower() else filt.shape[axis]
        key[axis] = slice(first, max(first, last))
    return filt[tuple(key)]
