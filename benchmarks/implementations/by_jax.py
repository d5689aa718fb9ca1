"""Derivatives by JAX, compiled by ``jax.jit``, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.workloads import Case

__all__ = ["COMPILES", "LACKS", "prepare", "version"]

COMPILES = True
LACKS: frozenset[str] = frozenset()


def version() -> str:
    """Return JAX's version."""
    return str(jax.__version__)


def trace_of_hessian(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Laplacian by the first argument."""
    return lambda *args: jnp.trace(jax.hessian(function)(*args))


def prepare(
    case: Case, compiles: bool = True, laplacian: Callable[[Any], Any] = trace_of_hessian
) -> Callable[[], Any]:
    """Return what computes the derivatives once, and waits for them; its first call compiles."""
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    variables, constants, vectors = case.on(jnp.asarray)[2:5]

    def gradients(variables: Any, constants: Any, vectors: Any) -> Any:
        def function(*variables: Any) -> Any:
            return case.value(jnp, *variables, *constants)

        value, pullback = jax.vjp(function, *variables)
        return pullback(jnp.ones_like(value))

    def products(variables: Any, constants: Any, vectors: Any) -> Any:
        def gradient(*variables: Any) -> Any:
            return gradients(variables, constants, ())

        return jax.jvp(gradient, variables, vectors)[1]

    def batches(variables: Any, constants: Any, vectors: Any) -> Any:
        functions = SimpleNamespace(
            vmap=jax.vmap,
            grad=jax.grad,
            jacobian=jax.jacobian,
            hessian=jax.hessian,
            laplacian=laplacian,
        )
        return case.transformed(functions, jnp)(*variables, *constants)

    run = batches if case.many else products if case.vectors else gradients
    run = jax.jit(run) if compiles else run
    return lambda: jax.block_until_ready(run(variables, constants, vectors))
