"""Medians, quantiles and percentiles; those that skip NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnograd_numpy_functions._arguments import like
from agnograd_numpy_functions._helpers import (
    axes_of,
    floating,
    inexact,
    is_bool,
    is_complex,
    is_floating,
    promoted,
    real_only,
)
from agnograd_numpy_functions._program import Array, Axis, Operand, Out, Table

__all__ = ["table"]

table = Table()

# Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50 (1996):
# the parameters alpha and beta of their continuous definitions, 4 to 9.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "lower": lambda xp, place: xp.floor(place),
    "higher": lambda xp, place: xp.ceil(place),
    "nearest": lambda xp, place: xp.round(place),
    "midpoint": lambda xp, place: 0.5 * (xp.floor(place) + xp.ceil(place)),
}


def _rows(xp: Any, a: Array, axis: Axis) -> tuple[Array, tuple[int, ...]]:
    """Return the array with the axes that are reduced as its last one, and those that are kept."""
    axes = axes_of(axis, a.ndim)
    rest = tuple(i for i in range(a.ndim) if i not in axes)
    kept = tuple(a.shape[i] for i in rest)
    moved = xp.permute_dims(a, rest + axes)
    return xp.reshape(moved, (*kept, math.prod(a.shape[i] for i in axes))), kept


def _read(xp: Any, a: Array, place: Array) -> Array:
    """Return elements of sorted rows at places between them; the last axes are those of places."""
    low = xp.floor(place)
    share = xp.astype(place - low, a.dtype)
    below = xp.astype(low, xp.int64)
    above = xp.astype(xp.ceil(place), xp.int64)
    first = xp.take_along_axis(a, below, axis=-1)
    if not is_floating(xp, a):  # by a method that takes elements as they are
        return first
    last = xp.take_along_axis(a, above, axis=-1)
    # Where there is nothing between two elements, infinite ones must not meet as inf - inf.
    apart = xp.where(below == above, 0.0, last) - xp.where(below == above, 0.0, first)
    return xp.where(below == above, first, first + apart * share)


def _places(xp: Any, q: Array, count: Any, method: str) -> Array:
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        place = count * q + (alpha + q * (1 - alpha - beta)) - 1
    elif method in _STEPS:
        place = _STEPS[method](xp, q * (count - 1))
    else:
        names = ", ".join((*_CONTINUOUS, *_STEPS))
        raise ValueError(f"method {method!r} is none of Variables': {names}")
    if isinstance(count, int):
        return xp.clip(place, 0.0, count - 1)
    return xp.maximum(xp.minimum(place, count - 1), xp.zeros_like(place))


def _promoted(xp: Any, a: Array, q: Any, method: str) -> tuple[Array, Array]:
    """Return the array, and places from 0 to 1 in it, in the precisions in which NumPy has them."""
    if method not in _STEPS or method == "midpoint":
        if is_bool(xp, a):
            raise TypeError("quantiles between booleans: convert the array by astype")
        a = floating(xp, a)
        a = xp.astype(a, promoted(xp, a, q), copy=False)  # a Python number takes the array's dtype
    real = xp.real(a) if is_complex(xp, a) else floating(xp, a)
    return a, like(real, q)


def _quantile(
    xp: Any,
    a: Array,
    q: Any,
    axis: Axis,
    method: str,
    keepdims: bool,
    skip: bool,
    of_nothing: bool,
) -> Array:
    a, q = _promoted(xp, a, q, method)
    if not xp.all(xp.logical_and(q >= 0, q <= 1)):
        raise ValueError("quantiles must be in the range [0, 1], percentiles in [0, 100]")
    rows, kept = _rows(xp, a, axis)
    q = xp.astype(q, xp.result_type(q.dtype, xp.float32), copy=False)  # a half counts to 2048
    flat = xp.reshape(q, (q.size,))
    if not rows.shape[-1] and not of_nothing:
        raise IndexError("there are no quantiles of no elements")
    if not rows.shape[-1]:
        rows = xp.full((*kept, 1), math.nan, dtype=floating(xp, a).dtype, device=a.device)
    nan = xp.isnan(rows) if is_floating(xp, rows) else xp.zeros_like(rows, dtype=xp.bool)
    if skip:
        count = xp.sum(xp.astype(xp.logical_not(nan), q.dtype), axis=-1, keepdims=True)
        ordered = xp.sort(xp.where(nan, math.inf, rows) if is_floating(xp, a) else rows, axis=-1)
        missing = count == 0
    else:
        count, ordered = rows.shape[-1], xp.sort(rows, axis=-1)
        missing = xp.any(nan, axis=-1, keepdims=True)
    place = xp.broadcast_to(_places(xp, flat, count, method), (*kept, flat.shape[0]))
    found = _read(xp, ordered, place)
    if is_floating(xp, found):
        found = xp.where(missing, math.nan, found)
    found = xp.reshape(xp.moveaxis(found, -1, 0), (*q.shape, *kept))
    if keepdims:
        axes = axes_of(axis, a.ndim)
        shape = tuple(1 if i in axes else length for i, length in enumerate(a.shape))
        found = xp.reshape(found, (*q.shape, *shape))
    return found


@table.each("quantile", "percentile", "nanquantile", "nanpercentile")
def _between(
    name: str,
    xp: Any,
    a: Array,
    q: Operand,
    axis: Axis = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    real_only(xp, name, a)
    skip, whole = name.startswith("nan"), 100.0 if name.endswith("percentile") else 1.0
    share = q / whole if not hasattr(q, "dtype") else inexact(xp, q)[0] / whole
    return _quantile(xp, a, share, axis, method, keepdims, skip, of_nothing=skip)


@table.each("median", "nanmedian")
def _median(
    name: str,
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    skip = name == "nanmedian"
    return _quantile(xp, floating(xp, a), 0.5, axis, "linear", keepdims, skip, of_nothing=True)
