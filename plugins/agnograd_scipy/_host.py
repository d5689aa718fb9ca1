"""Values that SciPy decides by, on the host, and their way back.

These moves are asked for: an adaptive method needs numbers. Lazy arrays are computed by it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import agnograd as ag
from agnograd.errors import BatchingError
from agnograd.extend import device_of

__all__ = ["by_host", "from_host", "host_methods", "on_host", "to_host"]


def host_methods() -> Any:
    """Return the module of SciPy's adaptive methods, which imports SciPy."""
    return import_module("agnograd_scipy.kernels.host")


def to_host(x: Any) -> Any:
    """Return an array, a number or a Variable as NumPy's array, without a gradient."""
    try:
        with ag.no_grad():
            return import_module("numpy").asarray(ag.asarray(x, backend="numpy").detach())
    except BatchingError as error:  # in vmap the Variable may be of many members
        raise BatchingError(
            "a method of SciPy that takes steps by values takes those of one member: call it for "
            "the equations of all members at once, outside of vmap, or for one after the other"
        ) from error


def from_host(x: Any, like: Any) -> Any:
    """Return NumPy's array as one of the kind, dtype and device of another, a Variable or not."""
    raw = like.data if isinstance(like, ag.Variable) else like
    device = device_of(raw)
    moved = ag.asarray(x, backend=like, dtype=like.dtype, device=device)
    return moved if isinstance(like, ag.Variable) else moved.data


def on_host(f: Callable[..., Any], like: Any) -> Callable[..., Any]:
    """Return a function of one array as one of NumPy's arrays, which records nothing."""

    def function(x: Any) -> Any:
        with ag.no_grad():
            return to_host(f(from_host(x, like)))

    return function


def by_host(name: str, xp: Any, backend: Any, *arrays: Any) -> Any:
    """Return what a function of SciPy's gives of raw matrices, as arrays of their kind.

    What it computes is moved to the host and back: for libraries that have no such function.
    """
    kernels = import_module("agnograd_scipy.kernels.matrices")
    out = getattr(kernels, name)(*(backend.to_host(each) for each in arrays))
    device = device_of(arrays[0])
    if isinstance(out, tuple):
        return tuple(xp.asarray(each, device=device) for each in out)
    return xp.asarray(out, device=device)
