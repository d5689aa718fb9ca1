"""Functions of chunks as layers of a task graph, made in less time than by Dask's own functions.

Those try a function on empty arrays, hash all that it is given, and align chunks that are the same.
Here, the caller says what comes out. Each layer is Dask's ``Blockwise``: it fuses them, and writes
their tasks out only when they are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.blockwise import BlockwiseDep, blockwise
from dask.highlevelgraph import HighLevelGraph

__all__ = ["Layered", "by_chunks", "common_chunks", "is_plain", "made", "named", "source"]

Chunks = tuple[tuple[int, ...], ...]


class Layered(da.Array):  # type: ignore[misc]
    """A Dask array whose operators make such layers, too: ``_operators`` defines them.

    If it was broadcast, it says from what: functions of elements compute with that instead.
    """

    source: da.Array | None = None
    source_of: str = ""  # the name that it had then: Dask's arrays can be written to

    def copy(self) -> Layered:
        """Return a copy, of this class."""
        return Layered(self.dask, self.name, self.chunks, meta=self)


def source(x: Any) -> Any:
    """Return what an array was broadcast from, or else the array itself."""
    return x.source if type(x) is Layered and x.name == x.source_of else x


def is_plain(*arrays: Any) -> bool:
    """Return whether all are Dask arrays whose chunks are NumPy's own."""
    return all(isinstance(x, da.Array) and type(x._meta) is np.ndarray for x in arrays)


def common_chunks(*given: Chunks) -> Chunks | None:
    """Return the chunks of arrays that are broadcast, or None if they differ."""
    rank = max(map(len, given))
    common: list[tuple[int, ...]] = [(1,)] * rank
    for chunks in given:
        for axis, parts in enumerate(chunks, rank - len(chunks)):
            if common[axis] == (1,):
                common[axis] = parts
            elif parts != (1,) and parts != common[axis]:
                return None
    return tuple(common)


def named(function: Callable[..., Any], *key: Any) -> str:
    """Return a name for a function's result: as Dask's, the same for the same arguments."""
    prefix = function.__name__.strip("_")
    return f"{prefix}-{tokenize(getattr(function, '__module__', ''), prefix, *key)}"


def made(name: str, layer: Any, chunks: Chunks, dtype: Any, inputs: Sequence[Any]) -> Layered:
    """Return the array of a layer of tasks, of which it takes the chunks from its inputs."""
    graph = HighLevelGraph.from_collections(name, layer, dependencies=inputs)
    return Layered(graph, name, chunks, meta=np.empty((0,) * len(chunks), dtype=dtype))


def by_chunks(
    function: Callable[..., Any],
    chunks: Chunks,
    dtype: Any,
    *pairs: Any,
    key: Any = None,
    **options: Any,
) -> Layered:
    """Return the array whose chunks are a function of other arrays' chunks.

    Parameters
    ----------
    function : callable
        Takes a chunk of each array, and the numbers.
    chunks : tuple of tuple of int
        The chunks of the result.
    dtype : dtype
        The dtype of the result.
    *pairs : array and sequence of int, or number and None
        Arrays, each followed by the axes of the result that its own axes run along. An axis of one
        chunk may run along any of them: then this chunk is used at all places of that axis.
    key : object, optional
        What else the result depends on, besides the arrays and the options.
    **options : object
        Keyword arguments of the function.
    """
    given, arrays, counts = [], [], {}
    for x, along in zip(pairs[::2], pairs[1::2], strict=True):
        if isinstance(x, da.Array):
            arrays.append(x)
            counts[x.name] = x.numblocks
            x = x.name
        given += [x, None if along is None else tuple(along)]
    known = [each for each in given if not isinstance(each, BlockwiseDep)]
    name = named(function, len(chunks), known, options, key)
    axes = tuple(range(len(chunks)))
    layer = blockwise(function, name, axes, *given, numblocks=counts, **options)
    return made(name, layer, chunks, dtype, arrays)
