"""Shapes: axes in another order, of other lengths, repeated, and padded."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any

from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import is_in_rows
from agnograd_numpy_functions._arguments import like, ready
from agnograd_numpy_functions._helpers import (
    along,
    as_axis,
    at_least,
    axes_of,
    count_along,
    flat,
    is_complex,
)
from agnograd_numpy_functions._program import Array, Axis, Lengths, Table

__all__ = ["table"]

table = Table()


def _in_rows(a: Array, order: str | None) -> None:
    """Refuse an order of elements that is not that of rows."""
    if order not in (None, "C") and not (order in ("K", "A") and is_in_rows(a)):
        raise UnsupportedFunctionError(
            f"order={order!r} says how memory is laid out, which Variables leave to their "
            "library: transpose, then reshape"
        )


@table.add("reshape")
def _reshape(
    xp: Any, a: Array, /, shape: Lengths, order: str = "C", *, copy: bool | None = None
) -> Array:
    _in_rows(a, order)
    return xp.reshape(a, shape, copy=copy)


@table.add("ravel")
def _ravel(xp: Any, a: Array, order: str = "C") -> Array:
    _in_rows(a, order)
    return xp.reshape(a, (-1,), copy=None if is_in_rows(a) else True)


@table.add("squeeze")
def _squeeze(xp: Any, a: Array, axis: Axis = None) -> Array:
    if axis is None:
        axis = tuple(i for i, length in enumerate(a.shape) if length == 1)
    return xp.squeeze(a, axis=axis) if axis != () else a[...]


@table.add("expand_dims")
def _expand_dims(xp: Any, a: Array, axis: Lengths) -> Array:
    places = axes_of(axis, a.ndim + len(axis))
    if len(set(places)) < len(places):
        raise ValueError(f"axes {axis} name one axis twice")
    for each in sorted(places):
        a = xp.expand_dims(a, axis=each)
    return a


@table.add("transpose", "permute_dims")
def _transpose(xp: Any, a: Array, axes: Lengths | None = None) -> Array:
    if axes is None:
        axes = tuple(range(a.ndim))[::-1]
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    return xp.permute_dims(a, axes_of(axes, a.ndim))


@table.add("matrix_transpose")
def _matrix_transpose(xp: Any, x: Array, /) -> Array:
    return xp.matrix_transpose(x)


@table.add("swapaxes")
def _swapaxes(xp: Any, a: Array, axis1: int, axis2: int) -> Array:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return xp.permute_dims(a, tuple(order))


@table.add("moveaxis")
def _moveaxis(xp: Any, a: Array, source: Lengths, destination: Lengths) -> Array:
    return xp.moveaxis(a, source, destination)


@table.add("rollaxis")
def _rollaxis(xp: Any, a: Array, axis: int, start: int = 0) -> Array:
    (axis,) = axes_of(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    return xp.moveaxis(a, axis, start - 1 if axis < start else start)


@table.add("roll")
def _roll(xp: Any, a: Array, shift: Lengths, axis: Lengths | None = None) -> Array:
    if axis is None or len(axis) == 1:  # along which all of them are added up
        return xp.roll(a, sum(shift), axis=None if axis is None else axis[0])
    return xp.roll(a, shift * len(axis) if len(shift) == 1 else shift, axis=axis)


@table.add("flip")
def _flip(xp: Any, m: Array, axis: Axis = None) -> Array:
    return xp.flip(m, axis=axis)


@table.each("flipud", "fliplr")
def _flip_rows(name: str, xp: Any, m: Array) -> Array:
    return xp.flip(m, axis=0 if name == "flipud" else 1)


@table.add("rot90")
def _rot90(xp: Any, m: Array, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    one, other = axes_of(tuple(axes), m.ndim)
    if one == other:
        raise ValueError(f"axes {axes} name one axis twice")
    k %= 4
    if k == 0:
        return m[...]
    if k == 2:
        return xp.flip(m, axis=(one, other))
    if k == 1:
        return _swapaxes(xp, xp.flip(m, axis=other), one, other)
    return xp.flip(_swapaxes(xp, m, one, other), axis=other)


@table.add("tile")
def _tile(xp: Any, A: Array, reps: Lengths) -> Array:  # noqa: N803 - NumPy's name
    return xp.tile(A, reps)


def _counts(xp: Any, repeats: Any, length: int) -> Any:
    """Return how often each element is repeated: one number, or one for each."""
    if not (hasattr(repeats, "dtype") or isinstance(repeats, list | tuple)):
        count = index(repeats)
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        return count
    empty = not hasattr(repeats, "dtype") and not repeats
    counts = xp.asarray(repeats, dtype=xp.int64 if empty else None)
    if not xp.isdtype(counts.dtype, ("bool", "integral")):
        raise TypeError(f"elements are repeated by integers, not by {counts.dtype}")
    counts = xp.astype(counts, xp.int64, copy=False)
    if counts.shape in ((), (1,)):  # which not every library broadcasts
        return xp.broadcast_to(counts, (length,))
    if counts.shape != (length,):
        raise ValueError(f"counts of shape {counts.shape} for an axis of length {length}")
    return counts


@table.add("repeat")
def _repeat(xp: Any, a: Array, repeats: Any, axis: int | None = None) -> Array:
    a, axis = along(xp, at_least(xp, a, 1), axis)
    return xp.repeat(a, _counts(xp, repeats, a.shape[axis]), axis=axis)


@table.add("resize")
def _resize(xp: Any, a: Array, new_shape: Lengths) -> Array:
    if any(length < 0 for length in new_shape):
        raise ValueError(f"new_shape {new_shape} has a negative length")
    count, size = math.prod(new_shape), a.size or 0
    if not size:
        return xp.zeros(new_shape, dtype=a.dtype)
    whole = xp.tile(flat(xp, a), (-(-count // size),))
    return xp.reshape(whole[:count], new_shape)


@table.each("atleast_1d", "atleast_2d", "atleast_3d")
def _at_least(name: str, xp: Any, *arys: Array) -> Any:
    rank = int(name[-2])
    grown = tuple(at_least(xp, _with_last(xp, x, rank), rank) for x in arys)
    return grown[0] if len(grown) == 1 else grown


def _with_last(xp: Any, x: Array, rank: int) -> Array:
    """Return an array that gets three axes with the last one of them: NumPy puts it there."""
    return x[..., None] if rank == 3 and x.ndim in (1, 2) else x


@table.add("broadcast_to")
def _broadcast_to(xp: Any, array: Array, shape: Lengths, subok: bool = False) -> Array:
    return xp.broadcast_to(array, shape)


@table.add("broadcast_arrays")
def _broadcast_arrays(xp: Any, *args: Array, subok: bool = False) -> tuple[Array, ...]:
    return tuple(xp.broadcast_arrays(*args))


@table.add("meshgrid")
def _meshgrid(
    xp: Any, *xi: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    if not sparse:
        grids = xp.meshgrid(*(flat(xp, x) for x in xi), indexing=indexing)
        return tuple(grids)
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    pairs = zip(axes, xi, strict=True)
    return tuple(as_axis(xp, x, axis, len(xi), copy or None) for axis, x in pairs)


@table.add("lib.stride_tricks.sliding_window_view")
def _sliding_window_view(
    xp: Any, x: Array, window_shape: Lengths, axis: Axis = None, *, subok: bool = False
) -> Array:
    axes = axes_of(axis, x.ndim)
    if len(window_shape) != len(axes):
        raise ValueError("window_shape must have one length for each axis")
    for place, length in zip(axes, window_shape, strict=True):
        count = x.shape[place] - length + 1
        if length < 0 or count < 1:
            raise ValueError("window_shape must be no longer than the axes, and not negative")
        starts = xp.arange(count, device=x.device)[:, None]
        places = flat(xp, starts + xp.arange(length, device=x.device)[None, :])
        shape = (*x.shape[:place], count, length, *x.shape[place + 1 :])
        x = xp.moveaxis(xp.reshape(xp.take(x, places, axis=place), shape), place + 1, -1)
    return x


@table.add("shape")
def _shape(xp: Any, a: Array) -> Any:
    return a.shape


@table.add("ndim")
def _ndim(xp: Any, a: Array) -> Any:
    return a.ndim


@table.add("size")
def _size(xp: Any, a: Array, axis: Axis = None) -> Any:
    return a.size if axis is None else count_along(a, axis)


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """Return how many elements come before and after each axis, as NumPy reads ``pad_width``."""
    if isinstance(pad_width, dict):
        named = {axes_of(axis, ndim)[0]: width for axis, width in pad_width.items()}
        return [_pair(named.get(axis, 0)) for axis in range(ndim)]
    pad_width = pad_width.tolist() if hasattr(pad_width, "tolist") else pad_width
    return [_pair(each) for each in _per_axis(pad_width, ndim)]


def _pair(width: Any) -> tuple[Any, Any]:
    if not isinstance(width, tuple | list):
        return width, width
    if len(width) > 2:
        raise ValueError(f"{width} is not a pair: give the widths before and after an axis")
    return (width[0], width[0]) if len(width) == 1 else (width[0], width[1])


def _per_axis(value: Any, ndim: int) -> list[Any]:
    value = _listed(value)
    if not isinstance(value, tuple | list):
        return [value] * ndim
    if not isinstance(value[0], tuple | list):  # one pair for all axes
        return [value] * ndim
    return list(value) * ndim if len(value) == 1 else list(value)


def _listed(value: Any) -> Any:
    """Return the elements of an array in nested lists; those of a Variable stay connected."""
    if not getattr(value, "ndim", 0):
        return value
    return [_listed(value[index, ...]) for index in range(value.shape[0])]


_PLACES: dict[str, Callable[[Any, Array, int], Array]] = {
    "edge": lambda xp, i, n: xp.clip(i, 0, n - 1),
    "wrap": lambda xp, i, n: xp.remainder(i, n),
    "symmetric": lambda xp, i, n: _folded(xp, i, n, 2 * n, 2 * n - 1),
    "reflect": lambda xp, i, n: _folded(xp, i, n, max(2 * n - 2, 1), 2 * n - 2),
}


def _folded(xp: Any, i: Array, n: int, period: int, last: int) -> Array:
    i = xp.remainder(i, period)
    return xp.where(i < n, i, last - i)


@table.add("pad")
def _pad(
    xp: Any, array: Array, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0
) -> Array:
    widths = _widths(pad_width, array.ndim)
    if len(widths) != array.ndim:
        raise ValueError(f"pad_width {pad_width!r} does not fit an array of {array.ndim} axes")
    values = [_pair(each) for each in _per_axis(constant_values, array.ndim)]
    if len(values) != array.ndim:
        raise ValueError(f"constant_values do not fit an array of {array.ndim} axes")
    if any(count < 0 for width in widths for count in width):
        raise ValueError("pad_width cannot be negative")
    if not any(map(any, widths)):
        return xp.asarray(array, copy=True)
    if mode == "constant":
        for axis, (width, value) in enumerate(zip(widths, values, strict=True)):
            array = _with_constants(xp, array, axis, width, value)
        return array
    if mode not in _PLACES:
        names = ", ".join(("constant", *_PLACES))
        raise UnsupportedFunctionError(f"np.pad of Variables has no mode {mode!r}, but {names}")
    for axis, (before, after) in enumerate(widths):
        length = array.shape[axis]
        if not length and (before or after):
            raise ValueError(f"an empty axis, {axis}, cannot be padded with mode {mode!r}")
        if before or after:
            places = xp.arange(-before, length + after, device=array.device)
            array = xp.take(array, _PLACES[mode](xp, places, length), axis=axis)
    return array


def _with_constants(
    xp: Any, array: Array, axis: int, width: tuple[int, int], values: tuple[Any, Any]
) -> Array:
    parts = [array]
    for place, (count, value) in enumerate(zip(width, values, strict=True)):
        if count:
            shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
            filling = ready(array, value)
            if is_complex(xp, filling) and not is_complex(xp, array):
                raise TypeError(
                    f"a complex value does not fit into an array of dtype {array.dtype}"
                )
            filling = like(array, value)
            parts.insert(len(parts) * place, xp.broadcast_to(filling, shape))
    return xp.concat(parts, axis=axis) if len(parts) > 1 else array
