"""Arrays joined and split, with parts put in and taken out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from agnograd_numpy_functions._arguments import check_cast
from agnograd_numpy_functions._helpers import axes_of, flat, together
from agnograd_numpy_functions._kinds import promoted
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
    for each in arrays:
        check_cast(xp, each.dtype, dtype, casting)
    return [xp.astype(each, dtype, copy=False) for each in arrays]


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


def _at_least(xp: Any, x: Array, rank: int) -> Array:
    return xp.reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x


@table.add("vstack")
def _vstack(
    xp: Any, tup: Arrays, *, dtype: DType | None = None, casting: str = "same_kind"
) -> Array:
    return _joined(xp, [_at_least(xp, each, 2) for each in tup], 0, dtype, casting)


@table.add("hstack")
def _hstack(
    xp: Any, tup: Arrays, *, dtype: DType | None = None, casting: str = "same_kind"
) -> Array:
    parts = [_at_least(xp, each, 1) for each in tup]
    return _joined(xp, parts, 0 if parts[0].ndim == 1 else 1, dtype, casting)


@table.add("dstack")
def _dstack(xp: Any, tup: Arrays) -> Array:
    shaped = []
    for each in tup:
        two = _at_least(xp, each, 2)
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
            return _at_least(xp, xp.asarray(part), full)
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
    before = (slice(None),) * axis
    return [ary[(*before, slice(start, stop), ...)] for start, stop in pairwise(ends)]


@table.add("split")
def _equal_split(xp: Any, ary: Array, indices_or_sections: Any, axis: int = 0) -> Parts:
    return _split(xp, ary, indices_or_sections, axis, equal=True)


@table.add("array_split")
def _array_split(xp: Any, ary: Array, indices_or_sections: Any, axis: int = 0) -> Parts:
    return _split(xp, ary, indices_or_sections, axis, equal=False)


def _deep_enough(name: str, ary: Array, rank: int) -> None:
    if ary.ndim < rank:
        raise ValueError(f"{name} only works on arrays of {rank} or more dimensions")


@table.add("hsplit")
def _hsplit(xp: Any, ary: Array, indices_or_sections: Any) -> Parts:
    _deep_enough("hsplit", ary, 1)
    return _split(xp, ary, indices_or_sections, 0 if ary.ndim == 1 else 1, equal=True)


@table.add("vsplit")
def _vsplit(xp: Any, ary: Array, indices_or_sections: Any) -> Parts:
    _deep_enough("vsplit", ary, 2)
    return _split(xp, ary, indices_or_sections, 0, equal=True)


@table.add("dsplit")
def _dsplit(xp: Any, ary: Array, indices_or_sections: Any) -> Parts:
    _deep_enough("dsplit", ary, 3)
    return _split(xp, ary, indices_or_sections, 2, equal=True)


@table.add("unstack")
def _unstack(xp: Any, x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    return tuple(xp.unstack(x, axis=axis))


def _positions(xp: Any, obj: Any, length: int) -> list[int]:
    """Return the positions, from 0, that an index, a slice, a list or a mask names."""
    if isinstance(obj, slice):
        return list(range(length))[obj]
    if hasattr(obj, "tolist"):
        obj = obj.tolist()
    if isinstance(obj, bool) or (isinstance(obj, Sequence) and obj and isinstance(obj[0], bool)):
        flags = [obj] if isinstance(obj, bool) else obj
        if len(flags) != length:
            raise ValueError(f"a mask of {len(flags)} elements is not that of an axis of {length}")
        return [i for i, flag in enumerate(flags) if flag]
    places = [int(each) for each in (obj if isinstance(obj, Sequence) else [obj])]
    for place in places:
        if not -length <= place < length:
            raise IndexError(f"index {place} is out of bounds for an axis of length {length}")
    return [place % length for place in places]


@table.add("delete")
def _delete(xp: Any, arr: Array, obj: Any, axis: int | None = None) -> Array:
    if axis is None:
        arr, axis = flat(xp, arr), 0
    (axis,) = axes_of(axis, arr.ndim)
    gone = set(_positions(xp, obj, arr.shape[axis]))
    kept = [i for i in range(arr.shape[axis]) if i not in gone]
    return xp.take(arr, xp.asarray(kept, dtype=xp.int64, device=arr.device), axis=axis)


@table.add("insert")
def _insert(xp: Any, arr: Array, obj: Any, values: Array, axis: int | None = None) -> Array:
    if axis is None:
        arr, axis = flat(xp, arr), 0
    (axis,) = axes_of(axis, arr.ndim)
    length = arr.shape[axis]
    one = isinstance(obj, int) or getattr(obj, "shape", None) == ()
    places = _positions(xp, obj, length) if isinstance(obj, slice) else _between(obj, length)
    if len(places) == 1:
        values = _at_least(xp, values, arr.ndim)
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


def _between(obj: Any, length: int) -> list[int]:
    """Return positions between elements: before each one, and after the last."""
    if hasattr(obj, "tolist"):
        obj = obj.tolist()
    places = [int(each) for each in (obj if isinstance(obj, Sequence) else [obj])]
    for place in places:
        if not -length <= place <= length:
            raise IndexError(f"index {place} is out of bounds for an axis of length {length}")
    return [place if place >= 0 else place + length for place in places]


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
