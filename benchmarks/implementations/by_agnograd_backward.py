"""Gradients by ``backward`` of Variables, over NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from benchmarks.implementations.by_agnograd import version
from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS = frozenset({"second order", "vmap"})  # ag.hvp and ag.vmap are for that


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    xp = ag.namespace("numpy")

    def gradients() -> Any:
        leaves: list[Any] = [ag.Variable(each) for each in case.variables]
        out = case.value(xp, *leaves, *case.constants)
        out.backward(xp.ones_like(out))
        return [leaf.grad.data for leaf in leaves]

    return gradients
