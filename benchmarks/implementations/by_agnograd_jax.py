"""Derivatives by agnograd over JAX's arrays, compiled by ``jax.jit``, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import agnograd as ag
from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS: frozenset[str] = frozenset()


def version() -> str:
    """Return agnograd's version, and JAX's."""
    return f"{ag.__version__} on {jax.__version__}"


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once, and waits for them; its first call compiles."""
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    given = case.on(jnp.asarray)
    xp = ag.namespace("jax")

    def derivatives(variables: Any, constants: Any, vectors: Any) -> Any:
        def function(*variables: Any) -> Any:
            return case.value(xp, *variables, *constants)

        if case.many:
            return case.transformed(ag, xp)(*variables, *constants)
        if vectors:
            return ag.hvp(function, variables, vectors)
        value, pullback = ag.vjp(function, *variables)
        return pullback(jnp.ones_like(value))

    compiled = jax.jit(derivatives)
    return lambda: jax.block_until_ready(compiled(given.variables, given.constants, given.vectors))
