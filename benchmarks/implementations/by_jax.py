"""Derivatives by JAX, compiled by ``jax.jit``, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS: frozenset[str] = frozenset()


def version() -> str:
    """Return JAX's version."""
    return str(jax.__version__)


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once, and waits for them; its first call compiles."""
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    variables, constants, vectors = case.on(jnp.asarray)[2:]

    def gradients(variables: Any, constants: Any, vectors: Any) -> Any:
        def function(*variables: Any) -> Any:
            return case.value(jnp, *variables, *constants)

        value, pullback = jax.vjp(function, *variables)
        return pullback(jnp.ones_like(value))

    def products(variables: Any, constants: Any, vectors: Any) -> Any:
        def gradient(*variables: Any) -> Any:
            return gradients(variables, constants, ())

        return jax.jvp(gradient, variables, vectors)[1]

    compiled = jax.jit(products if case.vectors else gradients)
    return lambda: jax.block_until_ready(compiled(variables, constants, vectors))
