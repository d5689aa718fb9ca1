"""Calls of functions on the host, out of traces, of arrays of 64 bits in any thread.

``jax.enable_x64`` as a context manager holds for one thread, and JAX runs the callbacks of longer
programs in threads of its own. There it would narrow arguments of 64 bits, and refuse such results.
So these arrays go back and forth as the words of 32 bits that they consist of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["called_back"]

_WORD = np.dtype("uint32")


def called_back(function: Callable[..., Any], like: Any, *args: Any, vmap_method: str) -> Any:
    """Call a function of NumPy's arrays when the program runs, by ``jax.pure_callback``.

    Its results are cast to the dtypes in ``like``, a pytree of their shapes and dtypes.
    """
    facts, structure = jax.tree.flatten(like)
    dtypes = [np.dtype(x.dtype) for x in args]

    def on_host(*given: Any) -> list[Any]:
        arrays = [_of_words(np.asarray(x), d) for x, d in zip(given, dtypes, strict=True)]
        results = jax.tree.leaves(function(*arrays))
        return [
            _words(np.asarray(out, fact.dtype)) for out, fact in zip(results, facts, strict=True)
        ]

    words = [
        jax.ShapeDtypeStruct((*x.shape, *_axes(x.dtype)), _WORD if _axes(x.dtype) else x.dtype)
        for x in facts
    ]
    found = jax.pure_callback(on_host, words, *map(_traced_words, args), vmap_method=vmap_method)
    arrays = [_traced_array(x, fact.dtype) for x, fact in zip(found, facts, strict=True)]
    return jax.tree.unflatten(structure, arrays)


def _axes(dtype: Any) -> tuple[int, ...]:
    """Return the axes that words have besides those of an array; none where they are not needed."""
    dtype = np.dtype(dtype)
    return {8: (2,), 16: (2, 2)}.get(dtype.itemsize, ()) if dtype != np.complex64 else ()


def _words(x: Any) -> Any:
    axes = _axes(x.dtype)
    return np.ascontiguousarray(x).reshape(-1).view(_WORD).reshape(*x.shape, *axes) if axes else x


def _of_words(x: Any, dtype: Any) -> Any:
    axes = _axes(dtype)
    if not axes:
        return x
    return np.ascontiguousarray(x).reshape(-1).view(dtype).reshape(x.shape[: -len(axes)])


def _traced_words(x: Any) -> Any:
    if not _axes(x.dtype):
        return x
    if jnp.iscomplexobj(x):
        x = jnp.stack([x.real, x.imag], axis=-1)
    return jax.lax.bitcast_convert_type(x, _WORD)


def _traced_array(x: Any, dtype: Any) -> Any:
    if not _axes(dtype):
        return x
    if jnp.issubdtype(dtype, jnp.complexfloating):
        parts = jax.lax.bitcast_convert_type(x, jnp.float64)
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    return jax.lax.bitcast_convert_type(x, dtype)
