"""JAX's functions, ``jax.scipy.special``; for others JAX calls SciPy on the host."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as library
import numpy as np

from agnograd.extend import domain_named
from agnograd_special._names import JAX
from agnograd_special._set import FORMULAS
from agnograd_special.kernels.numpy import compute

__all__: list[str] = []


def __getattr__(name: str) -> Callable[..., Any]:
    if name in JAX:
        return partial(_real, name)
    if name.startswith("_") or name in FORMULAS:
        raise AttributeError(name)
    return partial(_called_back, name)


def zeta(x: Any, q: Any = None, /) -> Any:
    """Compute Hurwitz's zeta function, and Riemann's, which JAX does not default to."""
    return library.zeta(x, 1.0 if q is None else q)


def polygamma(n: Any, x: Any, /) -> Any:
    """Compute the derivatives of digamma; JAX's own takes only integers for ``n``."""
    if jnp.issubdtype(jnp.result_type(n), jnp.integer):
        return library.polygamma(n, x)
    return _called_back("polygamma", n, x)


def _real(name: str, *args: Any) -> Any:
    """Compute a function of real numbers by JAX; of complex ones it has none."""
    if any(jnp.iscomplexobj(arg) for arg in args):
        return NotImplemented if name in FORMULAS else _called_back(name, *args)
    function = getattr(library, JAX[name])
    dtype = jnp.result_type(*args)
    if dtype.itemsize != 2 or not jnp.issubdtype(dtype, jnp.floating):
        return function(*args)
    # Some take no half precision.
    return function(*(jnp.asarray(arg, jnp.float32) for arg in args)).astype(dtype)


def _called_back(name: str, *args: Any, **options: Any) -> Any:
    """Compute by SciPy: at once, or inside ``jax.jit`` by a callback when the program runs."""
    if not any(isinstance(arg, jax.core.Tracer) for arg in args):
        return jax.tree.map(jnp.asarray, _on_host(name, options, *args))
    shape = jnp.broadcast_shapes(*(jnp.shape(arg) for arg in args))
    one = [np.ones((), arg.dtype) if hasattr(arg, "dtype") else arg for arg in args]
    like = jax.tree.map(
        lambda out: jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(out.dtype)),
        _on_host(name, options, *one),
    )
    # An axis of vmap comes before all others, and must be the same one in all arrays. It would be
    # given to numbers, too.
    arrays = [
        jnp.reshape(arg, (*[1] * (len(shape) - arg.ndim), *arg.shape))
        for arg in args
        if hasattr(arg, "dtype")
    ]

    def function(*given: Any) -> Any:
        left = iter(given)
        filled = [next(left) if hasattr(arg, "dtype") else arg for arg in one]
        return _on_host(name, options, *filled)

    backend: Any = domain_named("jax").backend
    return backend.called_back(function, like, *arrays)


def _on_host(name: str, options: dict[str, Any], *args: Any) -> Any:
    host = [np.asarray(arg) if hasattr(arg, "dtype") else arg for arg in args]
    return compute(name, *host, **options)
