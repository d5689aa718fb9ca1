"""Derivatives that take one layer of tasks where a rule takes several.

Each knows the usual case, and leaves all else to the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnograd_dask._elements import elementwise
from agnograd_dask._linalg import tensordot

__all__ = ["PULLBACKS"]


def _tanh_of_chunk(g: Any, x: Any) -> Any:
    """Compute ``g / cosh(x)**2`` by 4 e / (1 + e)**2, where e = exp(-2 |x|)."""
    power = np.exp(-2 * np.abs(x))
    total = 1 + power
    return g * (4 * power / (total * total))


_tanh_of_arrays = elementwise(_tanh_of_chunk, lambda g, x: NotImplemented)


def _tanh(g: Any, x: Any) -> Any:
    usual = g.shape == x.shape and g.dtype == x.dtype and x.dtype.kind == "f"
    return _tanh_of_arrays(g, x) if usual else NotImplemented


def _matmul_x1(g: Any, x1_shape: tuple[int, ...], x2: Any, x1_dtype: Any) -> Any:
    """Contract the columns of ``x2``, rather than the rows of its transpose."""
    if not _is_usual(g, x1_dtype, len(x1_shape), x2):
        return NotImplemented
    if g.ndim == len(x1_shape) == 2:
        return tensordot(g, x2, axes=((1,), (1,)))
    return tensordot(g, x2, axes=0) if g.ndim == 1 == x2.ndim else NotImplemented


def _matmul_x2(g: Any, x1: Any, x2_shape: tuple[int, ...], x2_dtype: Any) -> Any:
    if not _is_usual(g, x2_dtype, len(x2_shape), x1) or x1.ndim != 2:
        return NotImplemented
    return tensordot(x1, g, axes=((0,), (0,)))


def _is_usual(g: Any, dtype: Any, rank: int, other: Any) -> bool:
    """Return whether vectors and matrices of real numbers of one dtype meet."""
    same = g.dtype == dtype == other.dtype and dtype.kind == "f"
    return same and 1 <= rank <= 2 and 1 <= other.ndim <= 2


PULLBACKS: dict[str, dict[str, Callable[..., Any]]] = {
    "tanh": {"x": _tanh},
    "matmul": {"x1": _matmul_x1, "x2": _matmul_x2},
    "linalg.matmul": {"x1": _matmul_x1, "x2": _matmul_x2},
}
