"""Densities of the gamma and beta distributions, which their distribution functions' rules need.

They are ops of their own, so that their derivatives hold at the ends of their domains, too. For
large shapes they are Stirling's formula and a deviance, where logarithms of gamma functions would
cancel (Loader, "Fast and accurate computation of binomial probabilities", 2000).
"""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import floats, polynomial, times
from agnograd_special._set import needed
from agnograd_special.differences import psi_rise

__all__ = ["beta_density", "log_over_psi"]

_BIG = 10.0
# Stirling's series of the logarithm of gamma, and of log(a) - psi(a) (DLMF 5.11.1, 5.11.2)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_LOG_OVER_PSI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# (log(1 + t) - t) / t**2
_DEVIANCE = [(-1) ** (k + 1) / (k + 2) for k in range(26)]


def _in_squares(a: Any, coefficients: tuple[float, ...]) -> Any:
    """Return the sum of ``coefficients[k] * a**(-2 k)``."""
    return polynomial(1.0 / (a * a), coefficients)


def _deviance(t: Any, ratio: Any, xp: Any) -> Any:
    """Return ``log(1 + t) - t``, where ``ratio`` is 1 + t."""
    near = xp.abs(t) < 0.25
    inside = xp.where(near, t, 0.0)
    series = inside * inside * polynomial(inside, _DEVIANCE)
    return xp.where(near, series, xp.log(xp.where(near, 1.0, ratio)) - t)


def log_over_psi(a: Any, x: Any, xp: Any) -> Any:
    """Return ``log(x) - psi(a)``."""
    big = a > _BIG
    large, small = xp.where(big, a, _BIG), xp.where(big, 1.0, a)
    rest = 0.5 / large + _in_squares(large, _LOG_OVER_PSI) / (large * large)
    return xp.log(x / xp.where(big, a, 1.0)) + xp.where(big, rest, -xp.special.psi(small))


# -- the gamma distribution ------------------------------------------------------------------------


def _gamma_density(xp: Any, a: Any, x: Any) -> Any:
    """Return the derivative of ``gammainc(a, x)`` by ``x`` (DLMF 8.8.13); 0 where ``a`` is 0."""
    a, x = floats(xp, a, x)
    big, end = a > _BIG, xp.logical_or(xp.isinf(x), xp.logical_and(a == 0.0, x > 0.0))
    x = xp.where(end, 1.0, x)
    small = xp.where(xp.logical_or(big, a == 0.0), 1.0, a)
    near = xp.exp(xp.special.xlogy(small - 1.0, x) - x - xp.special.gammaln(small))
    large = xp.where(big, a, _BIG)
    log = (
        large * _deviance((x - large) / large, x / large, xp)
        - _in_squares(large, _STIRLING) / large
    )
    far = xp.exp(log) * xp.sqrt(large / (2.0 * math.pi)) / xp.where(x == 0.0, 1.0, x)
    out = xp.where(big, far, near)
    return xp.where(end, 0.0, xp.where(xp.logical_and(a > 0.0, x >= 0.0), out, math.nan))


def _gamma_density_x(a: Any, x: Any, out: Any, xp: Any) -> Any:
    a, x = floats(xp, a, x)
    start = xp.logical_and(x == 0.0, a > 1.0)
    above = xp.where(start, a, 2.0)
    at_start = xp.special.gamma_density(above - 1.0, x) * ((above - 1.0 - x) / (above - 1.0))
    flat = xp.logical_or(start, xp.logical_and(x == 0.0, a == 1.0))
    inside = times(out, (a - 1.0) / xp.where(flat, 1.0, x) - 1.0, xp)
    return xp.where(start, at_start, inside)


def _gamma_density_a(a: Any, x: Any, out: Any, xp: Any) -> Any:
    a, x = floats(xp, a, x)
    none = xp.logical_and(a == 0.0, x > 0.0)  # there 1 / gamma(a) is 0, and its derivative 1
    at_none = xp.exp(-x) / xp.where(none, x, 1.0)
    return xp.where(none, at_none, times(out, log_over_psi(xp.where(none, 1.0, a), x, xp), xp))


needed("gamma_density(a, x, /)", _gamma_density, a=_gamma_density_a, x=_gamma_density_x)


# -- the beta distribution -------------------------------------------------------------------------


def beta_density(a: Any, b: Any, x: Any, y: Any, xp: Any) -> Any:
    """Return the density at x, where y is 1 - x (DLMF 8.17.20)."""
    big = xp.logical_and(a > _BIG, b > _BIG)
    small_a, small_b = xp.where(big, 1.0, a), xp.where(big, 1.0, b)
    low = x < 0.5
    log_y = xp.special.xlogy(small_b - 1.0, xp.where(low, 1.0, y))
    log_y = log_y + xp.special.xlog1py(small_b - 1.0, xp.where(low, -x, 0.0))
    near = xp.special.xlogy(small_a - 1.0, x) + log_y - _log_beta(small_a, small_b, xp)
    a, b = xp.where(big, a, _BIG), xp.where(big, b, _BIG)
    total = a + b
    off = b * x - a * y
    # What is computed of several arrays is computed of all at once.
    parts = xp.stack([off / a, -off / b]), xp.stack([x * (total / a), y * (total / b)])
    of_a, of_b = xp.unstack(_deviance(*parts, xp))
    shapes = xp.stack([a, b, total])
    rest_a, rest_b, rest = xp.unstack(_in_squares(shapes, _STIRLING) / shapes)
    log = a * of_a + b * of_b - rest_a - rest_b + rest
    end = xp.logical_or(x == 0.0, y == 0.0)
    far = xp.exp(log) * xp.sqrt(a / total * b / (2.0 * math.pi)) / xp.where(end, 1.0, x * y)
    return xp.where(big, far, xp.exp(near))


def _log_beta(a: Any, b: Any, xp: Any) -> Any:
    """Return the logarithm of beta, without those of gamma of large arguments (DLMF 5.11.1)."""
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    log = xp.special.gammaln
    big = high > _BIG
    high, small = xp.where(big, high, _BIG), xp.where(big, 1.0, high)
    total = high + low
    rise = low * xp.log(high) + (total - 0.5) * xp.log1p(low / high) - low
    rise = rise + _in_squares(total, _STIRLING) / total - _in_squares(high, _STIRLING) / high
    few = xp.where(big, 1.0, low)
    return log(low) - xp.where(big, rise, log(few + small) - log(small))


def _beta_density(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of ``betainc(a, b, x)`` by ``x`` (DLMF 8.17.20)."""
    a, b, x = floats(xp, a, b, x)
    # Of a shape that is 0 the function is 1, or 0, inside.
    steps = xp.logical_and(xp.logical_and(x > 0.0, x < 1.0), (a == 0.0) != (b == 0.0))
    small_a, small_b = xp.where(steps, 1.0, a), xp.where(steps, 1.0, b)
    out = beta_density(small_a, small_b, x, 1.0 - x, xp)
    inside = xp.logical_and(x >= 0.0, x <= 1.0)
    valid = xp.logical_and(xp.logical_and(small_a > 0.0, small_b > 0.0), inside)
    steps = xp.logical_and(steps, xp.minimum(a, b) == 0.0)
    return xp.where(steps, 0.0, xp.where(valid, out, math.nan))


def _beta_density_x(a: Any, b: Any, x: Any, out: Any, xp: Any) -> Any:
    a, b, x = floats(xp, a, b, x)
    y = 1.0 - x
    first = xp.logical_and(x == 0.0, a > 1.0)
    last = xp.logical_and(y == 0.0, b > 1.0)
    slope = a - 1.0 - (a + b - 2.0) * x
    density = xp.special.beta_density
    above = xp.where(first, a, 2.0)
    at_first = density(above - 1.0, b, xp.where(first, x, 0.5)) * (slope / xp.where(first, y, 1.0))
    at_first = at_first * ((a + b - 1.0) / (above - 1.0))
    above = xp.where(last, b, 2.0)
    at_last = density(a, above - 1.0, xp.where(last, x, 0.5)) * (slope / xp.where(last, x, 1.0))
    at_last = at_last * ((a + b - 1.0) / (above - 1.0))
    no_x = xp.logical_or(first, xp.logical_and(x == 0.0, a == 1.0))
    no_y = xp.logical_or(last, xp.logical_and(y == 0.0, b == 1.0))
    inside = (a - 1.0) / xp.where(no_x, 1.0, x) - (b - 1.0) / xp.where(no_y, 1.0, y)
    return xp.where(first, at_first, xp.where(last, at_last, times(out, inside, xp)))


def _beta_density_a(a: Any, b: Any, x: Any, out: Any, xp: Any) -> Any:
    a, b, x = floats(xp, a, b, x)
    none = xp.logical_and(a == 0.0, b > 0.0)  # there 1 / beta(a, b) is 0, and its derivative 1
    at_none = xp.exp(xp.special.xlog1py(b - 1.0, -x)) / xp.where(none, x, 1.0)
    inside = xp.log(x) + psi_rise(xp.where(none, 1.0, a), b, xp)
    return xp.where(none, at_none, times(out, inside, xp))


def _beta_density_b(a: Any, b: Any, x: Any, out: Any, xp: Any) -> Any:
    a, b, x = floats(xp, a, b, x)
    none = xp.logical_and(b == 0.0, a > 0.0)
    at_none = xp.exp(xp.special.xlogy(a - 1.0, x)) / xp.where(none, 1.0 - x, 1.0)
    inside = xp.log1p(-x) + psi_rise(xp.where(none, 1.0, b), a, xp)
    return xp.where(none, at_none, times(out, inside, xp))


needed(
    "beta_density(a, b, x, /)",
    _beta_density,
    a=_beta_density_a,
    b=_beta_density_b,
    x=_beta_density_x,
)
