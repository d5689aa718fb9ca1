"""Products with logarithms, entropies and losses, by the standard's functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnograd.extend import is_complex, is_tracked
from agnograd_special._series import floats
from agnograd_special._set import elementwise

__all__: list[str] = []


# -- x log(y), which is 0 where x is 0 -------------------------------------------------------------


def _quotient(x: Any, y: Any, xp: Any) -> Any:
    """Return x / y, which is 0 where x is 0, whatever y is.

    So are its derivatives where there is no logarithm of y: the function is 0 there by convention.
    """
    x, y = floats(xp, x, y)
    nothing = xp.logical_and(x == 0.0, y == 0.0 if is_complex(y.dtype, xp) else y <= 0.0)
    return xp.where(nothing, 0.0, x) / xp.where(nothing, 1.0, y)


def _times_log(name: str, log: str, start: float, by_y: Callable[..., Any]) -> None:
    """Register x times a logarithm of the standard, which begins at ``start`` and is 0 1 later."""
    unused = start + 1.0

    def formula(xp: Any, x: Any, y: Any) -> Any:
        x, y = floats(xp, x, y)
        nothing = xp.logical_and(x == 0.0, xp.logical_not(xp.isnan(y)))
        return xp.where(nothing, 0.0, x * getattr(xp, log)(xp.where(nothing, unused, y)))

    def by_x(x: Any, y: Any, xp: Any) -> Any:
        # Where x is 0 and the logarithm is none, the function is 0 by convention, and so is this.
        x, y = floats(xp, x, y)
        function = getattr(xp, log)
        if is_complex(y.dtype, xp):
            return function(y)
        nothing = xp.logical_and(x == 0.0, y <= start)
        return xp.where(nothing, 0.0, function(xp.where(nothing, unused, y)))

    elementwise(f"{name}(x, y, /)", formula, x=by_x, y=by_y)


_times_log("xlogy", "log", 0.0, _quotient)
_times_log("xlog1py", "log1p", -1.0, lambda x, y, xp: _quotient(x, 1.0 + y, xp))

# -- entropies -------------------------------------------------------------------------------------


def _entr(xp: Any, x: Any) -> Any:
    (x,) = floats(xp, x)
    positive = x > 0.0
    value = -x * xp.log(xp.where(positive, x, 1.0))
    return xp.where(positive, value, xp.where(x < 0.0, -math.inf, x))


def _rel_entr(xp: Any, x: Any, y: Any) -> Any:
    x, y = floats(xp, x, y)
    both = xp.logical_and(x > 0.0, y > 0.0)
    safe_x, safe_y = xp.where(both, x, 1.0), xp.where(both, y, 1.0)
    value = xp.where(both, safe_x * (xp.log(safe_x) - xp.log(safe_y)), math.inf)
    value = xp.where(xp.logical_and(x == 0.0, y >= 0.0), 0.0, value)
    return xp.where(xp.logical_or(xp.isnan(x), xp.isnan(y)), math.nan, value)


def _kl_div(xp: Any, x: Any, y: Any) -> Any:
    x, y = floats(xp, x, y)
    return _rel_entr(xp, x, y) - x + y


def _log_ratio(x: Any, y: Any, xp: Any, shift: float = 0.0) -> Any:
    """Return ``log(x / y) + shift``; 0 where both are 0, as the function is there."""
    x, y = floats(xp, x, y)
    nothing = xp.logical_and(x == 0.0, y == 0.0)
    x, y = xp.where(nothing, 1.0, x), xp.where(nothing, 1.0, y)
    apart = xp.log(x) - xp.log(y)
    if not (is_tracked(x) or is_tracked(y)):
        # Where x is 0 the derivative by y, -1 / y, is not one of their quotient.
        ratio = x / y
        known = xp.logical_and(ratio >= xp.finfo(ratio.dtype).smallest_normal, xp.isfinite(ratio))
        apart = xp.where(known, xp.log(xp.where(known, ratio, 1.0)), apart)
    return xp.where(nothing, 0.0, apart + shift)


elementwise("entr(x, /)", _entr, x=lambda x, xp: -1.0 - xp.log(x))
elementwise(
    "rel_entr(x, y, /)",
    _rel_entr,
    x=lambda x, y, xp: _log_ratio(x, y, xp, 1.0),
    y=lambda x, y, xp: -_quotient(x, y, xp),
)
elementwise(
    "kl_div(x, y, /)",
    _kl_div,
    x=lambda x, y, xp: _log_ratio(x, y, xp),
    y=lambda x, y, xp: 1.0 - _quotient(x, y, xp),
)

# -- losses ----------------------------------------------------------------------------------------


def _huber(xp: Any, delta: Any, r: Any) -> Any:
    delta, r = floats(xp, delta, r)
    size = xp.abs(r)
    value = xp.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return xp.where(delta < 0.0, math.inf, value)


def _huber_delta(delta: Any, r: Any, xp: Any) -> Any:
    delta, r = floats(xp, delta, r)
    size = xp.abs(r)
    return xp.where(size <= delta, 0.0, size - delta)


def _huber_r(delta: Any, r: Any, xp: Any) -> Any:
    delta, r = floats(xp, delta, r)
    return xp.where(xp.abs(r) <= delta, r, delta * xp.sign(r))


def _pseudo_huber(xp: Any, delta: Any, r: Any) -> Any:
    delta, r = floats(xp, delta, r)
    zero = xp.logical_or(delta == 0.0, r == 0.0)
    ratio = xp.where(zero, 1.0, r) / xp.where(zero, 1.0, delta)
    square = ratio * ratio
    value = xp.where(zero, 0.0, delta * delta * square / (1.0 + xp.sqrt(1.0 + square)))
    return xp.where(delta < 0.0, math.inf, value)


def _pseudo_huber_delta(delta: Any, r: Any, xp: Any) -> Any:
    # (hypot - delta)**2 / hypot, without a difference
    delta, r = floats(xp, delta, r)
    distance = _nonzero(xp.hypot(delta, r), xp)
    excess = r * (r / (distance + delta))
    return excess * (excess / distance)


def _pseudo_huber_r(delta: Any, r: Any, xp: Any) -> Any:
    # By the quotient of the smaller by the larger number, whose derivatives do not cancel
    delta, r = floats(xp, delta, r)
    near = xp.abs(r) <= delta
    ratio = xp.where(near, r, delta) / _nonzero(xp.where(near, delta, r), xp)
    return xp.where(near, r, delta * xp.sign(r)) / xp.sqrt(1.0 + ratio * ratio)


def _nonzero(x: Any, xp: Any) -> Any:
    """Return a divisor: 1 where it would be 0."""
    return xp.where(x == 0.0, 1.0, x)


elementwise("huber(delta, r, /)", _huber, delta=_huber_delta, r=_huber_r)
elementwise(
    "pseudo_huber(delta, r, /)", _pseudo_huber, delta=_pseudo_huber_delta, r=_pseudo_huber_r
)
