"""Axes: added, dropped, put in another order, and broadcast along."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import array_api_compat.dask.array as compat
import numpy as np
from dask.layers import ArrayBlockIdDep, ArrayChunkShapeDep

from agnograd_dask._layers import Chunks, by_chunks, is_plain, source

__all__ = ["expand_dims", "permute_dims", "spread", "squeeze", "transposed", "viewed", "with_ones"]

Shape = tuple[int, ...]


def spread(x: Any, shape: Shape, chunks: Chunks | None = None) -> Any:
    """Return an array broadcast to a shape, or raise a ValueError if it does not broadcast.

    Without ``chunks`` of the result, new axes are one chunk, since nothing says what the array will
    meet. The result then knows its source.
    """
    new = len(shape) - x.ndim
    if new < 0 or any(a not in (1, b) for a, b in zip(x.shape, shape[new:], strict=True)):
        raise ValueError(f"cannot broadcast an array of shape {x.shape} to {shape}")
    if x.shape == shape and chunks is None:
        return x
    x = source(x)
    new = len(shape) - x.ndim
    if chunks is None:
        ends = zip(x.shape, x.chunks, shape[new:], strict=True)
        rest = [parts if a == b else (b,) for a, parts, b in ends]
        made = (*((size,) for size in shape[:new]), *rest)
    else:
        made = chunks
        along = zip(x.shape, x.chunks, chunks[new:], strict=True)
        x = x.rechunk(tuple(a if size == 1 else b for size, a, b in along))
    axes = range(len(shape))
    sizes = ArrayChunkShapeDep(made)
    out = by_chunks(_spread, made, x.dtype, x, axes[new:], sizes, axes, key=(shape, chunks))
    if chunks is None:
        out.source, out.source_of = x, out.name
    return out


def _spread(chunk: Any, shape: Shape) -> Any:
    return np.broadcast_to(chunk, shape)


def with_ones(x: Any, shape: Shape) -> Any:
    """Return an array in a shape that differs by axes of length one; None if it is another one."""
    kept = [axis for axis, size in enumerate(x.shape) if size != 1]
    places = [axis for axis, size in enumerate(shape) if size != 1]
    dropped = tuple(axis for axis, size in enumerate(x.shape) if size == 1)
    new = tuple(axis for axis, size in enumerate(shape) if size == 1)
    same = [x.shape[axis] for axis in kept] == [shape[axis] for axis in places]
    if not (same and shape) or any(x.numblocks[axis] != 1 for axis in dropped):
        return None
    if source(x).ndim == 0:
        return spread(source(x), shape)
    along, chunks = [0] * x.ndim, [(1,)] * len(shape)
    for axis, place in zip(kept, places, strict=True):
        along[axis], chunks[place] = place, x.chunks[axis]
    # Dask's ``new_axes`` would do, but what Dask fuses with it lacks chunks along these axes where
    # the axes are broadcast.
    ones = (ArrayBlockIdDep(((1,),) * len(new)), new) if new else ()
    options = {"dropped": dropped, "new": new}
    return by_chunks(_with_ones, tuple(chunks), x.dtype, x, along, *ones, **options)


def _with_ones(chunk: Any, *place: Any, dropped: Shape, new: Shape) -> Any:
    return np.expand_dims(np.squeeze(chunk, dropped), new)


def viewed(x: Any, key: Any) -> Any:
    """Return an array read at new axes and whole ones only; None for any other key."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(part is None or part is ... or _is_whole(part) for part in parts):
        return None
    if None not in parts or not is_plain(x) or math.isnan(x.size):
        return None
    return with_ones(x, np.broadcast_to(0, x.shape)[key].shape)


def _is_whole(part: Any) -> bool:
    return type(part) is slice and part == slice(None)


def transposed(x: Any, axes: Sequence[int]) -> Any:
    """Return an array with its axes in another order."""
    axes = tuple(axis % x.ndim for axis in axes)
    if source(x).ndim == 0:
        return spread(source(x), tuple(x.shape[axis] for axis in axes))
    along = [axes.index(axis) for axis in range(x.ndim)]
    chunks = tuple(x.chunks[axis] for axis in axes)
    return by_chunks(np.transpose, chunks, x.dtype, x, along, axes=axes)


def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Any:
    """Return an array with its axes in another order."""
    usual = is_plain(x) and sorted(axis % max(x.ndim, 1) for axis in axes) == [*range(x.ndim)]
    return transposed(x, axes) if usual else compat.permute_dims(x, axes)


def expand_dims(x: Any, /, axis: int | tuple[int, ...] = 0) -> Any:
    """Return an array with new axes of length one."""
    at = axis if isinstance(axis, tuple) else (axis,)
    rank = x.ndim + len(at)
    usual = is_plain(x) and len({each % rank for each in at if -rank <= each < rank}) == len(at)
    shape = list(x.shape)
    for each in sorted(each % rank for each in at):
        shape.insert(each, 1)
    out = with_ones(x, tuple(shape)) if usual else None
    return compat.expand_dims(x, axis=axis) if out is None else out


def squeeze(x: Any, /, axis: int | tuple[int, ...]) -> Any:
    """Return an array without axes of length one."""
    at = axis if isinstance(axis, tuple) else (axis,)
    usual = is_plain(x) and all(-x.ndim <= each < x.ndim and x.shape[each] == 1 for each in at)
    gone = {each % max(x.ndim, 1) for each in at}
    kept = tuple(size for each, size in enumerate(x.shape) if each not in gone)
    out = with_ones(x, kept) if usual else None
    return compat.squeeze(x, axis=axis) if out is None else out
