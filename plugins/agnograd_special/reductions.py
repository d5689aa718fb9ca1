"""Functions of a whole axis: the logarithm of a sum of exponentials, and softmax."""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import (
    behind,
    conjugate_if_complex,
    is_complex,
    is_tracked,
    keep_axes,
    operand,
    reduced_axes,
    switch,
    with_rank,
)
from agnograd_special._series import floats
from agnograd_special._set import by_formula, ops

__all__: list[str] = []

# From how many elements on a half may have no number for their sum.
HALF_TERMS = switch("HALF_TERMS", 2**15, least=0, most=2**15, module=__name__)
Axis = int | tuple[int, ...] | None


def _checked_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    for each in () if axis is None else (axis,) if isinstance(axis, int) else axis:
        if not -max(rank, 1) <= each < max(rank, 1):
            raise IndexError(f"axis {each} is out of bounds for an array of {rank} axes")
    return reduced_axes(axis, rank)


def _check_real(xp: Any, *values: Any) -> None:
    if any(is_complex(each.dtype, xp) for each in values if hasattr(each, "dtype")):
        raise UnsupportedArrayError(
            "special.logsumexp is of real arrays, and was given complex ones: take xp.log(xp.sum("
            "xp.exp(x))), or the real parts"
        )


def _log_sum_exp(xp: Any, x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Compute the logarithm of the sum of exponentials along axes, without weights."""
    _check_real(xp, x)
    (x,) = floats(xp, x)
    axes, dtype = _checked_axes(axis, x.ndim), x.dtype
    x = xp.astype(x, _wide(x, axis, xp), copy=False)
    if 0 in (x.shape[each] for each in axes):
        return xp.sum(x, axis=axes, keepdims=keepdims) - math.inf
    top = xp.max(x, axis=axes, keepdims=True)
    is_top = x == top
    ties = xp.sum(xp.astype(is_top, x.dtype), axis=axes, keepdims=True)
    # Where the largest is infinite, its difference to itself is undefined, and not used.
    rest = xp.sum(xp.where(is_top, 0.0, xp.exp(x - top)), axis=axes, keepdims=True)
    log = xp.astype(xp.log1p(rest / ties) + xp.log(ties) + top, dtype, copy=False)
    return log if keepdims else xp.squeeze(log, axis=axes)


def _log_abs_sum_exp(
    xp: Any, x: Any, b: Any = None, /, *, axis: Axis = None, keepdims: bool = False
) -> tuple[Any, Any]:
    """Compute the logarithm of the absolute value, and the sign, of a weighted sum of exponentials.

    The largest term is left out of the sum and put back by ``log1p``: what is much smaller still
    counts (Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax
    functions", 2021, equation 2.6).
    """
    _check_real(xp, x, b)
    if b is None:
        (x,) = floats(xp, x)
        b = xp.ones_like(x)
    else:
        x, b = floats(xp, x, b)
        x, b = xp.broadcast_arrays(x, b)
        x = xp.where(b == 0.0, -math.inf, x)
    axes, dtype, wide = _checked_axes(axis, x.ndim), x.dtype, _wide(x, axis, xp)
    x, b = (xp.astype(each, wide, copy=False) for each in (x, b))
    if 0 in (x.shape[each] for each in axes):  # a sum of nothing is 0
        total = xp.sum(x * b, axis=axes, keepdims=keepdims)
        return total - math.inf, total
    top = xp.max(x, axis=axes, keepdims=True)
    is_top = x == top
    shift = xp.where(xp.isfinite(top), top, 0.0)
    largest = xp.sum(xp.where(is_top, b, 0.0), axis=axes, keepdims=True)
    rest = xp.where(is_top, 0.0, b * xp.exp(x - shift))
    rest = xp.sum(rest, axis=axes, keepdims=True)
    alone = largest == 0.0  # the weights of the largest terms cancel
    ratio = rest / xp.where(alone, 1.0, largest)
    below = ratio <= -1.0
    log = xp.where(below, xp.log(xp.abs(1.0 + ratio)), xp.log1p(xp.where(below, 0.0, ratio)))
    log = xp.where(alone, xp.log(xp.abs(rest)) + shift, log + xp.log(xp.abs(largest)) + top)
    sign = xp.where(alone, xp.sign(rest), xp.sign(largest) * xp.sign(1.0 + ratio))
    sign = xp.where(log == -math.inf, 0.0, sign)
    log, sign = (xp.astype(each, dtype, copy=False) for each in (log, sign))
    return (log, sign) if keepdims else (xp.squeeze(log, axis=axes), xp.squeeze(sign, axis=axes))


def _without_infinities(x: Any, log: Any, xp: Any) -> Any:
    """Return exponents that share as x does, where the logarithm of the sum is infinite.

    Infinite exponents share equally, and so do those of minus infinity where there are no others.
    """
    infinite = xp.where(x == math.inf, xp.zeros_like(x), -math.inf)
    return xp.where(log == -math.inf, 0.0, xp.where(log == math.inf, infinite, x))


def _log_sum_exp_x(g: Any, x: Any, out: Any, axis: Axis, xp: Any) -> Any:
    """Return the softmax, times g.

    The logarithm of the sum itself is rounded: where it is large, its difference to x has no right
    digit. Where the softmax is differentiated, it is taken of log_softmax, of which all derivatives
    keep their digits.
    """
    if 0 in x.shape:
        return xp.zeros_like(x)
    x = _without_infinities(x, keep_axes(out, x.shape, axis, xp), xp)
    x = xp.astype(x, _wide(x, axis, xp), copy=False)
    axes = reduced_axes(axis, x.ndim)
    if is_tracked(x):
        shares = xp.exp(xp.special.log_softmax(x, axis=axes))
    else:
        shares = xp.special.softmax(x, axis=axes)
    return keep_axes(g, shares.shape, axis, xp) * shares


def _shares(x: Any, b: Any, out: Any, axis: Axis, xp: Any) -> Any:
    """Return ``exp(x)`` divided by the weighted sum; 0 where the sum is 0 by its weights."""
    x, b = xp.broadcast_arrays(x, xp.ones_like(x) if b is None else b)
    if 0 in x.shape:
        return xp.zeros_like(x)
    log = keep_axes(out[0], x.shape, axis, xp)
    nothing = log == -math.inf
    weighed = xp.where(b == 0.0, -math.inf, x)
    tied = xp.max(weighed, axis=axis, keepdims=True) == -math.inf
    x = xp.astype(_without_infinities(x, log, xp), _wide(x, axis, xp), copy=False)
    fixed = x.detach() if is_tracked(x) else x
    top = xp.max(xp.where(b == 0.0, -math.inf, fixed), axis=axis, keepdims=True)
    powers = xp.exp(x - xp.where(xp.isfinite(top), top, 0.0))
    total = xp.sum(b * _finite(powers, b, xp), axis=axis, keepdims=True)
    tied = xp.logical_and(tied, xp.logical_and(total != 0.0, b != 0.0))
    return xp.where(xp.logical_and(nothing, xp.logical_not(tied)), 0.0, powers / total)


def _finite(powers: Any, b: Any, xp: Any) -> Any:
    """Return the powers without infinite ones of weight 0; others of weight 0 depend on it."""
    return xp.where(xp.logical_and(b == 0.0, powers == math.inf), 0.0, powers)


def _wide(x: Any, axis: Axis, xp: Any) -> Any:
    """Return a dtype in which there are numbers for sums of all terms: a half holds no 65,520."""
    many = math.prod(x.shape[each] for each in reduced_axes(axis, x.ndim)) >= HALF_TERMS
    return xp.result_type(x.dtype, xp.float32) if many else x.dtype


def _log_abs_sum_exp_x(g: Any, x: Any, b: Any, out: Any, axis: Axis, xp: Any) -> Any:
    shares = _shares(x, b, out, axis, xp)
    shares = shares if b is None else _finite(shares, b, xp) * b
    return keep_axes(g[0], shares.shape, axis, xp) * shares


def _log_abs_sum_exp_b(g: Any, x: Any, b: Any, out: Any, axis: Axis, xp: Any) -> Any:
    shares = _shares(x, b, out, axis, xp)
    return keep_axes(g[0], shares.shape, axis, xp) * shares


def _log_abs_sum_exp_batch(
    xp: Any,
    mapped: Set[str],
    x: Any,
    b: Any = None,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
) -> Any:
    given = {"x": x, "b": b}
    rank = max(len(getattr(each, "shape", ())) - (k in mapped) for k, each in given.items())
    whole = [with_rank(xp, v, max(rank, 1)) if k in mapped else v for k, v in given.items()]
    if not rank:  # a member is one number
        return xp.special.log_abs_sum_exp(*whole, axis=1)
    return xp.special.log_abs_sum_exp(*whole, axis=behind(axis, rank), keepdims=keepdims)


ops.vjp(
    "special.log_sum_exp(x, /, *, axis=None, keepdims=False)",
    x=_log_sum_exp_x,
    forward=by_formula("log_sum_exp", _log_sum_exp),
    batch="axis",
)
ops.vjp(
    "special.log_abs_sum_exp(x, b=None, /, *, axis=None, keepdims=False)",
    x=_log_abs_sum_exp_x,
    b=_log_abs_sum_exp_b,
    forward=by_formula("log_abs_sum_exp", _log_abs_sum_exp),
    outputs="several",
    batch=_log_abs_sum_exp_batch,
)


def _logsumexp(
    xp: Any,
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """Compute ``scipy.special.logsumexp``, of real arrays.

    Parameters
    ----------
    a : real array
        The exponents.
    axis : int or tuple of int, optional
        The axes that are summed over; by default all.
    b : real array, optional
        Factors of the exponentials; ``b`` and ``a`` are broadcast.
    keepdims : bool
        Whether the axes stay, with one element each.
    return_sign : bool
        Whether to return the logarithm of the sum's absolute value, and its sign; otherwise the
        result is NaN where the sum is negative.
    """
    a, b = (operand(xp, each) if isinstance(each, list | tuple) else each for each in (a, b))
    if b is None and not return_sign:
        return xp.special.log_sum_exp(a, axis=axis, keepdims=keepdims)
    log, sign = xp.special.log_abs_sum_exp(a, b, axis=axis, keepdims=keepdims)
    if return_sign:
        return log, sign
    return log if b is None else xp.where(sign < 0.0, math.nan, log)


ops.composed(
    "special.logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False)", _logsumexp
)


def _softmax(xp: Any, x: Any, axis: Axis = None) -> Any:
    (x,) = floats(xp, x)
    if 0 in x.shape:  # an axis of no elements has no largest one
        return x + xp.sum(x, axis=axis, keepdims=True)
    power = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return power / xp.sum(power, axis=axis, keepdims=True)


def _log_softmax(xp: Any, x: Any, axis: Axis = None) -> Any:
    (x,) = floats(xp, x)
    if 0 in x.shape:  # an axis of no elements has no largest one
        return x + xp.sum(x, axis=axis, keepdims=True)
    top = xp.max(x, axis=axis, keepdims=True)
    shifted = x - xp.where(xp.isfinite(top), top, 0.0)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def _balanced(gradient: Any, shares: Any, axis: Axis, xp: Any) -> Any:
    """Return a gradient that adds up to 0 along axes, of shares that add up to 1.

    Where one of them is nearly 1, one minus it loses its digits: there the gradient is minus the
    sum of the others.
    """
    if is_complex(shares.dtype, xp):
        return gradient
    most = shares > 0.5
    others = xp.sum(xp.where(most, 0.0, gradient), axis=axis, keepdims=True)
    return xp.where(most, -others, gradient)


def _softmax_x(g: Any, out: Any, axis: Axis, xp: Any) -> Any:
    out = conjugate_if_complex(out, xp)
    weighted = g * out
    weighted = weighted - out * xp.sum(weighted, axis=axis, keepdims=True)
    return _balanced(weighted, out, axis, xp)


def _log_softmax_x(g: Any, out: Any, axis: Axis, xp: Any) -> Any:
    dtype, wide = out.dtype, _wide(out, axis, xp)
    g, out = (xp.astype(each, wide, copy=False) for each in (g, out))
    shares = conjugate_if_complex(xp.exp(out), xp)
    gradient = _balanced(g - shares * xp.sum(g, axis=axis, keepdims=True), shares, axis, xp)
    return xp.astype(gradient, dtype, copy=False)


ops.vjp(
    "special.softmax(x, axis=None)",
    x=_softmax_x,
    forward=by_formula("softmax", _softmax),
    batch="axis",
)
ops.vjp(
    "special.log_softmax(x, axis=None)",
    x=_log_softmax_x,
    forward=by_formula("log_softmax", _log_softmax),
    batch="axis",
)
