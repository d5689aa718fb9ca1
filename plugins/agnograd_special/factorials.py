"""Beta functions, binomial coefficients and rising factorials."""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import elementwise
from agnograd_special.differences import psi_rise
from agnograd_special.gamma import rgamma_slope

__all__: list[str] = []


def _beta_slope(a: Any, b: Any, xp: Any) -> Any:
    """Return the derivative of the logarithm of beta with respect to ``a`` (DLMF 5.12.1)."""
    return -psi_rise(a, b, xp)


elementwise(
    "beta(a, b, /)",
    a=lambda a, b, out, xp: out * _beta_slope(a, b, xp),
    b=lambda a, b, out, xp: out * _beta_slope(b, a, xp),
)
elementwise(
    "betaln(a, b, /)",
    a=_beta_slope,
    b=lambda a, b, xp: _beta_slope(b, a, xp),
)


def _pole(x: Any, xp: Any) -> Any:
    """Return whether gamma has a pole at x."""
    return xp.logical_and(x <= 0.0, x == xp.floor(x))


# -- rising factorials, gamma(z + m) / gamma(z) (DLMF 5.2.5) ---------------------------------------


def _poch_z(z: Any, m: Any, out: Any, xp: Any) -> Any:
    """Differentiate the quotient: where gamma(z) has a pole, its reciprocal is 0 and has a slope.

    Where both have poles, reflection leaves a quotient of gamma functions of positive arguments.
    """
    z, m = floats(xp, z, m)
    end = z + m
    zero, both = _pole(z, xp), _pole(end, xp)
    zero = xp.logical_and(zero, xp.logical_not(both))
    at_zero, at_end = xp.where(zero, z, -1.0), xp.where(zero, end, 1.5)
    special = xp.special
    slope = out * special.psi(at_end) + special.gamma(at_end) * rgamma_slope(at_zero, xp)
    safe = xp.logical_or(zero, both)
    start, step = xp.where(safe, 1.0, z), xp.where(safe, 1.0, m)
    mirror = psi_rise(xp.where(both, 1.0 - z, 2.0), xp.where(both, -m, 1.0), xp)
    return xp.where(zero, slope, out * xp.where(both, mirror, psi_rise(start, step, xp)))


def _poch_m(z: Any, m: Any, out: Any, xp: Any) -> Any:
    z, m = floats(xp, z, m)
    return out * xp.special.psi(z + m)


elementwise("poch(z, m, /)", z=_poch_z, m=_poch_m)


# -- binomial coefficients (DLMF 1.2.6) ------------------------------------------------------------

# Left of 0 and right of n there are zeros at integers k, where digamma has poles; there the
# coefficient is, by reflection, beta(n + 1, d) sin(pi d) / pi, of d = -k and of d = k - n.


def _sides(n: Any, k: Any, xp: Any) -> tuple[Any, Any, Any, Any]:
    """Return where k is a zero left of 0 or right of n, and n and the distance d there."""
    known = n > -1.0
    left = xp.logical_and(known, _pole(k + 1.0, xp))
    right = xp.logical_and(known, _pole(n - k + 1.0, xp))
    distance = xp.where(left, -k, xp.where(right, k - n, 1.0))
    return left, right, xp.where(xp.logical_or(left, right), n, 1.0), distance


def _wave(n: Any, d: Any, slope: Any, cosine: float, xp: Any) -> Any:
    """Return beta(n + 1, d) times (slope sin(pi d) / pi + cosine cos(pi d))."""
    whole = xp.round(d)
    sign = 1.0 - 2.0 * (whole - 2.0 * xp.floor(0.5 * whole))
    turn = math.pi * (d - whole)
    wave = slope * xp.sin(turn) / math.pi + cosine * xp.cos(turn)
    return xp.special.beta(n + 1.0, d) * (sign * wave)


def _binom_n(n: Any, k: Any, out: Any, xp: Any) -> Any:
    n, k = floats(xp, n, k)
    left, right, at, d = _sides(n, k, xp)
    # The derivatives of log(beta(n + 1, d)): d is -k, or falls as n grows.
    by_left = _wave(at, d, -psi_rise(at + 1.0, d, xp), 0.0, xp)
    by_right = _wave(at, d, psi_rise(d, at + 1.0 - d, xp), -1.0, xp)
    none = xp.logical_not(xp.logical_or(left, right))
    inner = out * psi_rise(xp.where(none, n - k + 1.0, 1.0), xp.where(none, k, 1.0), xp)
    return xp.where(left, by_left, xp.where(right, by_right, inner))


def _binom_k(n: Any, k: Any, out: Any, xp: Any) -> Any:
    n, k = floats(xp, n, k)
    left, right, at, d = _sides(n, k, xp)
    by_d = _wave(at, d, -psi_rise(d, at + 1.0, xp), 1.0, xp)
    none = xp.logical_not(xp.logical_or(left, right))
    start, step = xp.where(none, k + 1.0, 1.0), xp.where(none, n - k - k, 1.0)
    inner = out * psi_rise(start, step, xp)
    return xp.where(left, -by_d, xp.where(right, by_d, inner))


elementwise("binom(n, k, /)", n=_binom_n, k=_binom_k)
