"""Threads that share large element-wise work; NumPy lets others run while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from typing import Any

__all__ = ["each", "threads"]

_VARIABLES = ("AGNOGRAD_NUM_THREADS", "OMP_NUM_THREADS")


def threads() -> int:
    """Return how many threads compute: what the environment says, or one for each processor.

    ``AGNOGRAD_NUM_THREADS`` says it, or else ``OMP_NUM_THREADS``, as to most libraries.
    """
    for name in _VARIABLES:
        found = os.environ.get(name, "")
        if found.isdecimal() and int(found) > 0:
            return int(found)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(function: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
    """Call a function with each of several lists of arguments, all of them at once.

    The caller's thread takes the last one. It returns, or raises the first error, when all are
    done: what they write to is free then.
    """
    *others, own = parts
    # NumPy's ``errstate`` is a variable of the context.
    futures = [_executor(len(parts)).submit(copy_context().run, function, *part) for part in others]
    try:
        function(*own)
    finally:
        wait(futures)
    for future in futures:
        future.result()


@cache
def _executor(count: int) -> Executor:
    return ThreadPoolExecutor(count, "agnograd")


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_executor.cache_clear)  # a child has none of the threads
