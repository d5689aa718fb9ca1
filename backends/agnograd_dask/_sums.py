"""Reductions, and sums at positions: of each chunk, and then of these results, a few at a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import product
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import Layer

from agnograd.extend import switch
from agnograd_dask._layers import by_chunks, is_plain, made, named

__all__ = ["along_first", "combined", "mean", "reduction"]

# Up to how many bytes a chunk's result may have for a task to wait for many of them.
SUMMED_BYTES = switch("SUMMED_BYTES", 2**20, least=0, most=2**62, module=__name__)
# For how many small results a task waits: to start a task takes longer than to add them.
SUMMED_CHUNKS = switch("SUMMED_CHUNKS", 16, least=2, most=2**10, module=__name__)
# For how many large results a task waits, which are all in memory: Dask's own default is 4.
LARGE_CHUNKS = switch("LARGE_CHUNKS", 4, least=2, most=2**10, module=__name__)


def combined(x: Any, axes: Sequence[int], ufunc: np.ufunc, *, keepdims: bool = False) -> Any:
    """Return an array without axes along which each chunk has one element, by a tree of tasks.

    ``axes`` are not negative, and ``ufunc`` combines two chunks. With ``keepdims`` the axes remain.
    """
    size = math.prod(map(max, x.chunks)) * x.dtype.itemsize
    width = SUMMED_CHUNKS if size <= SUMMED_BYTES else dask.config.get("split_every", LARGE_CHUNKS)
    name = named(combined, x.name, axes, ufunc, keepdims, width)
    chunks = [(1,) if axis in axes else parts for axis, parts in enumerate(x.chunks)]
    if not keepdims:
        chunks = [parts for axis, parts in enumerate(chunks) if axis not in axes]
    tree = _Tree(name, x.name, x.numblocks, tuple(axes), ufunc, keepdims, width)
    return made(name, tree, tuple(chunks), x.dtype, [x])


class _Tree(Layer):  # type: ignore[misc]
    """The tasks of a tree, which are written out when they are first asked for."""

    def __init__(
        self,
        name: str,
        source: str,
        counts: Sequence[int],
        axes: Sequence[int],
        ufunc: np.ufunc,
        keepdims: bool,
        width: int,
    ) -> None:
        super().__init__()
        self.name, self.source, self.counts, self.axes = name, source, counts, axes
        self.ufunc, self.keepdims, self.width = ufunc, keepdims, width

    @functools.cached_property
    def tasks(self) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        kept = [axis for axis in range(len(self.counts)) if axis not in self.axes]
        drop = () if self.keepdims else self.axes
        for place in product(*(range(self.counts[axis]) for axis in kept)):
            at = dict(zip(kept, place, strict=True))
            spans = [(at[i],) if i in at else range(n) for i, n in enumerate(self.counts)]
            parts = [(self.source, *indices) for indices in product(*spans)]
            level = 0
            while len(parts) > self.width:
                starts = range(0, len(parts), self.width)
                groups = [parts[start : start + self.width] for start in starts]
                parts = [(f"{self.name}-{level}", *place, i) for i in range(len(groups))]
                for key, group in zip(parts, groups, strict=True):
                    found[key] = (_combine, self.ufunc, group, ())
                level += 1
            end = [at.get(i, 0) for i in range(len(self.counts))] if self.keepdims else place
            found[(self.name, *end)] = (_combine, self.ufunc, parts, drop)
        return found

    def __getitem__(self, key: Any) -> Any:
        return self.tasks[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def is_materialized(self) -> bool:
        return "tasks" in vars(self)

    def get_output_keys(self) -> Set[Any]:
        return self.tasks.keys()  # with those inside the tree, which a copy of it renames, too


def _combine(ufunc: np.ufunc, parts: list[Any], drop: tuple[int, ...]) -> Any:
    total = functools.reduce(ufunc, parts)
    return np.squeeze(total, drop) if drop else total


def reduction(ufunc: np.ufunc, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reduction by a function of two elements, such as the sum by ``numpy.add``.

    ``otherwise`` is Dask's, for other arrays and options, and for its errors.
    """

    @functools.wraps(otherwise)
    def reduced(
        x: Any,
        /,
        axis: int | Sequence[int] | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any:
        axes = _axes(x, axis)
        empty = ufunc.identity is None and not _has_elements(x, axes)
        if not axes or empty or options.keys() - {"dtype"}:
            return otherwise(x, axis=axis, keepdims=keepdims, **options)
        dtype = options.get("dtype")
        try:
            found = ufunc.reduce(np.ones((1,), dtype=x.dtype), dtype=dtype).dtype
        except Exception:
            return otherwise(x, axis=axis, keepdims=keepdims, **options)
        return _reduced(x, axes, keepdims, ufunc, found, dtype)

    return reduced


def _axes(x: Any, axis: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the axes of a reduction, or none where it is left to Dask."""
    if not is_plain(x) or x.ndim == 0:
        return ()
    given = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if any(not -x.ndim <= each < x.ndim for each in given):
        return ()
    axes = tuple(sorted(each % x.ndim for each in given))
    return axes if len({*axes}) == len(axes) else ()


def _has_elements(x: Any, axes: Sequence[int]) -> bool:
    """Return whether no chunk can be empty: its length along an axis may be unknown, too."""
    return all(size > 0 for axis in axes for size in x.chunks[axis])


def _reduced(
    x: Any, axes: tuple[int, ...], keepdims: bool, ufunc: np.ufunc, found: Any, dtype: Any
) -> Any:
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    ones = tuple((1,) * len(p) if axis in axes else p for axis, p in enumerate(x.chunks))
    single = all(x.numblocks[axis] == 1 for axis in axes)
    drops = single and bool(kept) and not keepdims
    along = [kept.index(axis) if axis in kept else 0 for axis in range(x.ndim)]
    out = by_chunks(
        _of_chunk,
        tuple(x.chunks[axis] for axis in kept) if drops else ones,
        found,
        x,
        along if drops else range(x.ndim),
        ufunc=ufunc,
        axes=axes,
        into=dtype,
        keepdims=not drops,
    )
    return out if drops or (single and keepdims) else combined(out, axes, ufunc, keepdims=keepdims)


def _of_chunk(chunk: Any, ufunc: np.ufunc, axes: Any, into: Any, keepdims: bool) -> Any:
    return ufunc.reduce(chunk, axis=axes, dtype=into, keepdims=keepdims)


def mean(total: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return the mean as a sum over a number of elements, where that is known.

    Dask's own counts them in each chunk, and carries the numbers through the tree. It is
    ``otherwise``, also for halves, whose sums need more digits.
    """

    @functools.wraps(otherwise)
    def computed(
        x: Any, /, axis: int | Sequence[int] | None = None, *, keepdims: bool = False
    ) -> Any:
        axes = _axes(x, axis)
        count = math.prod(x.shape[axis] for axis in axes)
        if not axes or not count > 0 or x.dtype.kind not in "fc" or x.dtype.itemsize < 4:
            return otherwise(x, axis=axis, keepdims=keepdims)
        return total(x, axis=axis, keepdims=keepdims) / count

    return computed


def along_first(length: int, positions: Any, values: Any) -> Any:
    """Return zeros with slices of values added at positions, from 0 on, of an axis of a length."""
    positions = positions.rechunk((values.chunks[0],))
    chunk, place, *rest = range(values.ndim + 1)
    sums = da.blockwise(
        _sum_of_chunk,
        (chunk, place, *rest),
        values,
        (chunk, *rest),
        positions,
        (chunk,),
        new_axes={place: length},
        adjust_chunks={chunk: 1},
        length=length,
        dtype=values.dtype,
        meta=values._meta.reshape((0,) * (values.ndim + 1)),
    )
    return sums.sum(axis=0)


def _sum_of_chunk(values: Any, positions: Any, length: int) -> Any:
    total = np.zeros_like(values, shape=(1, length, *values.shape[1:]))
    np.add.at(total[0], positions, values)
    return total
