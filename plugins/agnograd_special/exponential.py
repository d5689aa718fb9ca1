"""Exponentials, logistic functions, exponential and trigonometric integrals, power transforms."""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import conjugate_if_complex, is_complex, is_tracked
from agnograd_special._series import floats, patched, patched_even, polynomial, times
from agnograd_special._set import by_vjp, elementwise
from agnograd_special.gamma import INTEGER

__all__ = ["exprel", "exprel_slope", "log1prel", "log1prel_slope"]

_LN2, _LN10 = math.log(2.0), math.log(10.0)
_DEGREE = math.pi / 180.0

# Power series of log(1 + t) / t, of its derivative, and of that of (exp(t) - 1) / t.
_LOG1PREL = [(-1) ** k / (k + 1) for k in range(28)]
_LOG1PREL_SLOPE = [(-1) ** (k + 1) * (k + 1) / (k + 2) for k in range(28)]
_EXPREL_SLOPE = [(k + 1) / math.factorial(k + 2) for k in range(20)]
# That of the derivative of sin(t) / t, divided by t, in t**2.
_SINC_SLOPE = [(-1) ** (k + 1) * 2 * (k + 1) / math.factorial(2 * k + 3) for k in range(14)]


def exprel_slope(t: Any, xp: Any) -> Any:
    """Return the derivative of ``(exp(t) - 1) / t``."""
    return patched(t, 0.5, _EXPREL_SLOPE, lambda t: (xp.exp(t) * (1.0 - 1.0 / t) + 1.0 / t) / t, xp)


def log1prel(t: Any, xp: Any) -> Any:
    """Return ``log(1 + t) / t``."""
    return patched(t, 0.25, _LOG1PREL, lambda t: xp.log1p(t) / t, xp)


def log1prel_slope(t: Any, xp: Any) -> Any:
    """Return the derivative of ``log(1 + t) / t``."""
    return patched(t, 0.25, _LOG1PREL_SLOPE, lambda t: (t / (1.0 + t) - xp.log1p(t)) / (t * t), xp)


def exprel(xp: Any, x: Any) -> Any:
    """Return ``(exp(x) - 1) / x``."""
    (x,) = floats(xp, x)
    zero = x == 0.0
    safe = xp.where(zero, 1.0, x)
    return xp.where(zero, 1.0, xp.expm1(safe) / safe)


def _cbrt(xp: Any, x: Any) -> Any:
    (x,) = floats(xp, x)
    return xp.sign(x) * xp.abs(x) ** (1.0 / 3.0)


# Exponentials and logarithms
elementwise("exp2(x, /)", lambda xp, x: 2.0 ** floats(xp, x)[0], x=lambda out: _LN2 * out)
elementwise("exp10(x, /)", lambda xp, x: 10.0 ** floats(xp, x)[0], x=lambda out: _LN10 * out)
elementwise(
    "expm1(x, /)", lambda xp, x: xp.expm1(*floats(xp, x)), x=lambda x, xp: xp.exp(*floats(xp, x))
)
elementwise("log1p(x, /)", lambda xp, x: xp.log1p(*floats(xp, x)), x=lambda x: 1.0 / (1.0 + x))
elementwise("exprel(x, /)", exprel, x=lambda x, xp: exprel_slope(x, xp))
elementwise("cbrt(x, /)", _cbrt, x=lambda out, xp: xp.square(1.0 / out) / 3.0)


def _power(by_x: int, by_y: int) -> Any:
    """Return a derivative of ``x**y``, by the rule of ``pow``: 0 where both are 0."""

    def rule(x: Any, y: Any, xp: Any) -> Any:
        x, y = floats(xp, x, y)
        none = xp.logical_and(x == 0.0, y == 0.0)
        x, y = xp.where(none, 1.0, x), xp.where(none, 1.0, y)
        return xp.where(none, 0.0, xp.pow_slope(x, y, by_x1=by_x, by_x2=by_y))

    return rule


elementwise("powm1(x, y, /)", x=_power(1, 0), y=_power(0, 1))


def _log_expit(xp: Any, x: Any) -> Any:
    (x,) = floats(xp, x)
    return -xp.logaddexp(xp.zeros_like(x), -x)


def _expit_x(x: Any, xp: Any) -> Any:
    """Return e / (1 + e)**2, where e = exp(-|x|): nothing cancels in the tails."""
    power = xp.exp(-xp.abs(x))
    total = 1.0 + power
    tail = power / (total * total)
    if not is_tracked(x):
        return tail
    near = xp.tanh(0.5 * x)  # the absolute value has a kink at 0
    return xp.where(xp.abs(x) < 2.0, 0.25 - 0.25 * near * near, tail)


# The logistic function
elementwise("expit(x, /)", x=_expit_x)
elementwise("logit(x, /)", x=lambda x: 1.0 / x + 1.0 / (1.0 - x))
elementwise("log_expit(x, /)", _log_expit, x=lambda x, xp: xp.special.expit(-x))

# Exponential integrals (DLMF 6.2.1, 6.2.5, 8.19.13)
elementwise("exp1(x, /)", x=lambda x, xp: -xp.exp(-x) / x)
elementwise("expi(x, /)", x=lambda x, xp: xp.exp(x) / x)


def _expn_x(n: Any, x: Any, out: Any, xp: Any) -> Any:
    # The derivative is minus the function of the order below; below order 0 is (1 + 1/x) exp(-x)/x.
    n, x = floats(xp, n, x)
    zero = n == 0.0
    below = xp.special.expn(xp.where(zero, 1.0, n) - 1.0, x)
    return -xp.where(zero, (xp.exp(-x) + out) / xp.where(zero, x, 1.0), below)


elementwise("expn(n, x, /)", n=INTEGER, x=_expn_x)


# Power series of sin(t) / t and sinh(t) / t, in t**2.
_SIN_BY = [(-1) ** k / math.factorial(2 * k + 1) for k in range(12)]
_SINH_BY = [1 / math.factorial(2 * k + 1) for k in range(12)]


def _integrals(first: str, series: list[float], second: str) -> Any:
    """Return the derivative of two integrals (DLMF 6.2.9, 6.2.11, 6.2.15, 6.2.16)."""

    def rule(g: Any, x: Any, xp: Any) -> Any:
        z = conjugate_if_complex(x, xp)
        # The cotangent is divided first: where it is 0, no derivative of 1 / z overflows.
        unused = xp.logical_and(g[1] == 0.0, z == 0.0)
        share = g[1] / xp.where(unused, 1.0, z)
        quotient = patched_even(z, series, lambda z: getattr(xp, first)(z) / z, xp)
        return times(g[0], quotient, xp) + times(share, getattr(xp, second)(z), xp)

    return rule


_of_waves = _integrals("sin", _SIN_BY, "cos")


def _sici_x(g: Any, x: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):
        return _of_waves(g, x, xp)
    gone = xp.isinf(x)  # a sine over an infinite number is 0, but no library knows the sine
    return xp.where(gone, 0.0, _of_waves(g, xp.where(gone, 1.0, x), xp))


by_vjp("sici(x, /)", outputs="several", x=_sici_x)
by_vjp("shichi(x, /)", outputs="several", x=_integrals("sinh", _SINH_BY, "cosh"))


def _spence_z(z: Any, xp: Any) -> Any:
    # DLMF 25.12.2, of 1 - z: -log(z) / (z - 1), which is -1 at z = 1.
    near = xp.abs(z - 1.0) < 0.25
    inside, outside = xp.where(near, z - 1.0, 0.0), xp.where(near, 2.0, z)
    return -xp.where(near, polynomial(inside, _LOG1PREL), xp.log(outside) / (outside - 1.0))


elementwise("spence(z, /)", z=_spence_z)


def _sinc_x(x: Any, xp: Any) -> Any:
    t = math.pi * x
    # A whole number of turns is left out before it is rounded.
    turn = t if is_complex(x.dtype, xp) else math.pi * (x - 2.0 * xp.round(0.5 * x))
    near = xp.abs(x) < 0.25
    inside, outside, angle = (xp.where(near, *each) for each in ((t, 0.0), (1.0, t), (1.0, turn)))
    slope = (xp.cos(angle) - xp.sin(angle) / outside) / outside
    return math.pi * xp.where(near, inside * polynomial(inside * inside, _SINC_SLOPE), slope)


def _sinc(xp: Any, x: Any) -> Any:
    (x,) = floats(xp, x)
    zero = x == 0.0
    t = math.pi * xp.where(zero, 1.0, x)
    return xp.where(zero, 1.0, xp.sin(t) / t)


elementwise("sinc(x)", _sinc, x=_sinc_x)


def _cosm1(xp: Any, x: Any) -> Any:
    (half,) = floats(xp, 0.5 * x)
    return -2.0 * xp.sin(half) ** 2


# Angles in degrees, and small ones
elementwise("sindg(x, /)", x=lambda x, xp: _DEGREE * xp.special.cosdg(x))
elementwise("cosdg(x, /)", x=lambda x, xp: -_DEGREE * xp.special.sindg(x))
elementwise("tandg(x, /)", x=lambda out: _DEGREE * (1.0 + out * out))
elementwise("cotdg(x, /)", x=lambda x, xp: -_DEGREE / xp.special.sindg(x) / xp.special.sindg(x))
elementwise("cosm1(x, /)", _cosm1, x=lambda x, xp: -xp.sin(x))
elementwise(
    "radian(d, m, s, /)", d=lambda: _DEGREE, m=lambda: _DEGREE / 60, s=lambda: _DEGREE / 3600
)
