"""Derivatives by agnograd, compiled by ``ag.compile``, over JAX's arrays on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import agnograd as ag
from benchmarks.implementations import by_agnograd
from benchmarks.implementations.by_agnograd_jax import LACKS, version
from benchmarks.workloads import Case

__all__ = ["COMPILES", "LACKS", "prepare", "version"]

COMPILES = True


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once, and waits for them; its first call compiles."""
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    run = by_agnograd.prepare(case.on(jnp.asarray), backend="jax", compiles=ag.compile)
    return lambda: jax.block_until_ready(run())
