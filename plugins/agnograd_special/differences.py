"""Differences of digamma and of its derivatives, in which their values would cancel."""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import needed

__all__ = ["psi_rise"]

_SHIFT = 10
# Bernoulli's numbers of even index, from the second on
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def psi_rise(x: Any, h: Any, xp: Any) -> Any:
    """Return ``psi(x + h) - psi(x)``, to the precision of the arguments where both are positive."""
    x, h = floats(xp, x, h)
    return xp.special.polygamma_rise(x, h, order=0)


def _polygamma_rise(xp: Any, x: Any, h: Any, order: int = 0) -> Any:
    """Return ``polygamma(order, x + h) - polygamma(order, x)``, in which nothing cancels.

    A few terms of the recurrence (DLMF 5.5.2, 5.15.5) bring the arguments to where the differences
    of all terms of the expansion are known (DLMF 5.11.2, 5.15.8).
    """
    x, h = xp.broadcast_arrays(*floats(xp, x, h))
    positive = xp.logical_and(x > 0.0, x + h > 0.0)
    low, step = xp.where(positive, x, 1.0), xp.where(positive, h, 1.0)
    sign, size = -((-1.0) ** order), float(math.factorial(order))
    total = xp.zeros_like(low)
    for j in range(_SHIFT):
        total = total + sign * size * _rise_of_power(low + j, step, order + 1, xp)
    low = low + _SHIFT
    log = xp.log1p(step / low)
    if order:
        total = total + sign * size / order * _rise_of_power(low, step, order, xp)
    else:
        total = total + log
    total = total + sign * 0.5 * size * _rise_of_power(low, step, order + 1, xp)
    square, scale = 1.0 / (low * low), sign / low**order if order else sign
    for k, number in enumerate(_BERNOULLI, 1):
        factor = number * math.factorial(2 * k + order - 1) / math.factorial(2 * k)
        scale = scale * square
        total = total + factor * scale * xp.expm1(-float(2 * k + order) * log)
    from_, to = xp.where(positive, 1.0, x), xp.where(positive, 1.0, x + h)
    polygamma = xp.special.polygamma
    return xp.where(positive, total, polygamma(order, to) - polygamma(order, from_))


def _rise_of_power(x: Any, h: Any, power: int, xp: Any) -> Any:
    """Return ``(x + h)**-power - x**-power``."""
    if power == 1:
        return -(h / x) / (x + h)
    return xp.expm1(-float(power) * xp.log1p(h / x)) / x**power


def _by_x(x: Any, h: Any, order: int, xp: Any) -> Any:
    return xp.special.polygamma_rise(x, h, order=order + 1)


def _by_h(x: Any, h: Any, order: int, xp: Any) -> Any:
    x, h = floats(xp, x, h)
    return xp.special.polygamma(order + 1, x + h)


needed("polygamma_rise(x, h, order=0)", _polygamma_rise, x=_by_x, h=_by_h)
