"""The JAX backend of agnograd: immutable arrays, and tracers inside ``jax.jit``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from array_api_compat import is_numpy_array

from agnograd.extend import Backend, Bridge, Capabilities, hookimpl, is_basic

if TYPE_CHECKING:
    import jax

__all__ = ["JaxBackend", "backend"]


class JaxBackend(Backend):
    """JAX's arrays, through ``jax.numpy``, which is a namespace of the standard itself."""

    name = "jax"
    modules = ("jax", "jaxlib")
    extra = "jax"
    capabilities = Capabilities(immutable=True, devices=("cpu", "gpu", "tpu"))

    def namespace(self) -> ModuleType:
        """Return ``jax.numpy``."""
        import jax.numpy as jnp

        xp: ModuleType = jnp
        return xp

    def one_device(self) -> bool:
        """Return whether no platform has a second device."""
        from jax.extend.backend import backends

        count: int = sum(client.device_count() for client in backends().values())
        return count == 1

    def settings(self) -> Callable[[], str]:
        """Return what reads whether there are 64-bit numbers, which is a setting of the thread."""
        import jax

        config, widths = jax.config, ("jax_enable_x64=False", "jax_enable_x64=True")
        return lambda: widths[config.jax_enable_x64]

    def array_types(self) -> tuple[type, ...]:
        """Return the types of JAX's arrays, and of what stands for them in transformations."""
        import jax

        met: list[type] = []

        def meet(x: Any) -> Any:
            met.append(type(x))
            return x

        with jax.ensure_compile_time_eval():
            x = meet(jax.numpy.zeros(1))
            jax.make_jaxpr(meet)(x)
            jax.vmap(meet)(x)
            jax.jvp(meet, (x,), (x,))
            jax.linearize(meet, x)
        return (*dict.fromkeys(met), jax.Array)

    def dtype(self, name: str) -> Any:
        """Return a dtype without making an array, which JAX may not allow to have 64 bits."""
        named = getattr(self.namespace(), name, None)
        return None if named is None else named.dtype

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return what reads one triangle, and solves by adjoints."""
        from agnograd_jax import _linalg

        return {f"linalg.{name}": getattr(_linalg, name) for name in _linalg.__all__}

    def pullbacks(self) -> Mapping[str, Mapping[str, Callable[..., Any]]]:
        """Return the derivative of the hyperbolic tangent, in one call."""
        from agnograd_jax._tanh import product

        return {"tanh": {"x": product}}

    def accepts(self, value: object) -> bool:
        """Return whether the operand is NumPy's, which JAX's functions and operators take."""
        return is_numpy_array(value)

    def own(self, array: Any) -> jax.Array:
        """Return the array: nobody can write to it."""
        owned: jax.Array = array
        return owned

    def set(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy of ``x`` with ``value`` at ``key``."""
        jnp = self.namespace()
        value = jnp.asarray(value)
        if jnp.isdtype(value.dtype, "complex floating") and not jnp.iscomplexobj(x):
            raise TypeError(f"a value of dtype {value.dtype} does not fit {x.dtype}")
        value = value.astype(x.dtype)
        while value.ndim and value.shape[0] == 1:  # the place may have fewer axes
            value = value[0]
        if not value.ndim and str(getattr(key, "dtype", "")) == "bool":  # also in a trace
            return jnp.where(key.reshape(key.shape + (1,) * (x.ndim - key.ndim)), value, x)
        return x.at[key].set(value)

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        """Return the sum by JAX's indexed update; of a large part, in a trace, by padding it.

        XLA computes what is padded along with other work, and an update by itself: that one is for
        parts so small that it pays not to go through the whole.
        """
        import jax

        if not isinstance(values, jax.core.Tracer) or not is_basic(key):
            return into.at[key].add(values)
        here = into[key]
        if 2 * here.size < into.size:
            return into.at[key].add(values)
        values = jax.numpy.broadcast_to(values, here.shape).astype(into.dtype)
        return into + jax.linear_transpose(lambda x: x[key], into)(values)[0]

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Return the sum by JAX's indexed update."""
        # A narrow dtype may not hold the sum that makes negative indices positive.
        indices = indices.astype(self.namespace().arange(0).dtype)
        return into.at[(slice(None),) * (axis % into.ndim) + (indices,)].add(values)

    def is_abstract(self, x: Any) -> bool:
        """Return whether an array is one of a function that JAX traces."""
        import jax

        return isinstance(x, jax.core.Tracer)

    def sparse(
        self, values: Any, rows: Any, columns: Any, starts: Any, shape: tuple[int, int]
    ) -> Any:
        """Return a matrix of JAX in the format BCOO."""
        import jax.numpy as jnp
        from jax.experimental.sparse import BCOO

        places = jnp.stack([rows, columns], axis=1)
        return BCOO((values, places), shape=shape, indices_sorted=True, unique_indices=True)

    def called_back(
        self,
        function: Callable[..., Any],
        like: Any,
        *args: Any,
        vmap_method: str = "broadcast_all",
    ) -> Any:
        """Return what a function of NumPy's arrays returns when the program that is traced runs."""
        from agnograd_jax._callbacks import called_back

        return called_back(function, like, *args, vmap_method=vmap_method)

    def bridge(self) -> Bridge:
        """Return the bridge to JAX's own derivatives."""
        from agnograd_jax._bridge import JaxBridge

        return JaxBridge()

    def synchronize(self, array: Any = None) -> None:
        """Wait for the array, or for all existing arrays."""
        import jax

        alive = (each for each in jax.live_arrays() if not each.is_deleted())
        jax.block_until_ready(array if array is not None else list(alive))

    def memory(self) -> dict[str, int]:
        """Return the figures of the default device, if it gives any."""
        import jax

        return dict(jax.local_devices()[0].memory_stats() or {})

    def conformance(self) -> AbstractContextManager[Any]:
        """Return JAX's context in which there are 64-bit numbers."""
        import jax

        settings: AbstractContextManager[Any] = jax.enable_x64(True)
        return settings


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return JaxBackend()
