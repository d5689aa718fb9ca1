"""What the standard lacks of linear algebra, and what reads one triangle, by JAX's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = [
    "cholesky",
    "eigh",
    "eigh_upper",
    "eigvalsh",
    "solve_adjoint",
    "solve_triangle",
]


# JAX's own functions of Hermitian matrices take the Hermitian part of any others; these read one
# triangle, as all other libraries do.


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the Cholesky factor of one triangle: the factor is in the same one."""
    if not upper:
        return jnp.linalg.cholesky(x, symmetrize_input=False)
    lower = jnp.linalg.cholesky(jnp.conj(x.mT), symmetrize_input=False)
    return jnp.conj(lower.mT)


def eigh(x: Array, /) -> Any:
    """Return eigenvalues and eigenvectors by the lower triangle."""
    return jnp.linalg.eigh(x, UPLO="L", symmetrize_input=False)


def eigh_upper(x: Array, /) -> Any:
    """Return eigenvalues and eigenvectors by the upper triangle."""
    return jnp.linalg.eigh(x, UPLO="U", symmetrize_input=False)


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues by the lower triangle."""
    return jnp.linalg.eigvalsh(x, UPLO="L", symmetrize_input=False)


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


def solve_triangle(x1: Array, x2: Array, /, *, lower: bool = True) -> Array:
    """Solve by one triangle of matrices."""
    batch = jnp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    solved: Array = lax.linalg.triangular_solve(
        jnp.broadcast_to(x1, (*batch, *x1.shape[-2:])),
        jnp.broadcast_to(x2, (*batch, *x2.shape[-2:])),
        left_side=True,
        lower=lower,
    )
    return solved
