"""JAX's functions of matrices; for others JAX calls SciPy on the host."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from agnograd.extend import domain_named
from agnograd_scipy.kernels import matrices

__all__ = ["expm", "logm", "lu_parts", "sqrtm", "sylvester"]


def expm(x: Any, /) -> Any:
    """Return the exponential."""
    return jax.scipy.linalg.expm(x) if x.size else x


def lu_parts(x: Any, /) -> Any:
    """Return indices of rows, and both factors."""
    size = min(x.shape[-2:])
    if not x.size:
        rows, columns = x.shape[-2:]
        places = jnp.broadcast_to(jnp.arange(rows), x.shape[:-1])
        lower = jnp.zeros((*x.shape[:-2], rows, size), x.dtype)
        return places, lower, jnp.zeros((*x.shape[:-2], size, columns), x.dtype)
    both, _, order = jax.lax.linalg.lu(x)
    eye = jnp.eye(x.shape[-2], size, dtype=x.dtype)
    lower = jnp.tril(both[..., :size], k=-1) + eye
    return jnp.argsort(order, axis=-1), lower, jnp.triu(both[..., :size, :])


def _called_back(function: Callable[..., Any], *args: Any) -> Any:
    """Compute by SciPy: at once, or inside ``jax.jit`` by a callback when the program runs.

    The result has the shape of the last matrices, for all stacks.
    """
    dtype = jnp.result_type(*args)

    def on_host(*args: Any) -> Any:
        return function(*(np.asarray(arg) for arg in args)).astype(dtype, copy=False)

    if not any(isinstance(arg, jax.core.Tracer) for arg in args):
        return jnp.asarray(on_host(*args))
    batch = jnp.broadcast_shapes(*(arg.shape[:-2] for arg in args))
    like = jax.ShapeDtypeStruct((*batch, *args[-1].shape[-2:]), dtype)
    rank = max(arg.ndim for arg in args)
    # An axis of vmap comes before all others, and must be the same one in all arrays.
    args = tuple(jnp.reshape(arg, (*[1] * (rank - arg.ndim), *arg.shape)) for arg in args)
    backend: Any = domain_named("jax").backend
    return backend.called_back(on_host, like, *args)


logm = partial(_called_back, matrices.logm)
sqrtm = partial(_called_back, matrices.sqrtm)
sylvester = partial(_called_back, matrices.sylvester)
