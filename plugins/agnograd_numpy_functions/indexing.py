"""Reading at indices, masks and diagonals; writing there."""

from __future__ import annotations

from typing import Any

from agnograd.extend import every_element, replace
from agnograd_numpy_functions._arguments import check_cast, like
from agnograd_numpy_functions._helpers import (
    along,
    as_axis,
    at_least,
    axes_of,
    flat,
    is_bool,
    mask_of,
)
from agnograd_numpy_functions._program import Array, Into, Operand, Out, Table

__all__ = ["table"]

table = Table()


def _places(xp: Any, indices: Array, length: int, mode: str) -> Array:
    """Return indices from 0, those beyond the end as ``mode`` says."""
    if not xp.isdtype(indices.dtype, "integral"):
        raise IndexError(f"indices are integers, not {indices.dtype}")
    indices = xp.astype(indices, xp.int64, copy=False)  # a narrow dtype may not hold the length
    if mode == "clip":
        return xp.clip(indices, 0, length - 1)
    if mode == "wrap":
        return xp.remainder(indices, length)
    if xp.any(xp.logical_or(indices < -length, indices >= length)):
        raise IndexError(f"an index is out of bounds for an axis of length {length}")
    return xp.where(indices < 0, indices + length, indices)


@table.add("take")
def _take(
    xp: Any,
    a: Array,
    indices: Array,
    axis: int | None = None,
    out: Out = None,
    mode: str = "raise",
) -> Array:
    a, axis = along(xp, at_least(xp, a, 1), axis)
    indices = xp.astype(indices, xp.int64) if is_bool(xp, indices) else indices
    places = flat(xp, _places(xp, indices, a.shape[axis], mode))
    taken = xp.take(a, places, axis=axis)
    return xp.reshape(taken, (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))


@table.add("take_along_axis")
def _take_along_axis(xp: Any, arr: Array, indices: Array, axis: int | None = -1) -> Array:
    arr, axis = (flat(xp, arr), 0) if axis is None else (arr, axis)
    return xp.take_along_axis(arr, indices, axis=axis)


def _write(xp: Any, a: Array, places: Array, values: Array) -> None:
    """Write values at places of the flat array, of which the last write to each stands.

    The standard writes at no integer arrays: of each place, the last write is found by sorting,
    and added to nothing.
    """
    order = xp.argsort(places, stable=True)
    places, values = xp.take(places, order, axis=0), xp.take(values, order, axis=0)
    last = xp.concat([places[1:] != places[:-1], xp.ones_like(places[:1], dtype=xp.bool)])
    shape = (a.size,)
    written = xp.scatter_add(xp.where(last, values, xp.zeros_like(values)), places, shape=shape)
    here = xp.scatter_add(xp.astype(last, places.dtype), places, shape=shape) > 0
    replace(a, xp.where(xp.reshape(here, a.shape), xp.reshape(written, a.shape), a))


@table.add("put_along_axis")
def _put_along_axis(xp: Any, arr: Into, indices: Array, values: Any, axis: int | None) -> None:
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        _put_along_axis(xp, every_element(arr), indices, values, 0)
        return
    (axis,) = axes_of(axis, arr.ndim)
    shape = tuple(indices.shape[i] if i == axis else length for i, length in enumerate(arr.shape))
    place, stride = _places(xp, indices, arr.shape[axis], "raise"), 1
    total = xp.zeros(shape, dtype=place.dtype, device=arr.device)
    for i in range(arr.ndim - 1, -1, -1):
        length = arr.shape[i]
        count = xp.arange(length, dtype=place.dtype, device=arr.device)
        total = total + stride * (place if i == axis else as_axis(xp, count, i, arr.ndim))
        stride *= length
    _write(xp, arr, flat(xp, total), flat(xp, xp.broadcast_to(like(arr, values), shape)))


@table.add("put")
def _put(xp: Any, a: Into, ind: Array, v: Any, mode: str = "raise") -> None:
    places = flat(xp, _places(xp, ind, a.size, mode))
    values = flat(xp, like(a, v))
    count = places.shape[0]
    if count and values.size:
        _write(xp, a, places, xp.tile(values, (-(-count // values.size),))[:count])


@table.add("compress")
def _compress(
    xp: Any, condition: Array, a: Array, axis: int | None = None, out: Out = None
) -> Array:
    a, axis = along(xp, at_least(xp, a, 1), axis)
    (chosen,) = xp.nonzero(condition)
    if condition.shape[0] > a.shape[axis] and xp.any(chosen >= a.shape[axis]):
        raise IndexError(f"a condition of {condition.shape[0]} is longer than the axis")
    return xp.take(a, chosen, axis=axis)


@table.add("ndarray.compress")
def _array_compress(
    xp: Any, a: Array, condition: Array, axis: int | None = None, out: Out = None
) -> Array:
    return _compress(xp, condition, a, axis)


@table.add("extract")
def _extract(xp: Any, condition: Array, arr: Array) -> Array:
    (chosen,) = xp.nonzero(flat(xp, condition))
    return xp.take(flat(xp, arr), chosen, axis=0)


@table.add("place")
def _place(xp: Any, arr: Into, mask: Array, vals: Any) -> None:
    if hasattr(vals, "dtype"):
        check_cast(vals.dtype, arr.dtype, "safe")
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    (chosen,) = xp.nonzero(flat(xp, mask))
    if chosen.shape[0] and not xp.asarray(vals).size:
        raise ValueError("Cannot insert from an empty array!")
    _put(xp, arr, chosen, vals)


@table.add("putmask")
def _putmask(xp: Any, a: Into, mask: Array, values: Any) -> None:
    if hasattr(values, "dtype"):
        check_cast(values.dtype, a.dtype, "safe")
    values = flat(xp, like(a, values))
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if not values.size:
        return
    mask = xp.reshape(mask if is_bool(xp, mask) else mask != 0, a.shape)
    whole = xp.reshape(xp.tile(values, (-(-a.size // values.size),))[: a.size], a.shape)
    replace(a, xp.where(mask, whole, a))


@table.add("copyto")
def _copyto(
    xp: Any, dst: Into, src: Array, casting: str = "same_kind", where: Operand = True
) -> None:
    check_cast(src.dtype, dst.dtype, casting)
    src = xp.astype(src, dst.dtype)
    if where is True:
        dst[...] = src
    else:
        src = xp.broadcast_to(src, dst.shape)
        replace(dst, xp.where(mask_of(xp, where, dst.shape), src, dst))


@table.add("fill_diagonal")
def _fill_diagonal(xp: Any, a: Into, val: Any, wrap: bool = False) -> None:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    step = a.shape[1] + 1
    end = None if wrap else a.shape[1] * a.shape[1]
    if a.ndim > 2:
        if len(set(a.shape)) > 1:
            raise ValueError("All dimensions of input must be of equal length")
        step, end = sum(a.shape[0] ** i for i in range(a.ndim)), None
    places = xp.arange(0, min(end, a.size) if end is not None else a.size, step)
    _put(xp, a, places, val)


@table.add("diag_indices_from")
def _diag_indices_from(xp: Any, arr: Array) -> Any:
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ValueError("input array must be square, of at least 2 axes")
    return (xp.arange(arr.shape[0]),) * arr.ndim


@table.each("tril_indices_from", "triu_indices_from")
def _triangle(name: str, xp: Any, arr: Array, k: int = 0) -> tuple[Array, ...]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tuple(xp.nonzero(getattr(xp, name[:4])(xp.ones(arr.shape), k=k)))


@table.add("ix_")
def _ix(xp: Any, *args: Array) -> tuple[Array, ...]:
    grids = []
    for axis, each in enumerate(args):
        if each.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        each = xp.nonzero(each)[0] if is_bool(xp, each) else each
        grids.append(as_axis(xp, each, axis, len(args)))
    return tuple(grids)


@table.add("nonzero")
def _nonzero(xp: Any, a: Array) -> tuple[Array, ...]:
    return tuple(xp.nonzero(a))


@table.add("flatnonzero")
def _flatnonzero(xp: Any, a: Array) -> Array:
    return xp.nonzero(flat(xp, a))[0]


@table.add("argwhere")
def _argwhere(xp: Any, a: Array) -> Array:
    if not a.ndim:
        return xp.zeros((int(bool(a)), 0), dtype=xp.int64)
    return xp.stack(xp.nonzero(a), axis=1)
