"""Derivatives over NumPy that take fewer calls, or make fewer arrays, than the rules.

Each knows the usual case, and leaves all else to the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from inspect import unwrap
from math import prod
from typing import Any

import array_api_compat  # noqa: F401 - einx takes arrays of the standard once it is imported
import numpy as np

from agnograd.extend import inline, keep_axes
from agnograd_numpy._kernels import filled

__all__ = ["PULLBACKS", "cosh_squared"]

_ndarray, _float16 = np.ndarray, np.dtype(np.float16)
_float32, _float64 = np.dtype(np.float32), np.dtype(np.float64)
_cosh, _divide, _square = np.cosh, np.divide, np.square
# NumPy's own, which looks for no other library's arrays: there are none where it is called.
_vdot = unwrap(np.vdot)
_add, _broadcast_to, _count = np.add, np.broadcast_to, np.count_nonzero

# Between what norms lie of whose squares none that counts under- or overflows.
_NORMS = {_float32: (1e-15, 1e18), _float64: (1e-140, 1e140)}

# What NumPy computes in it raises an error where a number overflows, whatever errstate the caller
# has. To enter it takes less time than to see beforehand that none will.
_TRAPPING = Context()
_TRAPPING.run(np.seterr, over="raise")


@inline
def _tanh(g: Any, x: Any) -> Any:
    """Compute ``g / cosh(x)**2`` in one array."""
    product = cosh_squared(x)
    if product is None:
        return NotImplemented
    return _divide(g, product, product)


def cosh_squared(x: Any, into: Any = None) -> Any:
    """Return ``cosh(x)**2``, or None where it overflows: there derivatives are hardly normal.

    It is written ``into`` an array, if one is given. It is None, too, for scalars, and for dtypes
    other than float32 and float64.
    """
    known = type(x) is _ndarray and (x.dtype is _float64 or x.dtype is _float32)
    if not known or not x.ndim:
        return None
    run = _TRAPPING.copy().run  # no two threads can be in one context at a time
    try:
        product = run(_cosh, x, into)
        return run(_square, product, product)
    except FloatingPointError:
        return None


@inline
def _matmul_x1(g: Any, x2: Any, x1_dtype: Any) -> Any:
    """Multiply two matrices by their method, which has less to prepare than ``matmul``."""
    # Then x1 is a matrix, too, and nothing is complex.
    real = x1_dtype is _float64 or x1_dtype is _float32
    if real and g.dtype is x1_dtype and g.ndim == 2 and x2.ndim == 2:
        return g.dot(x2.T)
    return NotImplemented


@inline
def _matmul_x2(g: Any, x1: Any, x2_dtype: Any) -> Any:
    real = x2_dtype is _float64 or x2_dtype is _float32
    if real and g.dtype is x2_dtype and g.ndim == 2 and x1.ndim == 2:
        return x1.T.dot(g)
    return NotImplemented


@inline
def _sum(g: Any, x_shape: tuple[int, ...], x_dtype: Any) -> Any:
    """Spread the cotangent of a sum over all axes, or of one that kept them."""
    if g.dtype is not x_dtype:
        return NotImplemented
    if not g.shape:
        return filled(+g, x_dtype, x_shape, prod(x_shape))  # a scalar also where g is an array
    return _broadcast_to(g, x_shape) if g.ndim == len(x_shape) else NotImplemented


@inline
def _mean(g: Any, x_shape: tuple[int, ...], x_dtype: Any) -> Any:
    if g.dtype is not x_dtype or x_dtype is _float16:  # no half is as large as a size
        return NotImplemented
    size = prod(x_shape)
    if not g.shape:
        return filled(g / (size or 1), x_dtype, x_shape, size)
    if g.ndim == len(x_shape) and g.size:
        return _broadcast_to(g / (size // g.size or 1), x_shape)
    return NotImplemented


# -- extremes: products with booleans --------------------------------------------------------------


def _larger(g: Any, one: Any, other: Any) -> Any:
    """Give the cotangent to the first of two where it is the larger one, half of it at a tie."""
    more = one > other
    if type(more) is not _ndarray:
        return NotImplemented
    at_least = one >= other
    if _count(more) == _count(at_least):
        return g * more
    return g * (0.5 * _add(more, at_least, dtype=g.dtype))


def _maximum_x1(g: Any, x1: Any, x2: Any) -> Any:
    return _larger(g, x1, x2)


def _maximum_x2(g: Any, x1: Any, x2: Any) -> Any:
    return _larger(g, x2, x1)


def _extreme(g: Any, x: Any, out: Any, x_shape: tuple[int, ...], axis: Any) -> Any:
    """Give the cotangent to the one element that equals the extreme, or shares to several."""
    if out.ndim != x.ndim:
        g, out = (keep_axes(each, x_shape, axis, np) for each in (g, out))
    equal, squares = x == out, _vdot(out, out)
    # An extreme that is NaN equals none, and leaves room for a tie.
    if type(equal) is not _ndarray or squares != squares:
        return NotImplemented
    if _count(equal) != out.size:
        if g.dtype is _float16:  # no half is as large as a size
            return NotImplemented
        g = _divide(g, _add.reduce(equal, axis=axis, keepdims=True), dtype=g.dtype)
    made = equal.astype(g.dtype)
    made *= g  # NumPy would convert truth values piece by piece, in memory of its own
    return made


def _vector_norm(g: Any, x: Any, out: Any, x_shape: tuple[int, ...], axis: Any, ord: Any) -> Any:
    """Divide by the norm, unless squares may under- or overflow in it: one pass for six."""
    limits = _NORMS.get(out.dtype)
    if ord != 2 or limits is None or not out.size:
        return NotImplemented
    if not (limits[0] < out.min() and out.max() < limits[1]):
        return NotImplemented
    return keep_axes(g / out, x_shape, axis, np) * x


_MATMUL = {"x1": _matmul_x1, "x2": _matmul_x2}
PULLBACKS: dict[str, dict[str, Callable[..., Any]]] = {
    "linalg.matmul": _MATMUL,
    "linalg.vector_norm": {"x": _vector_norm},
    "matmul": _MATMUL,
    "max": {"x": _extreme},
    "maximum": {"x1": _maximum_x1, "x2": _maximum_x2},
    "mean": {"x": _mean},
    "min": {"x": _extreme},
    "minimum": {"x1": _maximum_x2, "x2": _maximum_x1},
    "sum": {"x": _sum},
    "tanh": {"x": _tanh},
}
