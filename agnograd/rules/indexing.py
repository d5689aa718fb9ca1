"""Indexing: reading at a key or at indices, writing at a key, and the transposes of reading."""

import math
import operator
from collections.abc import Set
from typing import Any

from agnograd.extend import (
    OpSet,
    behind,
    device_of,
    in_full,
    in_one_row,
    is_basic,
    is_mask,
    sum_to,
    without_newaxis,
)
from agnograd.rules._keys import add, read, write
from agnograd.rules.statistical import sum_dtype

__all__ = ["ops"]

ops = OpSet("indexing", samples="agnograd.rules.samples.indexing")

Shape = tuple[int, ...]


def _zeros(values: Any, shape: Shape, dtype: Any, xp: Any) -> Any:
    return xp.zeros(shape, dtype=dtype, device=device_of(values))


def _scatter_add(xp: Any, backend: Any, values: Any, key: Any, /, *, shape: Shape) -> Any:
    """Return zeros of ``shape`` with ``values`` added at ``key``, repeated places adding up."""
    return _added(_zeros(values, shape, values.dtype, xp), values, key, xp, backend)


def _added(into: Any, values: Any, key: Any, xp: Any, backend: Any) -> Any:
    if is_basic(key):
        return backend.scatter_add(into, key, values)
    return _widened(backend.scatter_add, into, key, values, xp=xp)


def _widened(add: Any, into: Any, where: Any, values: Any, *axis: int, xp: Any) -> Any:
    """Add values in a dtype in which numbers can be added one by one."""
    dtype = into.dtype
    wide = sum_dtype(dtype, xp)
    if wide == dtype:
        return add(into, where, values, *axis)
    return xp.astype(add(xp.astype(into, wide), where, xp.astype(values, wide), *axis), dtype)


def _add_into(
    into: Any, g: Any, key: Any, x_shape: Shape, x_dtype: Any, xp: Any, backend: Any
) -> Any:
    if into is None:
        into = _zeros(g, x_shape, x_dtype, xp)
    return _added(into, g, key, xp, backend)


def _scatter_add_axis(
    xp: Any, backend: Any, values: Any, indices: Any, /, *, axis: int, shape: Shape
) -> Any:
    """Return zeros of ``shape`` with slices of ``values`` added at ``indices`` of an axis."""
    into = _zeros(values, shape, values.dtype, xp)
    if 0 in shape:  # where a library reads nothing, it looks at no index
        return into
    axis %= len(shape)
    indices = xp.reshape(indices, (math.prod(indices.shape),))
    values = xp.reshape(values, (*shape[:axis], indices.shape[0], *shape[axis + 1 :]))
    return _widened(backend.scatter_add_axis, into, indices, values, axis, xp=xp)


def _take_vjp(g: Any, x_shape: Shape, indices: Any, axis: int | None, xp: Any) -> Any:
    if axis is None or not x_shape:  # of more axes than one, libraries take the flat array
        flat = xp.scatter_add_axis(g, indices, axis=0, shape=(math.prod(x_shape),))
        return flat if len(x_shape) == 1 else xp.reshape(flat, x_shape)
    return xp.scatter_add_axis(g, indices, axis=axis, shape=x_shape)


def _along(indices: Any, shape: Shape, axis: int, xp: Any) -> tuple[Any, ...]:
    """Return the key of integer arrays that ``take_along_axis`` reads.

    Along every other axis the array and the indices are broadcast against each other.
    """
    rank = len(shape)
    axis %= rank
    device = device_of(indices)
    full = tuple(
        length if i != axis and wanted == 1 else wanted
        for i, (length, wanted) in enumerate(zip(shape, indices.shape, strict=True))
    )
    key = []
    for i, length in enumerate(shape):
        part = indices
        if i != axis:
            ones = tuple(length if j == i else 1 for j in range(rank))
            part = xp.reshape(xp.arange(length, device=device), ones)
        key.append(xp.broadcast_to(part, full))
    return tuple(key)


def _written_value(g: Any, key: Any, value_shape: Shape, xp: Any) -> Any:
    part = _selected(g, key, value_shape, xp)
    if not (is_basic(key) or is_mask(key, xp)):
        part = _last_writes(part, g, key, xp)
    if part.shape == value_shape:
        return part
    # The value may have more leading axes, of length one, than the place that it is written to.
    extra = max(len(value_shape) - part.ndim, 0)
    return xp.reshape(sum_to(part, value_shape[extra:], xp), value_shape)


def _selected(g: Any, key: Any, shape: Shape, xp: Any) -> Any:
    """Return ``g[key]``, or what it sums to for a value of this shape that was put there.

    How many elements a mask selects may be unknown before it is computed, or traced. What was put
    there says how many they are, unless it was one value for all of them, whose part is a sum.
    """
    if not is_mask(key, xp):
        return xp.__getitem__(g, key)
    size, rest = math.prod(key.shape), g.shape[key.ndim :]
    rows, mask = xp.reshape(g, (size, *rest)), xp.reshape(xp.asarray(key), (size,))
    count = shape[-1 - len(rest)] if len(shape) > len(rest) else 1
    if count == 1:
        every = xp.reshape(mask, (size, *(1 for _ in rest)))
        return xp.sum(xp.where(every, rows, xp.zeros_like(rows)), axis=0, keepdims=True)
    part = xp.__getitem__(rows, mask)
    if part.shape[0] == part.shape[0]:  # NaN is what is not known
        return part
    selected = xp.cumulative_sum(xp.astype(mask, xp.int64))
    numbers = xp.arange(1, count + 1, device=device_of(g))
    return xp.take(rows, xp.searchsorted(selected, numbers), axis=0)


def _last_writes(part: Any, g: Any, key: Any, xp: Any) -> Any:
    """Return ``g[key]`` with zeros for values that a later one wrote over.

    Integer arrays may name one place twice. Which write stands is up to the library, so it is
    asked: the positions of the values are written as the values were, and read back.
    """
    device = device_of(g)
    count = math.prod(part.shape)
    positions = xp.reshape(xp.arange(count, device=device), part.shape)
    places = xp.zeros(g.shape, dtype=positions.dtype, device=device)
    standing = xp.__getitem__(xp.__setitem__(places, key, positions), key)
    return xp.where(standing == positions, part, xp.zeros_like(part))


def _leaves_out(key: Any) -> bool:
    """Return whether a key may select less than all elements of an array."""
    for part in key if type(key) is tuple else (key,):
        if type(part) is slice and part.start is part.stop is None:
            step = 1 if part.step is None else part.step
            if type(step) is int and step in (1, -1):  # it may be an array
                continue
        if part is not None and part is not ...:
            return True
    return False


def _put(base: Any, value: Any, key: Any, write: Any, xp: Any) -> Any:
    plain = without_newaxis(key)
    if plain is not key:
        value = xp.reshape(value, base[plain].shape)
    return write(base, plain, value)


def _of_part(x_shape: Shape, x_strides: Shape, key: Any) -> Shape:
    """Return the strides of what a basic key selects."""
    parts = key if isinstance(key, tuple) else (key,)
    used = sum(part is not None and part is not ... for part in parts)
    left, strides = iter(zip(x_shape, x_strides, strict=True)), []
    for part in parts:
        if part is None:
            strides.append(0)
        elif part is ...:
            strides += [next(left)[1] for _ in range(len(x_shape) - used)]
        elif isinstance(part, slice):
            length, stride = next(left)
            strides.append(stride * part.indices(length)[2])
        else:
            next(left)
    return (*strides, *(stride for _, stride in left))


def _zero(g: Any, key: Any, backend: Any) -> Any:
    return backend.put(backend.array(g), key, 0)  # a sum of 0-d arrays may be a scalar


def _take_into(
    into: Any,
    g: Any,
    indices: Any,
    axis: int | None,
    x_shape: Shape,
    x_dtype: Any,
    xp: Any,
    backend: Any,
) -> Any:
    if into is None:
        into = _zeros(g, x_shape, x_dtype, xp)
    if 0 in x_shape:
        return into
    if len(x_shape) != 1 and (axis is None or not x_shape):
        return into + _take_vjp(g, x_shape, indices, axis, xp)
    indices = xp.reshape(indices, (-1,))
    axis = 0 if axis is None else axis % len(x_shape)
    g = xp.reshape(g, (*x_shape[:axis], indices.shape[0], *x_shape[axis + 1 :]))
    return _widened(backend.scatter_add_axis, into, indices, g, axis, xp=xp)


ops.linear(
    "__getitem__(x, key, /)",
    x=lambda g, key, x_shape, xp: xp.scatter_add(g, key, shape=x_shape),
    accumulate=_add_into,
    forward=operator.getitem,
    view=_put,
    strides=_of_part,
    masks=_leaves_out,
    reads=True,
    batch=read,
    pattern="selects",
)
ops.linear(
    "__setitem__(x, key, value, /)",
    x=lambda g, key, xp: xp.__setitem__(g, key, 0),
    value=_written_value,
    forward=lambda backend, x, key, value, /: backend.set(x, key, value),
    overwrite=_zero,
    masks=_leaves_out,
    casts=True,  # to the dtype of x
    batch=write,
    pattern="moves",
)
ops.linear(
    "scatter_add(values, key, /, *, shape)",
    values=lambda g, key, values_shape, xp: _selected(g, key, values_shape, xp),
    forward=_scatter_add,
    batch=add,
    pattern="adds",
)


# -- batches ---------------------------------------------------------------------------------------


def _take_batch(
    xp: Any, size: int, mapped: Set[str], x: Any, indices: Any, axis: int | None = None
) -> Any:
    rank = len(x.shape) - ("x" in mapped)
    if axis is None or not rank:
        x = in_one_row(xp, x) if "x" in mapped else xp.reshape(x, (math.prod(x.shape),))
        rank, axis = 1, 0
    if "indices" not in mapped:
        return xp.take(x, indices, axis=behind(axis, rank))
    axis = behind(axis, rank) - 1
    if "x" not in mapped:  # libraries take one axis of indices
        out = xp.take(x, xp.reshape(indices, (math.prod(indices.shape),)), axis=axis)
        out = xp.reshape(out, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
        return xp.moveaxis(out, axis, 0)
    shape = x.shape[1:]
    rows = in_one_row(xp, indices)
    rows = xp.reshape(rows, (size, *(1,) * axis, rows.shape[1], *(1,) * (rank - axis - 1)))
    # Not every library broadcasts them.
    rows = xp.broadcast_to(rows, (*x.shape[: axis + 1], rows.shape[axis + 1], *shape[axis + 1 :]))
    out = xp.take_along_axis(x, rows, axis=axis + 1)
    return xp.reshape(out, (size, *shape[:axis], *indices.shape[1:], *shape[axis + 1 :]))


def _take_along_axis_batch(
    xp: Any, size: int, mapped: Set[str], x: Any, indices: Any, axis: int = -1
) -> Any:
    # Not every library broadcasts them.
    x = x if "x" in mapped else in_full(xp, size, x)
    indices = indices if "indices" in mapped else in_full(xp, size, indices)
    return xp.take_along_axis(x, indices, axis=behind(axis, len(x.shape) - 1))


def _scatter_add_axis_batch(
    xp: Any, size: int, mapped: Set[str], values: Any, indices: Any, axis: int, shape: Shape
) -> Any:
    values = values if "values" in mapped else in_full(xp, size, values)
    place = behind(axis, len(shape))
    if "indices" not in mapped:
        return xp.scatter_add_axis(values, indices, axis=place, shape=(size, *shape))
    # The axes of all members, one after the other, are one axis.
    count, rest = shape[place - 1], (*shape[: place - 1], *shape[place:])
    offsets = count * xp.arange(size, device=device_of(values))
    rows = xp.astype(in_one_row(xp, indices), offsets.dtype)
    rows = xp.where(rows < 0, rows + count, rows) + offsets[:, None]
    values = xp.reshape(values, (size, *shape[: place - 1], rows.shape[1], *shape[place:]))
    values = xp.reshape(xp.moveaxis(values, place, 1), (size * rows.shape[1], *rest))
    rows = xp.reshape(rows, (size * rows.shape[1],))
    out = xp.scatter_add_axis(values, rows, axis=0, shape=(size * count, *rest))
    return xp.moveaxis(xp.reshape(out, (size, count, *rest)), 1, place)


ops.linear(
    "take(x, indices, /, *, axis=None)",
    x=_take_vjp,
    accumulate=_take_into,
    masks=True,
    batch=_take_batch,
    pattern="moves",
)
ops.linear(
    "scatter_add_axis(values, indices, /, *, axis, shape)",
    values=lambda g, indices, axis, values_shape, xp: xp.reshape(
        xp.take(g, xp.reshape(indices, (-1,)), axis=axis), values_shape
    ),
    forward=_scatter_add_axis,
    batch=_scatter_add_axis_batch,
    pattern="adds",
)
ops.linear(
    "take_along_axis(x, indices, /, *, axis=-1)",
    x=lambda g, indices, axis, x_shape, xp: xp.scatter_add(
        g, _along(indices, x_shape, axis, xp), shape=x_shape
    ),
    masks=True,
    batch=_take_along_axis_batch,
    pattern="moves",
)
