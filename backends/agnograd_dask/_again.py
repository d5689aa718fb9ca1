"""Computing again what Dask would keep: tasks under other names, which wait for a value.

``dask.graph_manipulation.bind`` is meant for that. As of Dask 2026.8 it leaves the arguments of
tasks of some layers as they are, such as those of ``x[:, 0]``, so that nothing is computed again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from dask._task_spec import convert_legacy_graph
from dask.base import tokenize

from agnograd_dask._layers import by_chunks, made
from agnograd_dask._sums import combined

__all__ = ["again", "known", "waiting"]


def known(arrays: Sequence[Any]) -> Any:
    """Return an array without axes that is computed once all of the arrays are."""
    ends = []
    for x in arrays:
        ones = tuple((1,) * count for count in x.numblocks)
        part = by_chunks(_nothing, ones, np.bool_, x, range(x.ndim))
        ends.append(combined(part, range(x.ndim), np.logical_or))
    pairs = [each for x in ends for each in (x, ())]
    return by_chunks(_nothing, (), np.bool_, *pairs)


def _nothing(*chunks: Any) -> Any:
    return np.zeros((1,) * np.ndim(chunks[0]) if chunks else (), dtype=np.bool_)


def waiting(x: Any, before: Any) -> Any:
    """Return an array under another name, whose chunks wait for an array without axes."""
    return by_chunks(_first, x.chunks, x.dtype, x, range(x.ndim), before, ())


def _first(value: Any, before: Any) -> Any:
    return value


def again(x: Any, before: Any) -> Any:
    """Return an array all of whose tasks have other names, and begin after an array without axes.

    The names follow from that array's: what is taken again after the same one is computed once.
    """
    tasks = convert_legacy_graph(x.__dask_graph__())
    prefixes: dict[str, str] = {}
    names = {key: _renamed(key, before.name, prefixes) for key in tasks}
    layer = {}
    for key, task in tasks.items():
        new = task.substitute(names, key=names[key])
        if not task.dependencies and hasattr(task, "func"):  # it begins at once
            new = (functools.partial(_run, task), (before.name,))
        layer[names[key]] = new
    out = made(prefixes[x.name], layer, x.chunks, x.dtype, [before])
    out._meta = x._meta
    return out


def _renamed(key: Any, seed: str, prefixes: dict[str, str]) -> Any:
    """Return a key, which is a name, or a tuple that begins with one, with another name."""
    name = key[0] if isinstance(key, tuple) else key
    if name not in prefixes:
        prefixes[name] = f"{str(name).rpartition('-')[0] or name}-{tokenize(name, seed)}"
    return (prefixes[name], *key[1:]) if isinstance(key, tuple) else prefixes[name]


def _run(task: Any, before: Any) -> Any:
    return task()
