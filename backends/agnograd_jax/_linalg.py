"""What the standard lacks of linear algebra, by JAX's own."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["solve_adjoint", "solve_triangular"]


def _solve_adjoint(x1: Array, x2: Array, /) -> Array:
    """Solve by the adjoint of matrices, by the factors that solve by the matrices themselves.

    It is the transpose of JAX's ``solve``: in one compiled program both use one factorisation.
    """
    batch = jnp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x2 = jnp.broadcast_to(x2, (*batch, *x2.shape[-2:])).astype(jnp.result_type(x1, x2))
    (found,) = jax.linear_transpose(lambda b: jnp.linalg.solve(x1, b), x2)(jnp.conj(x2))
    solved: Array = jnp.conj(found)
    return solved


solve_adjoint: Callable[..., Array] = jax.jit(_solve_adjoint)


def solve_triangular(x1: Array, x2: Array, /, *, lower: bool = True) -> Array:
    """Solve by one triangle of matrices."""
    batch = jnp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    solved: Array = lax.linalg.triangular_solve(
        jnp.broadcast_to(x1, (*batch, *x1.shape[-2:])),
        jnp.broadcast_to(x2, (*batch, *x2.shape[-2:])),
        left_side=True,
        lower=lower,
    )
    return solved
