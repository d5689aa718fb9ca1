"""Draws of JAX's arrays: by NumPy on the host, and inside ``jax.jit`` by a program of XLA's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agnograd.extend import Backend, domain_named
from agnograd_random import discrete, keys, standard, vectors
from agnograd_random._draws import DRAWS
from agnograd_random._exact import Arithmetic
from agnograd_random.kernels import numpy as host

__all__ = [
    "exp",
    "expit",
    "factor",
    "fold_in",
    "lower_times",
    "order",
    "quotient",
    "scaled",
    "split",
]


class Apart(Arithmetic):
    """Arithmetic of which XLA fuses no product with a sum.

    A fused sum would be rounded once. The maximum of a product and the lowest number is that
    product, but compilers do not know it.
    """

    def product(self, x1: Any, x2: Any) -> Any:
        """Return a product that is rounded before anything is added to it."""
        return jnp.maximum(x1 * x2, float(jnp.finfo(self.dtype).min))

    def quotient(self, x1: Any, x2: Any) -> Any:
        """Return a quotient by what XLA does not take for one number."""
        return _divided(x1, x2)

    def root(self, x: Any) -> Any:
        """Return a square root: XLA has an inexact one for quotients by roots."""
        return jnp.maximum(jnp.sqrt(x), float(jnp.finfo(self.dtype).min))

    def parts(self, x: Any) -> tuple[Any, Any]:
        """Return JAX's ``frexp``."""
        mantissa, exponent = jnp.frexp(x)
        return mantissa, exponent.astype(x.dtype)

    def accepted(
        self, propose: Callable[..., Any], words: Any, start: Any, *given: Any, rounds: int
    ) -> Any:
        """Return the first proposals that are accepted, by a loop of XLA's."""

        def unfinished(state: Any) -> Any:
            count, _, done = state
            return jnp.logical_and(count < rounds, jnp.logical_not(jnp.all(done)))

        def go_on(state: Any) -> Any:
            count, found, done = state
            accept, value = propose(words, count, *given)
            found = jnp.where(jnp.logical_and(accept, jnp.logical_not(done)), value, found)
            return count + 1, found, jnp.logical_or(done, accept)

        state = jnp.int32(0), start, jnp.zeros(start.shape, bool)
        return jax.lax.while_loop(unfinished, go_on, state)[1]


def _opaque(x: Any) -> Any:
    """Return x as something of which XLA knows nothing.

    It divides by a number that is broadcast by multiplying with the inverse: two roundings.
    """
    return jax.lax.optimization_barrier(x) if _is_traced(x) else x


def _is_traced(*arrays: Any) -> bool:
    return any(isinstance(each, jax.core.Tracer) for each in arrays)


def _on_host(*arrays: Any, device: Any = None) -> bool:
    """Return whether arrays have values, and the device is the host."""
    if _is_traced(*arrays):
        return False
    devices = [*arrays] if device is None else [device]
    found = {
        each.platform
        for one in devices
        for each in (one.devices() if hasattr(one, "devices") else _devices_of(one))
    }
    return found <= {"cpu"} if found else jax.default_backend() == "cpu"


def _devices_of(device: Any) -> Any:
    return [device] if hasattr(device, "platform") else getattr(device, "device_set", ())


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in DRAWS:
        raise AttributeError(name)

    def kernel(
        xp: Any, backend: Backend, key: Any, *args: Any, dtype: Any = None, device: Any = None
    ) -> Any:
        *given, shape = (*args, ()) if len(args) == DRAWS[name] else args
        arrays = [each for each in (key, *given) if isinstance(each, jax.Array)]
        if _on_host(*arrays, device=device):
            like = arrays[0].sharding if device is None and arrays else device
            found = host.drawn(name, key, given, shape, standard.precision(name, dtype, given, xp))
            return jnp.asarray(found) if like is None else jax.device_put(found, like)
        # Constants of a program of NumPy's arrays that JAX compiles are NumPy's.
        key = jnp.asarray(key) if isinstance(key, np.ndarray) else key
        given = [_opaque(jnp.asarray(each)) for each in given]
        if _is_traced(*arrays) or not isinstance(key, jax.Array):
            return standard.draw(name, Apart, xp, backend, key, given, shape, dtype, device)
        program = _program(name, xp, backend, standard.shape_of(shape), dtype, device)
        return program(key, *given)

    return kernel


@cache
def _program(name: str, xp: Any, backend: Backend, shape: Any, dtype: Any, device: Any) -> Any:
    def program(key: Any, *given: Any) -> Any:
        given = tuple(map(_opaque, given))
        return standard.draw(name, Apart, xp, backend, key, given, shape, dtype, device)

    return jax.jit(program)


def _by_host(function: Callable[..., Any], *args: Any) -> Any:
    """Compute a function of the standard's by NumPy, at once; NotImplemented inside a trace."""
    arrays = [each for each in args if isinstance(each, jax.Array)]
    if not arrays or not _on_host(*arrays):
        return NotImplemented
    given = [np.asarray(each) if isinstance(each, jax.Array) else each for each in args]
    return jax.device_put(function(np, domain_named("numpy").backend, *given), arrays[0].sharding)


def split(key: Any, num: Any = 2) -> Any:
    """Return new keys."""
    return _by_host(keys.split, key, num)


def fold_in(key: Any, data: Any) -> Any:
    """Return new keys for numbers."""
    return _by_host(keys.fold_in, key, data)


def order(key: Any, count: int) -> Any:
    """Return a random order of numbers."""
    found = _by_host(_order, key, count)
    return found if found is NotImplemented else found.astype(jnp.asarray(0).dtype)


def _order(xp: Any, backend: Backend, key: Any, count: int) -> Any:
    found = host.order(key, count)
    return discrete.order(xp, backend, key, count) if found is NotImplemented else found


def _elementwise(name: str, xp: Any, x: Any) -> Any:
    if not isinstance(x, jax.Array) or x.dtype not in (jnp.float32, jnp.float64):
        return NotImplemented
    if _on_host(x):
        return jax.device_put(getattr(host, name)(np.asarray(x)), x.sharding)
    return getattr(Apart(xp, 8 * x.dtype.itemsize), name)(_opaque(x))


exp = partial(_elementwise, "exp")
expit = partial(_elementwise, "expit")


def scaled(x: Any, loc: Any, scale: Any) -> Any:
    """Return ``loc + scale * x``, whose product is rounded by itself also inside ``jax.jit``."""
    if not _is_traced(x, loc, scale):
        return loc + scale * x
    product = scale * x
    lowest = float(jnp.finfo(product.dtype).min)
    # Of an infinite product nothing changes.
    return loc + jnp.where(product < lowest, product, jnp.maximum(product, lowest))


def quotient(x1: Any, x2: Any) -> Any:
    """Return ``x1 / x2``, also inside ``jax.jit``."""
    if not _is_traced(x1, x2):
        return _quotient(x1, x2)
    return _divided(x1, x2)


def _divided(x1: Any, x2: Any) -> Any:
    dtype = jnp.result_type(x1, x2)
    x1, x2 = jnp.broadcast_arrays(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))
    return _opaque(x1) / _opaque(x2)


_quotient = jax.jit(_divided)


def factor(xp: Any, backend: Backend, x: Any) -> Any:
    """Compute ``vectors.factor``."""
    found = _by_host(vectors.factor, x)
    return vectors.factor(xp, backend, x, Apart) if found is NotImplemented else found


def lower_times(xp: Any, backend: Backend, x1: Any, x2: Any) -> Any:
    """Compute ``vectors.lower_times``."""
    found = _by_host(vectors.lower_times, x1, x2)
    return vectors.lower_times(xp, backend, x1, x2, Apart) if found is NotImplemented else found
