"""Gradients by ``ag.grad``, compiled by ``ag.compile``, over NumPy; the first call compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from benchmarks.implementations.by_agnograd import LACKS, version
from benchmarks.implementations.by_agnograd import prepare as eager
from benchmarks.workloads import Case

__all__ = ["COMPILES", "LACKS", "kept", "prepare", "version"]

COMPILES = True


class _Seen:
    """A compiled function that remembers what it was called with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.compiled, self.args = ag.compile(function), ()

    def __call__(self, *args: Any) -> Any:
        self.args = args
        return self.compiled(*args)


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    return eager(case, compiles=ag.compile)


def kept(case: Case) -> int:
    """Return the bytes of the buffers that a program of the derivatives keeps between calls."""
    made: list[_Seen] = []

    def compiles(function: Callable[..., Any]) -> _Seen:
        made.append(_Seen(function))
        return made[-1]

    eager(case, compiles=compiles)()
    (seen,) = made
    parts = seen.compiled.explain(*seen.args).parts
    return sum(sum(part.described.get("buffers", ())) for part in parts)
