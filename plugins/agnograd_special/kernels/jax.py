"""JAX's functions, ``jax.scipy.special``; for others JAX calls SciPy on the host."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as library
import numpy as np

from agnograd_special._set import FORMULAS
from agnograd_special.kernels.numpy import compute

__all__: list[str] = []

# Those of JAX's functions that are as exact as SciPy's, for all arguments that SciPy's take.
OWN = frozenset(
    {
        *("betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "exp1", "expi"),
        *("expit", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "i0", "i0e", "i1"),
        *("i1e", "kl_div", "log_ndtr", "logit", "ndtr", "ndtri", "polygamma", "rel_entr"),
        *("psi", "xlog1py", "xlogy"),
    }
)
NAMES = {"psi": "digamma"}  # of those that JAX calls otherwise


def __getattr__(name: str) -> Callable[..., Any]:
    if name in OWN:
        return partial(_real, name)
    if name.startswith("_") or name in FORMULAS:
        raise AttributeError(name)
    return partial(_called_back, name)


def zeta(x: Any, q: Any = None, /) -> Any:
    """Compute Hurwitz's zeta function, and Riemann's, which JAX does not default to."""
    return library.zeta(x, 1.0 if q is None else q)


def _real(name: str, *args: Any) -> Any:
    """Compute a function of real numbers by JAX; of complex ones it has none."""
    if any(jnp.iscomplexobj(arg) for arg in args):
        return NotImplemented if name in FORMULAS else _called_back(name, *args)
    return getattr(library, NAMES.get(name, name))(*args)


def _called_back(name: str, *args: Any, **options: Any) -> Any:
    """Compute by SciPy: at once, or inside of ``jax.jit`` by a callback when the program runs."""
    function = partial(_on_host, name, options)
    if not any(isinstance(arg, jax.core.Tracer) for arg in args):
        out = function(*args)
        return tuple(map(jnp.asarray, out)) if isinstance(out, tuple) else jnp.asarray(out)
    shape = jnp.broadcast_shapes(*(jnp.shape(arg) for arg in args))
    tiny = [arg if isinstance(arg, int | float) else np.ones((), arg.dtype) for arg in args]
    like = jax.tree.map(
        lambda each: jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(each.dtype)),
        function(*tiny),
    )
    return jax.pure_callback(function, like, *args, vmap_method="broadcast_all")


def _on_host(name: str, options: dict[str, Any], *args: Any) -> Any:
    host = [arg if isinstance(arg, int | float | complex) else np.asarray(arg) for arg in args]
    return compute(name, *host, **options)
