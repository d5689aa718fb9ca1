"""Derivatives by JAX, op by op as it is called, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.implementations import by_jax
from benchmarks.implementations.by_jax import LACKS, version
from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once, and waits for them."""
    return by_jax.prepare(case, compiles=False)
