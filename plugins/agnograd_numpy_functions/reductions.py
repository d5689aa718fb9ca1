"""Sums, products, extremes, and running ones; those that skip NaN."""

from __future__ import annotations

import math
from typing import Any

from agnograd_numpy_functions._helpers import flat, is_bool, is_floating, like, mask_of
from agnograd_numpy_functions._kinds import dtype_named
from agnograd_numpy_functions._program import Array, DType, Operand, Out, Table

__all__ = ["table"]

table = Table()
Axis = int | tuple[int, ...] | None


def _masked(xp: Any, a: Array, where: Any, neutral: Any) -> Array:
    """Return the array with what is left out replaced by what changes nothing."""
    return a if where is True else xp.where(mask_of(xp, where, a.shape), a, neutral)


def _nan_as(xp: Any, a: Array, value: float) -> Array:
    return xp.where(xp.isnan(a), value, a) if is_floating(xp, a) else a


@table.add("sum")
def _sum(
    xp: Any,
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    if is_bool(xp, a):
        a = xp.astype(a, dtype_named(xp, "int64"))
    a = _masked(xp, a, where, 0)
    total = xp.sum(a, axis=axis, dtype=dtype, keepdims=keepdims)
    return total if initial is None else total + like(total, initial)


@table.add("nansum")
def _nansum(
    xp: Any,
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    a = _nan_as(xp, a, 0.0)
    return _sum(xp, a, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@table.add("prod")
def _prod(
    xp: Any,
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    if is_bool(xp, a):
        a = xp.astype(a, dtype_named(xp, "int64"))
    product = xp.prod(_masked(xp, a, where, 1), axis=axis, dtype=dtype, keepdims=keepdims)
    return product if initial is None else product * like(product, initial)


@table.add("nanprod")
def _nanprod(
    xp: Any,
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    a = _nan_as(xp, a, 1.0)
    return _prod(xp, a, axis, dtype, keepdims=keepdims, initial=initial, where=where)


def _extreme(
    xp: Any, name: str, a: Array, axis: Axis, keepdims: bool, initial: Any, where: Any
) -> Array:
    if where is not True:
        if initial is None:
            raise ValueError(f"{name} with where= needs initial=, the value where nothing is")
        a = xp.where(mask_of(xp, where, a.shape), a, like(a, initial))
    if initial is None:
        return getattr(xp, name)(a, axis=axis, keepdims=keepdims)
    initial = like(a, initial)
    pair = xp.maximum if name == "max" else xp.minimum
    if 0 in a.shape:
        shape = xp.sum(a, axis=axis, keepdims=keepdims).shape
        return xp.broadcast_to(initial, shape)
    return pair(getattr(xp, name)(a, axis=axis, keepdims=keepdims), initial)


@table.add("max", "amax")
def _max(
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    return _extreme(xp, "max", a, axis, keepdims, initial, where)


@table.add("min", "amin")
def _min(
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    return _extreme(xp, "min", a, axis, keepdims, initial, where)


def _nan_extreme(
    xp: Any, name: str, a: Array, axis: Axis, keepdims: bool, initial: Any, where: Any
) -> Array:
    if not is_floating(xp, a):
        return _extreme(xp, name, a, axis, keepdims, initial, where)
    found = _extreme(
        xp, name, _nan_as(xp, a, -math.inf if name == "max" else math.inf), axis, keepdims,
        initial, where,
    )  # fmt: skip
    if initial is not None:
        return found
    nothing = xp.all(xp.isnan(a), axis=axis, keepdims=keepdims)
    return xp.where(nothing, math.nan, found)


@table.add("nanmax")
def _nanmax(
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    return _nan_extreme(xp, "max", a, axis, keepdims, initial, where)


@table.add("nanmin")
def _nanmin(
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Operand = True,
) -> Array:
    return _nan_extreme(xp, "min", a, axis, keepdims, initial, where)


@table.add("ptp")
def _ptp(xp: Any, a: Array, axis: Axis = None, out: Out = None, keepdims: bool = False) -> Array:
    return xp.max(a, axis=axis, keepdims=keepdims) - xp.min(a, axis=axis, keepdims=keepdims)


@table.add("all")
def _all(
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Array:
    a = a if is_bool(xp, a) else a != 0
    return xp.all(_masked(xp, a, where, xp.asarray(True)), axis=axis, keepdims=keepdims)


@table.add("any")
def _any(
    xp: Any,
    a: Array,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Array:
    a = a if is_bool(xp, a) else a != 0
    return xp.any(_masked(xp, a, where, xp.asarray(False)), axis=axis, keepdims=keepdims)


@table.add("count_nonzero")
def _count_nonzero(xp: Any, a: Array, axis: Axis = None, *, keepdims: bool = False) -> Array:
    return xp.count_nonzero(a, axis=axis, keepdims=keepdims)


def _running(xp: Any, name: str, a: Array, axis: int | None, dtype: Any, **options: Any) -> Array:
    if axis is None:
        a, axis = flat(xp, a), 0
    if is_bool(xp, a):
        a = xp.astype(a, dtype_named(xp, "int64"))
    return getattr(xp, name)(a, axis=axis, dtype=dtype, **options)


@table.add("cumsum")
def _cumsum(
    xp: Any, a: Array, axis: int | None = None, dtype: DType | None = None, out: Out = None
) -> Array:
    return _running(xp, "cumulative_sum", a, axis, dtype)


@table.add("nancumsum")
def _nancumsum(
    xp: Any, a: Array, axis: int | None = None, dtype: DType | None = None, out: Out = None
) -> Array:
    return _running(xp, "cumulative_sum", _nan_as(xp, a, 0.0), axis, dtype)


@table.add("cumprod")
def _cumprod(
    xp: Any, a: Array, axis: int | None = None, dtype: DType | None = None, out: Out = None
) -> Array:
    return _running(xp, "cumulative_prod", a, axis, dtype)


@table.add("nancumprod")
def _nancumprod(
    xp: Any, a: Array, axis: int | None = None, dtype: DType | None = None, out: Out = None
) -> Array:
    return _running(xp, "cumulative_prod", _nan_as(xp, a, 1.0), axis, dtype)


def _named_running(name: str) -> Any:
    def program(
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
        return _running(xp, name, x, axis, dtype, include_initial=include_initial)

    return program


table.add("cumulative_sum")(_named_running("cumulative_sum"))
table.add("cumulative_prod")(_named_running("cumulative_prod"))


def _position(
    xp: Any, name: str, a: Array, axis: int | None, keepdims: bool, instead: float | None
) -> Array:
    if instead is not None and is_floating(xp, a):
        empty = xp.all(xp.isnan(a), axis=axis)
        if xp.any(empty):
            raise ValueError("All-NaN slice encountered")
        a = _nan_as(xp, a, instead)
    return getattr(xp, name)(a, axis=axis, keepdims=keepdims)


@table.add("argmax")
def _argmax(
    xp: Any, a: Array, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Array:
    return _position(xp, "argmax", a, axis, keepdims, None)


@table.add("argmin")
def _argmin(
    xp: Any, a: Array, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Array:
    return _position(xp, "argmin", a, axis, keepdims, None)


@table.add("nanargmax")
def _nanargmax(
    xp: Any, a: Array, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Array:
    return _position(xp, "argmax", a, axis, keepdims, -math.inf)


@table.add("nanargmin")
def _nanargmin(
    xp: Any, a: Array, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Array:
    return _position(xp, "argmin", a, axis, keepdims, math.inf)
