"""Element by element: rounding, parts of complex numbers, choices, comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from agnograd.errors import UnsupportedFunctionError
from agnograd_numpy_functions._arguments import as_arrays, check_cast, ready
from agnograd_numpy_functions._helpers import (
    floating,
    inexact,
    is_bool,
    is_complex,
    is_floating,
    part,
    real_only,
    together,
)
from agnograd_numpy_functions._program import Array, Arrays, DType, Operand, Operands, Out, Table

__all__ = ["table"]

table = Table()


def _wide_enough(xp: Any, a: Array, *others: Any) -> Array:
    """Return an array of integers as one of numbers with a fraction, if the others have one."""
    if is_floating(xp, a):
        return a
    if any(isinstance(each, float) for each in others):
        return floating(xp, a)
    return xp.astype(a, xp.int64) if is_bool(xp, a) and any(map(_is_integer, others)) else a


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@table.add("clip")
def _clip(
    xp: Any,
    a: Array,
    a_min: Operand | None = None,
    a_max: Operand | None = None,
    out: Out = None,
    *,
    min: Operand | None = None,
    max: Operand | None = None,
) -> Array:
    lower = a_min if min is None else min
    upper = a_max if max is None else max
    a = _wide_enough(xp, a, lower, upper)
    if hasattr(lower, "dtype") or hasattr(upper, "dtype"):  # which may be wider, and broadcast
        given = [each for each in (lower, upper) if each is not None]
        a, *bounds = together(xp, *as_arrays(xp, [a, *given]))
        a, *bounds = xp.broadcast_arrays(a, *bounds)
        lower = None if lower is None else bounds[0]
        upper = None if upper is None else bounds[-1]
        if lower is not None and upper is not None:  # of which the upper one wins
            lower = xp.where(lower > upper, upper, lower)
    return xp.clip(a, lower, upper)


@table.add("round", "around")
def _round(xp: Any, a: Array, decimals: int = 0, out: Out = None) -> Array:
    if not decimals or (decimals > 0 and not is_floating(xp, a)):
        return xp.round(a)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return xp.round(a * scale) / scale
    rounded = xp.round(floating(xp, a) / scale) * scale
    return rounded if is_floating(xp, a) else xp.astype(rounded, a.dtype)


@table.add("fix")
def _fix(xp: Any, x: Array, out: Out = None) -> Array:
    return xp.trunc(x)


@table.add("nan_to_num")
def _nan_to_num(
    xp: Any,
    x: Array,
    copy: bool = True,
    nan: Operand = 0.0,
    posinf: Operand | None = None,
    neginf: Operand | None = None,
) -> Array:
    if not is_floating(xp, x):
        return xp.astype(x, x.dtype)
    if is_complex(xp, x):
        parts = (_nan_to_num(xp, of(x), True, nan, posinf, neginf) for of in (xp.real, xp.imag))
        real, imag = (xp.astype(each, x.dtype) for each in parts)
        return real + 1j * imag
    limits = xp.finfo(x.dtype)
    kept = xp.where(xp.isnan(x), nan, x)
    kept = xp.where(x == math.inf, float(limits.max) if posinf is None else posinf, kept)
    kept = xp.where(x == -math.inf, float(limits.min) if neginf is None else neginf, kept)
    if not copy:
        x[...] = kept
        return x
    return kept


@table.add("real")
def _real(xp: Any, val: Array) -> Array:
    return xp.real(val) if is_complex(xp, val) else val


@table.add("imag")
def _imag(xp: Any, val: Array) -> Array:
    return xp.imag(val) if is_complex(xp, val) else xp.zeros_like(val)


@table.add("angle")
def _angle(xp: Any, z: Array, deg: bool = False) -> Array:
    z = floating(xp, z) if is_bool(xp, z) else inexact(xp, z)[0]
    real, imag = (xp.real(z), xp.imag(z)) if is_complex(xp, z) else (z, xp.zeros_like(z))
    angle = xp.atan2(imag, real)
    return angle * (180 / math.pi) if deg else angle


@table.add("ndarray.conj")
def _conj(xp: Any, a: Array) -> Array:
    return xp.conj(a) if is_complex(xp, a) else a


@table.add("real_if_close")
def _real_if_close(xp: Any, a: Array, tol: float = 100) -> Array:
    if not is_complex(xp, a):
        return a
    bound = tol * float(xp.finfo(xp.real(a).dtype).eps) if tol > 1 else tol
    return xp.real(a) if xp.all(xp.abs(xp.imag(a)) < bound) else a


@table.add("sinc")
def _sinc(xp: Any, x: Array) -> Array:
    x = floating(xp, x)
    # Near 0 the value and the derivatives are those of the series: in those of sin(y) / y the terms
    # cancel.
    near = xp.abs(x) < 0.5
    y = math.pi * xp.where(near, 1.0, x)
    square = (math.pi * xp.where(near, x, 0.0)) ** 2
    series: Any = 1.0
    for k in range(12, 0, -1):
        series = 1.0 - series * square / (2 * k * (2 * k + 1))
    return xp.where(near, series, xp.sin(y) / y)


@table.add("i0")
def _i0(xp: Any, x: Array) -> Array:
    return xp.special.i0(x)


@table.add("unwrap")
def _unwrap(
    xp: Any, p: Array, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Array:
    p = floating(xp, p)
    step = xp.diff(p, axis=axis)
    half = period / 2
    wrapped = xp.remainder(step + half, period) - half
    wrapped = xp.where(xp.logical_and(wrapped == -half, step > 0), half, wrapped)
    change = xp.where(xp.abs(step) < (half if discont is None else discont), 0.0, wrapped - step)
    rest = part(p, axis, 1, None) + xp.cumulative_sum(change, axis=axis)
    return xp.concat([part(p, axis, 0, 1), rest], axis=axis)


@table.add("where")
def _where(xp: Any, condition: Array, x: Operand | None = None, y: Operand | None = None, /) -> Any:
    if x is None and y is None:
        return xp.nonzero(condition)
    condition = condition if is_bool(xp, condition) else condition != 0
    return xp.where(condition, *together(xp, *as_arrays(xp, (x, y))))


@table.add("select")
def _select(xp: Any, condlist: Arrays, choicelist: Operands, default: Operand = 0) -> Array:
    if len(condlist) != len(choicelist):
        raise ValueError("select needs as many choices as conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    if not all(is_bool(xp, each) for each in condlist):
        raise TypeError("select needs conditions that are arrays of booleans: write x != 0")
    *choices, chosen = together(xp, *as_arrays(xp, [*choicelist, default]))
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        chosen = xp.where(condition, choice, chosen)
    return chosen


@table.add("choose")
def _choose(xp: Any, a: Array, choices: Operands, out: Out = None, mode: str = "raise") -> Array:
    count, a = len(choices), xp.astype(a, xp.int64, copy=False)
    if mode == "clip":
        a = xp.clip(a, 0, count - 1)
    elif mode == "wrap":
        a = xp.remainder(a, count)
    elif xp.any(xp.logical_or(a < 0, a >= count)):
        raise ValueError("invalid entry in choice array")
    choices = together(xp, *as_arrays(xp, choices))
    chosen = choices[0]
    for index in range(count):
        chosen = xp.where(a == index, choices[index], chosen)
    return chosen


@table.add("piecewise")
def _piecewise(
    xp: Any, x: Array, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> Array:
    rank = x.ndim
    several = (
        isinstance(condlist, list | tuple)
        if not rank
        else isinstance(condlist[0], list) or getattr(condlist[0], "ndim", 0) > 0
    )
    conditions = [ready(x, each) for each in (condlist if several else [condlist])]
    if len(funclist) == len(conditions) + 1:
        neither = xp.logical_not(conditions[0])
        for each in conditions[1:]:
            neither = xp.logical_and(neither, xp.logical_not(each))
        conditions.append(neither)
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    pieces = xp.zeros_like(x)
    if not x.ndim:  # a mask of no axes reads an axis of none or one
        x, pieces = x[None], pieces[None]
        conditions = [each[None] for each in conditions]
    for condition, piece in zip(conditions, funclist, strict=True):
        mask = xp.broadcast_to(condition, x.shape)
        if not callable(piece):
            pieces[mask] = piece
        elif (part := x[mask]).size != 0:
            pieces[mask] = piece(part, *args, **kw)
    return pieces if rank else pieces[0, ...]


@table.add("isclose")
def _isclose(
    xp: Any, a: Array, b: Array, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Array:
    equal = _equal(xp, a, b, equal_nan)
    a, b = floating(xp, a), floating(xp, b)
    finite = xp.logical_and(xp.isfinite(a), xp.isfinite(b))
    return xp.logical_or(equal, xp.logical_and(finite, xp.abs(a - b) <= atol + rtol * xp.abs(b)))


def _equal(xp: Any, a: Array, b: Array, equal_nan: bool) -> Array:
    """Return where elements are equal, and with ``equal_nan`` also where both are NaN."""
    equal = a == b
    if equal_nan and is_floating(xp, a) and is_floating(xp, b):
        equal = xp.logical_or(equal, xp.logical_and(a != a, b != b))
    return equal


@table.add("allclose")
def _allclose(
    xp: Any, a: Array, b: Array, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> bool:
    return bool(xp.all(_isclose(xp, a, b, rtol, atol, equal_nan)))


@table.add("array_equal")
def _array_equal(xp: Any, a1: Array, a2: Array, equal_nan: bool = False) -> bool:
    if a1.shape != a2.shape:
        return False
    return bool(xp.all(_equal(xp, a1, a2, equal_nan)))


@table.add("array_equiv")
def _array_equiv(xp: Any, a1: Array, a2: Array) -> bool:
    try:
        xp.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return bool(xp.all(a1 == a2))


@table.each("iscomplex", "isreal")
def _imaginary(name: str, xp: Any, x: Array) -> Array:
    found = xp.imag(x) != 0 if is_complex(xp, x) else xp.zeros_like(x, dtype=xp.bool)
    return found if name == "iscomplex" else xp.logical_not(found)


@table.each("iscomplexobj", "isrealobj")
def _of_kind(name: str, xp: Any, x: Array) -> bool:
    return is_complex(xp, x) == (name == "iscomplexobj")


@table.each("isposinf", "isneginf")
def _infinite(name: str, xp: Any, x: Array, out: Out = None) -> Array:
    real_only(xp, name, x)
    return xp.logical_and(xp.isinf(x), x > 0 if name == "isposinf" else x < 0)


@table.add("astype")
def _astype(xp: Any, x: Array, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Array:
    return xp.astype(x, dtype, copy=copy)


@table.add("ndarray.astype")
def _array_astype(
    xp: Any,
    a: Array,
    dtype: DType,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Array:
    check_cast(a.dtype, dtype, casting)
    return xp.astype(a, dtype, copy=copy)


@table.add("apply_along_axis")
def _apply_along_axis(
    xp: Any, func1d: Callable[..., Any], axis: int, arr: Array, *args: Any, **kwargs: Any
) -> Array:
    moved = xp.moveaxis(arr, axis, -1)
    rest = moved.shape[:-1]
    if 0 in rest:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = xp.reshape(moved, (math.prod(rest), moved.shape[-1]))
    found = [ready(arr, func1d(row, *args, **kwargs)) for row in xp.unstack(rows)]
    whole = xp.stack(found)
    own = whole.ndim - 1
    whole = xp.reshape(whole, (*rest, *whole.shape[1:]))
    # The axes of the function's results stand where the axis was.
    axis %= arr.ndim
    source = tuple(range(len(rest), len(rest) + own))
    return xp.moveaxis(whole, source, tuple(range(axis, axis + own))) if own else whole


@table.add("apply_over_axes")
def _apply_over_axes(xp: Any, func: Callable[..., Any], a: Array, axes: Any) -> Array:
    for axis in axes if isinstance(axes, list | tuple) else (axes,):
        result = func(a, axis)
        if result.ndim < a.ndim:
            result = xp.expand_dims(result, axis=axis)
        if result.ndim != a.ndim:
            raise UnsupportedFunctionError(
                "function is not returning an array of the correct shape"
            )
        a = result
    return a
