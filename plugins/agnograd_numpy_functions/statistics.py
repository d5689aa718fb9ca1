"""Means, deviations, covariances, and the like."""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import adjoint
from agnograd_numpy_functions._helpers import (
    as_asked,
    axes_of,
    count_along,
    double,
    floating,
    is_complex,
    is_floating,
    mask_of,
    together,
)
from agnograd_numpy_functions._program import Array, Axis, DType, Operand, Out, Table

__all__ = ["table"]

table = Table()


def _cast(xp: Any, a: Array, dtype: Any) -> Array:
    return floating(xp, a) if dtype is None else xp.astype(a, dtype)


def _count(xp: Any, a: Array, axis: Axis, where: Any) -> Any:
    """Return how many elements count, as a number or as an array with the reduced axes kept."""
    if where is True:
        return count_along(a, axis)
    counts = xp.sum(xp.astype(mask_of(xp, where, a.shape), xp.int64), axis=axis, keepdims=True)
    return xp.astype(counts, _real_dtype(xp, a))


def _wide(xp: Any, a: Array) -> Array:
    """Return an array in single precision or more: halves are counted and added up in that."""
    return xp.astype(a, xp.result_type(a.dtype, xp.float32), copy=False)


def _real_dtype(xp: Any, a: Array) -> Any:
    return xp.real(a).dtype if is_complex(xp, a) else a.dtype


def _kept(xp: Any, x: Array, a: Array, axis: Axis, keepdims: bool) -> Array:
    if keepdims:
        return x
    return xp.squeeze(x, axis=axes_of(axis, a.ndim)) if a.ndim else x


def _mean_kept(xp: Any, a: Array, axis: Axis, where: Any) -> Array:
    if where is True:
        return xp.mean(a, axis=axis, keepdims=True)
    wide = _wide(xp, a)
    total = xp.sum(xp.where(mask_of(xp, where, a.shape), wide, 0.0), axis=axis, keepdims=True)
    count = xp.astype(_count(xp, wide, axis, where), wide.dtype)
    return xp.astype(total / count, a.dtype, copy=False)


@table.each("mean", "nanmean")
def _mean(
    name: str,
    xp: Any,
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Array:
    where = _numbers(xp, floating(xp, a), where) if name == "nanmean" else where
    a = floating(xp, _cast(xp, a, dtype))
    if where is True:
        return as_asked(xp, xp.mean(a, axis=axis, keepdims=keepdims), dtype)
    return as_asked(xp, _kept(xp, _mean_kept(xp, a, axis, where), a, axis, keepdims), dtype)


def _numbers(xp: Any, a: Array, where: Any) -> Array:
    """Return where there are numbers that count."""
    numbers = xp.logical_not(xp.isnan(a))
    return numbers if where is True else xp.logical_and(numbers, where)


def _variance(
    xp: Any,
    a: Array,
    axis: Axis,
    ddof: Any,
    keepdims: bool,
    where: Any,
    mean: Any,
    nothing: float,
) -> Array:
    """Return the variance; what is left without a degree of freedom is divided by 0, or NaN."""
    dtype, a = _real_dtype(xp, a), _wide(xp, a)
    centre = _mean_kept(xp, a, axis, where) if mean is None else mean
    apart = a - centre
    if mean is not None:  # which may have a wider dtype
        dtype = _real_dtype(xp, apart)
    if where is not True:
        apart = xp.where(mask_of(xp, where, apart.shape), apart, 0.0)
    squares = apart * apart
    if is_complex(xp, a):
        squares = xp.real(apart) ** 2 + xp.imag(apart) ** 2
    degrees = _count(xp, a, axis, where) - ddof
    if hasattr(degrees, "dtype"):
        some = degrees > 0
        scale: Any = xp.where(some, 1.0 / xp.where(some, degrees, 1.0), nothing)
    else:
        scale = 1 / degrees if degrees > 0 else nothing
    variance = xp.sum(squares, axis=axis, keepdims=True) * scale
    return _kept(xp, xp.astype(variance, dtype, copy=False), a, axis, keepdims)


def _correction(ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError("ddof and correction say the same: give one of them")
    return correction


def _spread_cast(xp: Any, a: Array, dtype: Any) -> Array:
    """Return an array in the dtype in which its deviations are computed.

    Raises
    ------
    TypeError
        If each deviation would lose its fraction, or its imaginary part, in it.
    """
    if dtype is not None and not xp.isdtype(dtype, ("real floating", "complex floating")):
        raise TypeError(f"deviations are numbers with a fraction, which dtype={dtype} has not")
    if dtype is not None and is_complex(xp, a) and xp.isdtype(dtype, "real floating"):
        raise TypeError(f"deviations of complex numbers are complex, which dtype={dtype} is not")
    return _cast(xp, a, dtype)


def _root(xp: Any, variance: Array) -> Array:
    """Return the square root, whose derivative at 0 is 0, as that of ``std`` is."""
    zero = variance == 0
    return xp.where(zero, 0.0, xp.sqrt(xp.where(zero, 1.0, variance)))


@table.each("var", "std", "nanvar", "nanstd")
def _spread(
    name: str,
    xp: Any,
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = True,
    mean: Operand | None = None,
    correction: float | None = None,
) -> Array:
    skip, short = name.startswith("nan"), name.removeprefix("nan")
    nothing = math.nan if skip and is_floating(xp, a) else math.inf
    ddof, a = _correction(ddof, correction), _spread_cast(xp, a, dtype)
    where = _numbers(xp, a, where) if skip else where
    if where is True and mean is None and not is_complex(xp, a):
        return getattr(xp, short)(a, axis=axis, correction=ddof, keepdims=keepdims)
    found = _variance(xp, a, axis, ddof, keepdims, where, mean, nothing)
    return as_asked(xp, found if short == "var" else _root(xp, found), dtype)


@table.add("average")
def _average(
    xp: Any,
    a: Array,
    axis: Axis = None,
    weights: Array | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    if weights is None:
        a = floating(xp, a)
        mean = xp.mean(a, axis=axis, keepdims=keepdims)
        total = xp.full_like(mean, float(count_along(a, axis)))
        return (mean, total) if returned else mean
    a, weights = together(xp, floating(xp, a), weights)
    if weights.shape != a.shape:
        axes = axes_of(axis, a.ndim)
        if axis is None or weights.shape != tuple(a.shape[each] for each in axes):
            raise ValueError(
                f"weights of shape {weights.shape} do not fit an array of shape {a.shape} "
                f"along axis {axis}"
            )
        order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
        full = tuple(a.shape[i] if i in axes else 1 for i in range(a.ndim))
        weights = xp.reshape(xp.permute_dims(weights, order), full)
    weights = xp.broadcast_to(weights, a.shape)
    total = xp.sum(weights, axis=axis, keepdims=keepdims)
    if total.size and not count_along(a, axis):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = xp.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


@table.add("cov")
def _cov(
    xp: Any,
    m: Array,
    y: Array | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Array | None = None,
    aweights: Array | None = None,
    *,
    dtype: DType | None = None,
) -> Array:
    given = [m] if y is None else [m, y]
    if dtype is None:  # NumPy's is double precision, at least
        given = together(xp, *(double(xp, each) for each in given))
    rows = [_cast(xp, each, dtype) for each in given]
    # A single row of `m` has one observation of each variable, but one of `y` is a variable.
    columns = [not rowvar and m.ndim == 2, not rowvar and y is not None and y.shape[:1] != (1,)]
    x = xp.concat([_variables(xp, *each) for each in zip(rows, columns, strict=False)], axis=0)
    if not x.shape[0]:
        return xp.reshape(x, (0, 0)) if not x.shape[1] else xp.matmul(x, xp.matrix_transpose(x))
    ddof = ddof if ddof is not None else int(not bias)
    weights = None
    for each in (fweights, aweights):
        if each is not None:
            if each.shape != x.shape[1:]:
                raise ValueError("cov needs weights of one axis, one for each observation")
            each = xp.astype(each, x.dtype)
            weights = each if weights is None else weights * each
    total = x.shape[1] if weights is None else xp.sum(weights)
    average = xp.sum(x if weights is None else x * weights, axis=1, keepdims=True) / total
    if ddof == 0 or aweights is None:
        degrees = total - ddof
    else:
        degrees = total - ddof * xp.sum(weights * xp.astype(aweights, x.dtype)) / total
    apart = x - average
    right = adjoint(apart if weights is None else apart * weights, xp)
    if not hasattr(degrees, "dtype"):
        degrees = xp.asarray(float(degrees), dtype=x.dtype)
    positive = xp.real(degrees) > 0 if is_complex(xp, degrees) else degrees > 0
    degrees = xp.where(positive, degrees, 0.0)  # of none, NumPy warns, and divides by zero
    scaled = xp.matmul(apart, right) / degrees
    return scaled[0, 0] if scaled.shape == (1, 1) else scaled


def _variables(xp: Any, x: Array, columns: bool) -> Array:
    """Return variables as rows, observations as columns; ``columns`` says what x has as columns."""
    if x.ndim > 2:
        raise ValueError("cov and corrcoef are of arrays of at most 2 axes")
    if x.ndim < 2:
        return xp.reshape(x, (1, -1 if x.ndim and x.shape[0] else x.size))
    return xp.matrix_transpose(x) if columns else x


@table.add("corrcoef")
def _corrcoef(
    xp: Any, x: Array, y: Array | None = None, rowvar: bool = True, *, dtype: DType | None = None
) -> Array:
    covariance = _cov(xp, x, y, rowvar, dtype=dtype)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = xp.sqrt(xp.real(xp.linalg.diagonal(covariance)))
    return covariance / deviation[:, None] / deviation[None, :]
