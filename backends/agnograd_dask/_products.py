"""Products of matrices, chunk by chunk, and sums of these products where chunks are contracted.

Dask's own add up also where there is one product only, and take matrices for vectors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnograd_dask._axes import spread
from agnograd_dask._layers import by_chunks, common_chunks, is_plain, source
from agnograd_dask._sums import combined

__all__ = ["matmul", "tensordot"]


def matmul(otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return the product of matrices and vectors, and of stacks of them.

    ``otherwise`` is Dask's, for stacks in several chunks along the contracted axis, and for errors.
    """

    @functools.wraps(otherwise)
    def product(x1: Any, x2: Any, /) -> Any:
        if not is_plain(x1, x2) or not (x1.ndim and x2.ndim):
            return otherwise(x1, x2)
        axis1, axis2 = x1.ndim - 1, max(x2.ndim - 2, 0)
        if x1.shape[axis1] != x2.shape[axis2]:
            return otherwise(x1, x2)
        if x1.ndim <= 2 and x2.ndim <= 2:
            return _tensordot(x1, x2, (axis1,), (axis2,))
        if x1.numblocks[axis1] == 1 == x2.numblocks[axis2]:
            found = _of_stacks(x1, x2)
            return otherwise(x1, x2) if found is None else found
        return otherwise(x1, x2)

    return product


def _of_stacks(x1: Any, x2: Any) -> Any:
    """Return the products of matrices that are whole, or None if their stacks do not fit."""
    stack1, stack2 = x1.chunks[:-2], x2.chunks[:-2]
    over = max(len(stack1), len(stack2))
    ends = (*x1.chunks[-2:-1], *(x2.chunks[-1:] if x2.ndim > 1 else ()))
    chunks = common_chunks(stack1, stack2)
    if chunks is None:
        return None
    rank = over + len(ends)
    along1 = (*range(over - len(stack1), over), *((over,) if x1.ndim > 1 else ()), rank - 1)
    along2 = (*range(over - len(stack2), over), over, *((rank - 1,) if x2.ndim > 1 else ()))
    dtype = np.result_type(x1.dtype, x2.dtype)
    return by_chunks(np.matmul, (*chunks, *ends), dtype, x1, along1, x2, along2)


def tensordot(otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return the contraction of axes of two arrays; ``otherwise`` is Dask's, for errors."""

    @functools.wraps(otherwise)
    def contracted(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
        if not is_plain(x1, x2):
            return otherwise(x1, x2, axes=axes)
        if isinstance(axes, int):
            axes = range(x1.ndim - axes, x1.ndim), range(axes)
        used = [
            [axis % max(x.ndim, 1) for axis in ((each,) if isinstance(each, int) else each)]
            for x, each in zip((x1, x2), axes, strict=True)
        ]
        lengths = [
            [x.shape[axis] for axis in each if axis < x.ndim]
            for x, each in zip((x1, x2), used, strict=True)
        ]
        if lengths[0] != lengths[1] or len({*used[0]}) != len(lengths[0]):
            return otherwise(x1, x2, axes=axes)
        return _tensordot(x1, x2, *used)

    return contracted


def _tensordot(x1: Any, x2: Any, used1: Sequence[int], used2: Sequence[int]) -> Any:
    x1, x2 = _aligned(x1, x2, used1, used2)
    free1 = [axis for axis in range(x1.ndim) if axis not in used1]
    free2 = [axis for axis in range(x2.ndim) if axis not in used2]
    free = len(free1) + len(free2)
    whole = free and all(x1.numblocks[axis] == 1 for axis in used1)
    # Where chunks are contracted, their products stand along axes of their own, to be added up.
    along1, along2 = [0] * x1.ndim, [0] * x2.ndim
    for place, axis in enumerate(free1):
        along1[axis] = place
    for place, axis in enumerate(free2, len(free1)):
        along2[axis] = place
    if not whole:
        for place, (axis1, axis2) in enumerate(zip(used1, used2, strict=True), free):
            along1[axis1] = along2[axis2] = place
    chunks = [x1.chunks[axis] for axis in free1] + [x2.chunks[axis] for axis in free2]
    more = [] if whole else [(1,) * x1.numblocks[axis] for axis in used1]
    parts = by_chunks(
        _of_chunks,
        (*chunks, *more),
        np.result_type(x1.dtype, x2.dtype),
        x1,
        along1,
        x2,
        along2,
        axes=(tuple(used1), tuple(used2)),
        more=len(more),
    )
    return combined(parts, range(free, free + len(more)), np.add) if more else parts


def _of_chunks(chunk1: Any, chunk2: Any, axes: Any, more: int) -> Any:
    out = np.tensordot(chunk1, chunk2, axes)
    return out.reshape(*out.shape, *(1,) * more) if more else out


def _aligned(x1: Any, x2: Any, used1: Sequence[int], used2: Sequence[int]) -> tuple[Any, Any]:
    """Return two arrays with the same chunks along contracted axes, the more of either's."""
    chunks1, chunks2 = list(x1.chunks), list(x2.chunks)
    for axis1, axis2 in zip(used1, used2, strict=True):
        if x2.numblocks[axis2] > x1.numblocks[axis1]:
            chunks1[axis1] = chunks2[axis2]
        chunks2[axis2] = chunks1[axis1]
    return _rechunked(x1, tuple(chunks1)), _rechunked(x2, tuple(chunks2))


def _rechunked(x: Any, chunks: Any) -> Any:
    if chunks == x.chunks:
        return x
    return x.rechunk(chunks) if source(x) is x else spread(x, x.shape, chunks)
