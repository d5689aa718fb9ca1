"""Manipulation functions: all linear, by their transposes."""

import math
from collections.abc import Sequence, Set
from typing import Any

from agnograd.extend import (
    OpSet,
    behind,
    device_of,
    in_one_row,
    inverse_permutation,
    itself,
    of_numbers,
    reduced_axes,
    reshaped_strides,
    unequal_shapes,
    with_rank,
)

__all__ = ["ops"]

Shape = tuple[int, ...]

ops = OpSet("manipulation", samples="agnograd.rules.samples.manipulation")


def _split(g: Any, arrays_shape: Sequence[tuple[int, ...]], axis: int | None, xp: Any) -> list[Any]:
    """Cut the gradient of a concatenation into those of its parts."""
    if axis is None:
        g, axis = xp.reshape(g, (-1,)), 0
        lengths = [math.prod(shape) for shape in arrays_shape]
    else:
        axis %= g.ndim
        lengths = [shape[axis] for shape in arrays_shape]
    parts, start = [], 0
    for shape, length in zip(arrays_shape, lengths, strict=True):
        key = (slice(None),) * axis + (slice(start, start + length),)
        parts.append(xp.reshape(g[(*key, ...)], shape))
        start += length
    return parts


def _repeat_vjp(g: Any, x_shape: tuple[int, ...], repeats: Any, axis: int | None, xp: Any) -> Any:
    shape = x_shape if axis is not None and x_shape else (math.prod(x_shape),)
    axis = 0 if axis is None else axis % len(shape)
    if isinstance(repeats, int):
        g = xp.reshape(g, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
        return xp.reshape(xp.sum(g, axis=axis + 1), x_shape)
    device = device_of(g)
    index = xp.repeat(xp.arange(shape[axis], device=device), repeats)
    return xp.reshape(xp.scatter_add_axis(g, index, axis=axis, shape=shape), x_shape)


def _tile_vjp(g: Any, x_shape: tuple[int, ...], repetitions: Sequence[int], xp: Any) -> Any:
    rank = max(len(x_shape), len(repetitions))
    counts = (1,) * (rank - len(repetitions)) + tuple(repetitions)
    lengths = (1,) * (rank - len(x_shape)) + tuple(x_shape)
    both = [length for pair in zip(counts, lengths, strict=True) for length in pair]
    return xp.reshape(
        xp.sum(xp.reshape(g, tuple(both)), axis=tuple(range(0, 2 * rank, 2))), x_shape
    )


def _unstack_vjp(
    g: Sequence[Any], x_shape: tuple[int, ...], x_dtype: Any, x_device: Any, axis: int, xp: Any
) -> Any:
    if not g:
        return xp.zeros(x_shape, dtype=x_dtype, device=x_device)
    return xp.stack(g, axis=axis)


def _negated(shift: int | Sequence[int]) -> int | tuple[int, ...]:
    return -shift if isinstance(shift, int) else tuple(-each for each in shift)


def _to_device(x: Any, device: Any, **options: Any) -> Any:
    # Libraries of one device may have no such function.
    if options.get("stream") is None and device == device_of(x):
        return x
    import array_api_compat

    return array_api_compat.to_device(x, device, **options)


def _put_slice(base: Any, value: Any, axis: int, index: int, xp: Any) -> Any:
    return xp.__setitem__(base, (*(slice(None),) * (axis % base.ndim), index, ...), value)


def _without(values: Shape, axes: int | Sequence[int]) -> Shape:
    left = reduced_axes(axes, len(values))
    return tuple(value for axis, value in enumerate(values) if axis not in left)


def _with_axis(x_strides: Shape, axis: int) -> Shape:
    axis %= len(x_strides) + 1
    return (*x_strides[:axis], 0, *x_strides[axis:])


def _turned(x_strides: Shape, axis: int | Sequence[int] | None) -> Shape:
    axes = reduced_axes(axis, len(x_strides))
    return tuple(-stride if i in axes else stride for i, stride in enumerate(x_strides))


def _moved(x_strides: Shape, source: Any, destination: Any) -> Shape:
    rank = len(x_strides)
    sources, places = reduced_axes(source, rank), reduced_axes(destination, rank)
    moved = dict(zip(places, sources, strict=True))
    rest = iter(axis for axis in range(rank) if axis not in sources)
    return tuple(x_strides[moved[i] if i in moved else next(rest)] for i in range(rank))


def _broadcast(x_shape: Shape, x_strides: Shape, out_shape: Shape) -> Shape:
    kept = [0 if length == 1 else stride for length, stride in zip(x_shape, x_strides, strict=True)]
    return (*(0,) * (len(out_shape) - len(kept)), *kept)


def _refuse() -> None:
    raise ValueError(
        "the result of broadcast_to is read-only, since its elements are at many places at once; "
        "write to a copy: xp.asarray(x, copy=True)"
    )


# -- batches ---------------------------------------------------------------------------------------


def _broadcast_arrays_batch(xp: Any, *arrays: Any) -> Any:
    rank = max(len(each.shape) for each in arrays) - 1
    return xp.broadcast_arrays(*(with_rank(xp, each, rank) for each in arrays))


def _broadcast_to_batch(xp: Any, size: int, x: Any, shape: int | Shape) -> Any:
    shape = (shape,) if isinstance(shape, int) else shape
    return xp.broadcast_to(with_rank(xp, x, len(shape)), (size, *shape))


def _concat_batch(xp: Any, arrays: Sequence[Any], axis: int | None = 0) -> Any:
    if axis is None:
        arrays, axis = [in_one_row(xp, each) for each in arrays], 0
    return xp.concat(arrays, axis=behind(axis, len(arrays[0].shape) - 1))


def _expand_dims_batch(xp: Any, x: Any, axis: int | Sequence[int]) -> Any:
    added = 1 if isinstance(axis, int) else len(axis)
    return xp.expand_dims(x, axis=behind(axis, len(x.shape) - 1 + added))


def _moveaxis_batch(xp: Any, x: Any, source: Any, destination: Any) -> Any:
    rank = len(x.shape) - 1
    return xp.moveaxis(x, behind(source, rank), behind(destination, rank))


def _permute_dims_batch(xp: Any, x: Any, axes: int | Sequence[int]) -> Any:
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    return xp.permute_dims(x, (0, *behind(axes, len(x.shape) - 1)))


def _repeat_batch(xp: Any, mapped: Set[str], x: Any, repeats: Any, axis: int | None = None) -> Any:
    if "repeats" in mapped:
        raise unequal_shapes("repeat", "repeat the elements of all members equally often")
    if len(x.shape) == 1:
        return of_numbers(xp, x, axis, lambda x, axis: xp.repeat(x, repeats, axis=axis))
    if axis is None:
        x, axis = in_one_row(xp, x), 0
    return xp.repeat(x, repeats, axis=behind(axis, len(x.shape) - 1))


def _reshape_batch(
    xp: Any, size: int, x: Any, shape: int | Sequence[int], copy: bool | None = None
) -> Any:
    shape = [shape] if isinstance(shape, int) else [*shape]
    if -1 in shape:  # of no members, libraries could not tell
        known = math.prod(length for length in shape if length != -1)
        shape[shape.index(-1)] = math.prod(x.shape[1:]) // known if known else -1
    return xp.reshape(x, (size, *shape), copy=copy)


def _roll_batch(xp: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return xp.reshape(xp.roll(in_one_row(xp, x), shift, axis=1), x.shape)
    return xp.roll(x, shift, axis=behind(axis, len(x.shape) - 1))


def _tile_batch(xp: Any, x: Any, repetitions: Sequence[int]) -> Any:
    x = with_rank(xp, x, len(repetitions))
    return xp.tile(x, (*(1,) * (len(x.shape) - len(repetitions)), *repetitions))


ops.linear(
    "broadcast_arrays(*arrays)",
    arrays=itself("g"),
    outputs="several",
    view=_refuse,
    batch=_broadcast_arrays_batch,
    pattern="moves",
)
ops.linear(
    "broadcast_to(x, /, shape)",
    x=itself("g"),
    view=_refuse,
    strides=_broadcast,
    batch=_broadcast_to_batch,
    pattern="selects",
)
ops.linear("concat(arrays, /, *, axis=0)", arrays=_split, batch=_concat_batch, pattern="moves")
ops.linear(
    "expand_dims(x, /, axis)",
    x=lambda g, x_shape, xp: xp.reshape(g, x_shape),
    view=lambda base, value, xp: xp.reshape(value, base.shape),
    strides=_with_axis,
    batch=_expand_dims_batch,
    pattern="selects",
)
ops.linear(
    "flip(x, /, *, axis=None)",
    x=lambda g, axis, xp: xp.flip(g, axis=axis),
    view=lambda value, axis, xp: xp.flip(value, axis=axis),
    strides=_turned,
    batch="axis",
    pattern="selects",
)
ops.linear(
    "moveaxis(x, source, destination, /)",
    x=lambda g, source, destination, xp: xp.moveaxis(g, destination, source),
    view=lambda value, source, destination, xp: xp.moveaxis(value, destination, source),
    strides=_moved,
    batch=_moveaxis_batch,
    options=("source", "destination"),
    pattern="selects",
)
ops.linear(
    "permute_dims(x, /, axes)",
    x=lambda g, axes, xp: xp.permute_dims(g, inverse_permutation(axes)),
    view=lambda value, axes, xp: xp.permute_dims(value, inverse_permutation(axes)),
    strides=lambda x_strides, axes: tuple(x_strides[axis] for axis in axes),
    batch=_permute_dims_batch,
    pattern="selects",
)
ops.linear(
    "repeat(x, repeats, /, *, axis=None)",
    x=_repeat_vjp,
    masks=lambda repeats: not isinstance(repeats, int),  # some may be 0
    batch=_repeat_batch,
    pattern="selects",
)
ops.linear(
    "reshape(x, /, shape, *, copy=None)",
    x=lambda g, x_shape, xp: xp.reshape(g, x_shape),
    view=lambda base, value, xp: xp.reshape(value, base.shape),
    strides=lambda x_shape, x_strides, out_shape: reshaped_strides(x_shape, x_strides, out_shape),
    batch=_reshape_batch,
    pattern="selects",
)
ops.linear(
    "roll(x, /, shift, *, axis=None)",
    x=lambda g, shift, axis, xp: xp.roll(g, _negated(shift), axis=axis),
    batch=_roll_batch,
    pattern="selects",
)
ops.linear(
    "squeeze(x, /, axis)",
    x=lambda g, x_shape, xp: xp.reshape(g, x_shape),
    view=lambda base, value, xp: xp.reshape(value, base.shape),
    strides=lambda x_strides, axis: _without(x_strides, axis),
    batch="axis",
    pattern="selects",
)
ops.linear(
    "stack(arrays, /, *, axis=0)",
    arrays=lambda g, axis, xp: xp.unstack(g, axis=axis),
    batch=lambda xp, arrays, axis=0: xp.stack(arrays, axis=behind(axis, len(arrays[0].shape))),
    pattern="moves",
)
ops.linear(
    "tile(x, repetitions, /)",
    x=_tile_vjp,
    options=("repetitions",),
    batch=_tile_batch,
    pattern="selects",
)
ops.linear(
    "unstack(x, /, *, axis=0)",
    x=_unstack_vjp,
    outputs="several",
    view=_put_slice,
    strides=lambda x_strides, axis: _without(x_strides, axis),
    batch="axis",
    pattern="moves",
)
ops.linear(
    "to_device(x, device, /, *, stream=None)",
    x=lambda g, x_device, xp: xp.to_device(g, x_device),
    forward=_to_device,
    options=("device",),
    batch="elementwise",
)
ops.constant("broadcast_shapes(*shapes)")
