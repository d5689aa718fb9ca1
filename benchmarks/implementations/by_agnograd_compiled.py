"""Gradients by ``ag.grad``, compiled by ``ag.compile``, over NumPy; the first call compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from benchmarks.implementations.by_agnograd import LACKS, version
from benchmarks.implementations.by_agnograd import prepare as eager
from benchmarks.workloads import Case

__all__ = ["COMPILES", "LACKS", "prepare", "version"]

COMPILES = True


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    return eager(case, compiles=ag.compile)
