"""Sums, products, extremes, and running ones; those that skip NaN."""

from __future__ import annotations

import math
from typing import Any

from agnograd_numpy_functions._arguments import like
from agnograd_numpy_functions._helpers import dtype_named, flat, is_bool, is_floating, mask_of
from agnograd_numpy_functions._program import Array, Axis, DType, Operand, Out, Table

__all__ = ["table"]

table = Table()

# What those that skip NaN read in its place: it changes nothing.
_NEUTRAL = {
    **dict.fromkeys(("sum", "cumsum"), 0),
    **dict.fromkeys(("prod", "cumprod"), 1),
    **dict.fromkeys(("max", "argmax"), -math.inf),
    **dict.fromkeys(("min", "argmin"), math.inf),
}


def _masked(xp: Any, a: Array, where: Any, neutral: Any) -> Array:
    """Return the array with what is left out replaced by what changes nothing."""
    return a if where is True else xp.where(mask_of(xp, where, a.shape), a, neutral)


def _counted(xp: Any, a: Array) -> Array:
    """Return booleans as numbers that are added up."""
    return xp.astype(a, dtype_named(xp, "int64")) if is_bool(xp, a) else a


def _without_nan(name: str, xp: Any, a: Array) -> tuple[str, Array]:
    """Return a function's name, without nan, and the array, without NaN if the name had it."""
    short = name.removeprefix("nan")
    if short == name or not is_floating(xp, a):
        return short, a
    return short, xp.where(xp.isnan(a), _NEUTRAL[short], a)


@table.each("sum", "nansum", "prod", "nanprod")
def _total(
    name: str,
    xp: Any,
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    name, a = _without_nan(name, xp, a)
    a = _masked(xp, _counted(xp, a), where, _NEUTRAL[name])
    total = getattr(xp, name)(a, axis=axis, dtype=dtype, keepdims=keepdims)
    if initial is None:
        return total
    return total + like(total, initial) if name == "sum" else total * like(total, initial)


@table.each("max", "amax", "nanmax", "min", "amin", "nanmin")
def _extreme(
    name: str,
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    if where is not True:
        if initial is None:
            raise ValueError(f"{name} with where= needs initial=, the value where nothing is")
        a = xp.where(mask_of(xp, where, a.shape), a, like(a, initial))
    short, numbers = _without_nan(name.removeprefix("a"), xp, a)
    if initial is not None and 0 in a.shape:
        shape = xp.sum(a, axis=axis, keepdims=keepdims).shape
        return xp.broadcast_to(like(a, initial), shape)
    found = getattr(xp, short)(numbers, axis=axis, keepdims=keepdims)
    if initial is not None:
        return (xp.maximum if short == "max" else xp.minimum)(found, like(a, initial))
    if numbers is a:
        return found
    return xp.where(xp.all(xp.isnan(a), axis=axis, keepdims=keepdims), math.nan, found)


@table.add("ptp")
def _ptp(xp: Any, a: Array, axis: Axis = None, out: Out = None, keepdims: bool = False) -> Array:
    return xp.max(a, axis=axis, keepdims=keepdims) - xp.min(a, axis=axis, keepdims=keepdims)


@table.each("all", "any")
def _logical(
    name: str,
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Array:
    a = _masked(xp, a if is_bool(xp, a) else a != 0, where, xp.asarray(name == "all"))
    return getattr(xp, name)(a, axis=axis, keepdims=keepdims)


@table.add("count_nonzero")
def _count_nonzero(xp: Any, a: Array, axis: Axis = None, *, keepdims: bool = False) -> Array:
    return xp.count_nonzero(a, axis=axis, keepdims=keepdims)


def _running(xp: Any, name: str, a: Array, axis: int | None, **options: Any) -> Array:
    if axis is None:
        a, axis = flat(xp, a), 0
    return getattr(xp, name)(_counted(xp, a), axis=axis, **options)


@table.each("cumsum", "nancumsum", "cumprod", "nancumprod")
def _cumulated(
    name: str,
    xp: Any,
    a: Array,
    axis: int | None = None,
    dtype: DType | None = None,
    out: Out = None,
) -> Array:
    name, a = _without_nan(name, xp, a)
    return _running(xp, name.replace("cum", "cumulative_"), a, axis, dtype=dtype)


@table.each("cumulative_sum", "cumulative_prod")
def _cumulative(
    name: str,
    xp: Any,
    x: Array,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    out: Out = None,
    include_initial: bool = False,
) -> Array:
    if axis is None and x.ndim > 1:
        raise ValueError(f"{name} needs axis= for an array of {x.ndim} axes")
    return _running(xp, name, x, axis, dtype=dtype, include_initial=include_initial)


@table.each("argmax", "nanargmax", "argmin", "nanargmin")
def _position(
    name: str,
    xp: Any,
    a: Array,
    axis: int | None = None,
    out: Out = None,
    *,
    keepdims: bool = False,
) -> Array:
    name, numbers = _without_nan(name, xp, a)
    if numbers is not a and xp.any(xp.all(xp.isnan(a), axis=axis)):
        raise ValueError("All-NaN slice encountered")
    return getattr(xp, name)(numbers, axis=axis, keepdims=keepdims)
