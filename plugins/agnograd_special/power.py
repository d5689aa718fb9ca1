"""Box and Cox's power transforms, smooth where their parameter is 0."""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import floats, patched
from agnograd_special._set import elementwise, needed
from agnograd_special.exponential import exprel, log1prel, log1prel_slope

__all__: list[str] = []


# The transforms are the integral of exp(lmbda u) from 0 to the logarithm u of x: each derivative
# brings a factor u.


def _integral(log: Any, lmbda: Any, count: int, xp: Any) -> Any:
    """Return the integral of ``u**count * exp(lmbda u)`` from 0 to a logarithm, which is finite."""
    t = lmbda * log
    terms = [1.0 / (math.factorial(k) * (count + 1 + k)) for k in range(24)]
    return log ** (count + 1) * patched(t, 1.0, terms, lambda t: _by_parts(t, count, xp), xp)


def _by_parts(t: Any, count: int, xp: Any) -> Any:
    """Return the integral of ``s**count * exp(t s)`` from 0 to 1, with exp(t) as a factor."""
    above = xp.exp(-xp.abs(t))
    rises = t > 0.0
    end, size = xp.where(rises, 1.0, above), xp.where(rises, 1.0 / above, 1.0)
    total = -xp.expm1(-xp.abs(t)) / xp.abs(t)
    for k in range(1, count + 1):
        total = (end - k * total) / t
    return size * total


def _slope(xp: Any, log: Any, zero: Any, lmbda: Any, count: int) -> Any:
    inside = _integral(xp.where(zero, 0.0, log), lmbda, count, xp)
    positive = lmbda > 0.0
    size = xp.where(positive, lmbda, 1.0) ** -float(count + 1)
    at_zero = xp.where(positive, math.factorial(count) * size, math.inf)
    return xp.where(zero, -((-1.0) ** count) * at_zero, inside)


def _power(x: Any, lmbda: Any, order: int, xp: Any) -> Any:
    x, lmbda = floats(xp, x, lmbda)
    return xp.pow_slope(x, lmbda - 1.0, by_x1=0, by_x2=order)


def _power1p(x: Any, lmbda: Any, order: int, xp: Any) -> Any:
    """Return ``log(1 + x)**order * (1 + x)**(lmbda - 1)``, without 1 + x where x is small."""
    x, lmbda = floats(xp, x, lmbda)
    near = xp.abs(x) < 0.5
    log = xp.log1p(xp.where(near, x, 0.0))
    far = xp.pow_slope(xp.where(near, 1.0, 1.0 + x), lmbda - 1.0, by_x1=0, by_x2=order)
    inside = xp.exp((lmbda - 1.0) * log)
    return xp.where(near, log**order * inside if order else inside, far)


def _add(name: str, log: str, start: float, power: Any) -> None:
    """Register a transform, ``(exp(lmbda u) - 1) / lmbda`` of a logarithm u, and its derivatives.

    ``start`` is where the logarithm is minus infinity.
    """

    def transform(xp: Any, x: Any, lmbda: Any) -> Any:
        x, lmbda = floats(xp, x, lmbda)
        u = getattr(xp, log)(x)
        return u * exprel(xp, lmbda * u)

    def slope(xp: Any, x: Any, lmbda: Any, order: int = 1) -> Any:
        x, lmbda = xp.broadcast_arrays(*floats(xp, x, lmbda))
        zero = x == start
        return _slope(xp, getattr(xp, log)(xp.where(zero, start + 1.0, x)), zero, lmbda, order)

    slope.__doc__ = f"Return the derivative of ``{name}(x, lmbda)`` of a given order by ``lmbda``."

    def by_x(x: Any, lmbda: Any, xp: Any) -> Any:
        return power(x, lmbda, 0, xp)

    def by_lmbda(x: Any, lmbda: Any, xp: Any) -> Any:
        return getattr(xp.special, f"{name}_slope")(x, lmbda)

    def once_more(x: Any, lmbda: Any, order: int, xp: Any) -> Any:
        return getattr(xp.special, f"{name}_slope")(x, lmbda, order=order + 1)

    elementwise(f"{name}(x, lmbda, /)", transform, x=by_x, lmbda=by_lmbda)
    needed(f"{name}_slope(x, lmbda, order=1)", slope, x=power, lmbda=once_more)


_add("boxcox", "log", 0.0, _power)
_add("boxcox1p", "log1p", -1.0, _power1p)


def _inverse_log(y: Any, lmbda: Any, xp: Any) -> Any:
    """Return ``log(1 + lmbda y) / lmbda``, the logarithm of the inverse transform."""
    y, lmbda = floats(xp, y, lmbda)
    return y * log1prel(lmbda * y, xp)


def _inverse_y(y: Any, lmbda: Any, xp: Any) -> Any:
    y, lmbda = floats(xp, y, lmbda)
    end, base, y, lmbda, _, end_lmbda = _ends(y, lmbda, xp)
    at_end = xp.pow_slope(base, 1.0 / end_lmbda - 1.0, by_x1=0, by_x2=0)
    return xp.where(end, at_end, xp.exp((1.0 - lmbda) * _inverse_log(y, lmbda, xp)))


def _inverse_lmbda(y: Any, lmbda: Any, xp: Any) -> Any:
    y, lmbda = floats(xp, y, lmbda)
    end, base, y, lmbda, end_y, end_lmbda = _ends(y, lmbda, xp)
    power = 1.0 / end_lmbda
    at_end = end_y * xp.pow_slope(base, power - 1.0, by_x1=0, by_x2=0)
    at_end = power * (at_end - power * xp.pow_slope(base, power, by_x1=0, by_x2=1))
    slope = y * y * log1prel_slope(lmbda * y, xp)
    return xp.where(end, at_end, xp.exp(_inverse_log(y, lmbda, xp)) * slope)


def _ends(y: Any, lmbda: Any, xp: Any) -> tuple[Any, ...]:
    """Return where ``1 + lmbda y`` is 0, that number there, and y and lmbda elsewhere and there."""
    base = 1.0 + lmbda * y
    end = base == 0.0
    base, end_y, end_lmbda = (xp.where(end, each, 1.0) for each in (base, y, lmbda))
    return end, base, xp.where(end, 1.0, y), xp.where(end, 1.0, lmbda), end_y, end_lmbda


for _name, _exp in (("inv_boxcox", "exp"), ("inv_boxcox1p", "expm1")):
    elementwise(
        f"{_name}(y, lmbda, /)",
        lambda xp, y, lmbda, exp=_exp: getattr(xp, exp)(_inverse_log(y, lmbda, xp)),
        y=_inverse_y,
        lmbda=_inverse_lmbda,
    )
