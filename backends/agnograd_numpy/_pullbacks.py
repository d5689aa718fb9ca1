"""Derivatives over NumPy that take fewer calls, or make fewer arrays, than the rules.

Each knows the usual case, and leaves all else to the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from agnograd.extend import inline
from agnograd_numpy._kernels import filled

__all__ = ["PULLBACKS"]

_ndarray, _float32, _float64 = np.ndarray, np.dtype(np.float32), np.dtype(np.float64)
_subtract, _multiply = np.subtract, np.multiply

# Arrays, since NumPy makes one of a Python scalar each time.
_ONE32, _ONE64 = np.ones((), _float32), np.ones((), _float64)


@inline
def _tanh(g: Any, out: Any) -> Any:
    """Compute ``g * (1 - out * out)`` in one array."""
    if type(out) is not _ndarray or (out.dtype is not _float64 and out.dtype is not _float32):
        return NotImplemented
    product = out * out
    _subtract(_ONE64 if out.dtype is _float64 else _ONE32, product, product)
    _multiply(g, product, product)
    return product


@inline
def _matmul_x1(g: Any, x2: Any, x1_dtype: Any) -> Any:
    """Multiply two matrices by their method, which has less to prepare than ``matmul``."""
    # Then x1 is a matrix, too, and nothing is complex.
    if g.ndim == 2 == x2.ndim and g.dtype is _float64 is x1_dtype:
        return g.dot(x2.T)
    return NotImplemented


@inline
def _matmul_x2(g: Any, x1: Any, x2_dtype: Any) -> Any:
    if g.ndim == 2 == x1.ndim and g.dtype is _float64 is x2_dtype:
        return x1.T.dot(g)
    return NotImplemented


@inline
def _sum(g: Any, x_shape: tuple[int, ...], x_dtype: Any) -> Any:
    """Spread the cotangent of a sum over all axes."""
    if g.shape or g.dtype is not x_dtype:
        return NotImplemented
    return filled(+g, x_dtype, x_shape, prod(x_shape))  # a scalar also where g is an array


@inline
def _mean(g: Any, x_shape: tuple[int, ...], x_dtype: Any) -> Any:
    if g.shape or g.dtype is not x_dtype:
        return NotImplemented
    size = prod(x_shape)
    return filled(g / (size or 1), x_dtype, x_shape, size)


_MATMUL = {"x1": _matmul_x1, "x2": _matmul_x2}
PULLBACKS: dict[str, dict[str, Callable[..., Any]]] = {
    "linalg.matmul": _MATMUL,
    "matmul": _MATMUL,
    "mean": {"x": _mean},
    "sum": {"x": _sum},
    "tanh": {"x": _tanh},
}
