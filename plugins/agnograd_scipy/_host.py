"""Values that SciPy decides by, on the host, and their way back.

These moves are asked for: an adaptive method needs numbers. Lazy arrays are computed by it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import array_api_compat

import agnograd as ag

__all__ = ["from_host", "host_methods", "on_host", "to_host"]


def host_methods() -> Any:
    """Return the module of SciPy's adaptive methods, which imports SciPy."""
    return import_module("agnograd_scipy.kernels.host")


def to_host(x: Any) -> Any:
    """Return an array, a number or a Variable as NumPy's array, without a gradient."""
    with ag.no_grad():
        return ag.asarray(x, backend="numpy").data


def from_host(x: Any, like: Any) -> Any:
    """Return NumPy's array as one of the kind, dtype and device of another, a Variable or not."""
    raw = like.data if isinstance(like, ag.Variable) else like
    device = array_api_compat.device(raw)
    moved = ag.asarray(x, backend=like, dtype=like.dtype, device=device)
    return moved if isinstance(like, ag.Variable) else moved.data


def on_host(f: Callable[..., Any], like: Any) -> Callable[..., Any]:
    """Return a function of one array as one of NumPy's arrays, which records nothing."""

    def function(x: Any) -> Any:
        with ag.no_grad():
            return to_host(f(from_host(x, like)))

    return function
