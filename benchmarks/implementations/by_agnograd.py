"""Gradients by ``ag.grad`` of functions of raw arrays, over NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS: frozenset[str] = frozenset()


def version() -> str:
    """Return agnograd's version."""
    return ag.__version__


def prepare(
    case: Case, backend: str = "numpy", compiles: Callable[[Any], Any] = lambda function: function
) -> Callable[[], Any]:
    """Return what computes the derivatives once; the case has arrays of the backend.

    ``compiles`` makes a faster function of one of arrays that computes them.
    """
    xp = ag.namespace(backend)
    if case.many:
        transformed = compiles(case.transformed(ag, xp))
        return lambda: transformed(*case.variables, *case.constants)

    def function(*variables: Any) -> Any:
        value = case.value(xp, *variables, *case.constants)
        return value if value.ndim == 0 else xp.sum(value)

    if case.vectors:
        product = compiles(lambda variables, vectors: ag.hvp(function, variables, vectors))
        return lambda: product(case.variables, case.vectors)
    gradient = compiles(ag.grad(function, argnums=tuple(range(len(case.variables)))))
    return lambda: gradient(*case.variables)
