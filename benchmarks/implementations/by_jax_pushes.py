"""Derivatives by JAX, a Laplacian by pushes of its gradient, compiled by ``jax.jit``."""

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
    """Return a Laplacian by pushes of the gradient, by the first argument."""

    def of(x: Any, *args: Any) -> Any:
        gradient = jax.grad(lambda x: function(x, *args))

        def along(v: Any) -> Any:
            return v @ jax.jvp(gradient, (x,), (v,))[1]

        return jnp.sum(jax.vmap(along)(jnp.eye(x.size, dtype=x.dtype)))

    return of
