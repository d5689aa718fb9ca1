"""Derivatives by agnograd, eagerly, over NumPy."""

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


def prepare(case: Case, backend: str = "numpy") -> Callable[[], Any]:
    """Return what computes the derivatives once; the case has arrays of the backend."""
    xp = ag.namespace(backend)

    def gradients() -> Any:
        leaves: list[Any] = [ag.Variable(each) for each in case.variables]
        out = case.value(xp, *leaves, *case.constants)
        out.backward(xp.ones_like(out))
        return [leaf.grad.data for leaf in leaves]

    def function(*variables: Any) -> Any:
        return case.value(xp, *variables, *case.constants)

    if case.vectors:
        return lambda: ag.hvp(function, case.variables, case.vectors)
    return gradients
