"""Derivatives by JAX, a Laplacian by ``jax.experimental.jet``, compiled by ``jax.jit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.implementations import by_jax
from benchmarks.implementations.by_jax import COMPILES, LACKS, version
from benchmarks.workloads import Case

__all__ = ["COMPILES", "LACKS", "prepare", "version"]


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once, and waits for them; its first call compiles."""
    return by_jax.prepare(case, laplacian=laplacian)


def laplacian(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Laplacian by ``jax.experimental.jet``, by the first argument."""
    from jax.experimental.jet import jet

    def of(x: Any, *args: Any) -> Any:
        def along(v: Any) -> Any:
            zeros = jnp.zeros_like(x)
            _, (_, second) = jet(lambda x: function(x, *args), (x,), ((v, zeros),))
            return second

        return jnp.sum(jax.vmap(along)(jnp.eye(x.size, dtype=x.dtype)))

    return of
