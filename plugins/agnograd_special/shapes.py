"""Derivatives of the incomplete gamma and beta functions with respect to their shapes.

Each is an integral over what is left or right of x, whichever is less, with a weight of one sign:
nothing cancels. Its variable is the logarithm of the distance to x, in units of the length in which
the integrand falls, and the trapezoidal rule converges exponentially (Takahasi and Mori, "Double
exponential formulas for numerical integration", 1974).
"""

from __future__ import annotations

import math
from typing import Any

from agnograd.errors import MissingRuleError
from agnograd.extend import device_of
from agnograd_special._series import floats, patched, times
from agnograd_special._set import needed
from agnograd_special.densities import beta_density, log_over_psi
from agnograd_special.differences import psi_rise

__all__: list[str] = []

_H, _FROM, _TO = 0.0625, -56, 68
_NODES = [math.exp(u - math.exp(-u)) for u in (_H * k for k in range(_FROM, _TO))]
_WEIGHTS = [
    _H * math.exp(u - math.exp(-u)) * (1.0 + math.exp(-u))
    for u in (_H * k for k in range(_FROM, _TO))
]
# exp(-s) - 1 + s, and t - log(1 + t), each divided by the square
_EXCESS = [(-1) ** k / math.factorial(k + 2) for k in range(15)]
_DEVIANCE = [(-1) ** k / (k + 2) for k in range(26)]
_TERMS = 20


def _nodes(length: Any, xp: Any) -> tuple[Any, Any]:
    """Return distances and weights along a new last axis."""
    options = {"dtype": length.dtype, "device": device_of(length)}
    length = length[..., None]
    return length * xp.asarray(_NODES, **options), length * xp.asarray(_WEIGHTS, **options)


def _excess(s: Any, xp: Any) -> Any:
    """Return ``exp(-s) - 1 + s``."""
    return patched(s, 0.5, [0.0, 0.0, *_EXCESS], lambda s: xp.expm1(-s) + s, xp)


def _deviance(t: Any, xp: Any) -> Any:
    """Return ``t - log(1 + t)``."""
    return patched(t, 0.25, [0.0, 0.0, *_DEVIANCE], lambda t: t - xp.log1p(t), xp)


def _refused(name: str, others: str) -> MissingRuleError:
    return MissingRuleError(
        f"special.{name} (and what is made of it: {others}) has derivatives with respect to its "
        "shapes up to the second order: ask for lower ones, or take differences of these"
    )


# -- gammainc --------------------------------------------------------------------------------------


def _gammainc_by_shape(xp: Any, a: Any, x: Any, order: int = 1) -> Any:
    """Return the derivative of ``gammainc(a, x)`` by ``a``, of first or second order."""
    a, x = floats(xp, a, x)
    a, x = xp.broadcast_arrays(a, x)
    valid = xp.logical_and(xp.logical_and(a >= 0.0, x > 0.0), xp.isfinite(x))
    small, none = x <= 1.0, a == 0.0
    out = xp.where(
        small,
        _gamma_series(
            xp.where(small, a, 1.0), xp.where(xp.logical_and(valid, small), x, 1.0), order, xp
        ),
        _gamma_integral(
            xp.where(xp.logical_or(small, none), 2.0, a),
            xp.where(xp.logical_or(small, xp.logical_not(valid)), 2.0, x),
            order,
            xp,
        ),
    )
    # The other part of the function is a times this integral near a = 0.
    far = xp.logical_and(none, xp.logical_and(valid, xp.logical_not(small)))
    at_none = -xp.special.exp1(xp.where(far, x, 1.0)) if order == 1 else math.nan
    out = xp.where(far, at_none, out)
    ends = xp.logical_or(xp.logical_and(a > 0.0, x == 0.0), xp.logical_and(a >= 0.0, x == math.inf))
    return xp.where(valid, out, xp.where(ends, xp.zeros_like(out), math.nan))


def _gamma_series(a: Any, x: Any, order: int, xp: Any) -> Any:
    """Differentiate the power series of ``gammainc(a, x)`` (DLMF 8.7.1)."""
    special = xp.special
    log = xp.log(x) - special.psi(a + 1.0)
    front = xp.exp(a * xp.log(x) - special.gammaln(a + 1.0))
    term = xp.ones_like(x)
    value, first, second = term, 0.0 * term, 0.0 * term
    for n in range(1, _TERMS):
        term = term * (-x / n)
        ratio = 1.0 / (a + n)
        value = value + term * (a * ratio)
        first = first + n * term * ratio * ratio
        second = second - 2 * n * term * ratio * ratio * ratio
    if order == 1:
        return front * (log * value + first)
    square = log * log - special.polygamma(1, a + 1.0)
    return front * (square * value + 2.0 * log * first + second)


def _gamma_integral(a: Any, x: Any, order: int, xp: Any) -> Any:
    lower = x <= a
    side = xp.where(lower, xp.ones_like(x), -1.0)
    rate = xp.abs(a - x)
    s, weights = _nodes(1.0 / (rate + xp.sqrt(x)), xp)
    fall = rate[..., None] * s + x[..., None] * _excess(side[..., None] * s, xp)
    log = log_over_psi(a, x, xp)[..., None] - side[..., None] * s
    if order == 2:
        log = log * log - xp.special.polygamma(1, a)[..., None]
    total = xp.sum(weights * xp.exp(-fall) * log, axis=-1)
    return side * x * xp.special.gamma_density(a, x) * total


def _gamma_by_shape_a(a: Any, x: Any, order: int, xp: Any) -> Any:
    if order == 2:
        raise _refused("gammainc", "gammaincc, chdtr, gdtr, and inverses")
    return xp.special.gammainc_by_shape(a, x, order=2)


def _gamma_by_shape_x(a: Any, x: Any, order: int, xp: Any) -> Any:
    a, x = floats(xp, a, x)
    log = log_over_psi(a, x, xp)
    if order == 2:
        log = log * log - xp.special.polygamma(1, a)
    return times(xp.special.gamma_density(a, x), log, xp)


needed(
    "gammainc_by_shape(a, x, order=1)",
    _gammainc_by_shape,
    a=_gamma_by_shape_a,
    x=_gamma_by_shape_x,
)


# -- betainc ---------------------------------------------------------------------------------------


def _weight(
    logs: tuple[Any, Any], shapes: tuple[Any, Any], total: Any, orders: tuple[int, int], xp: Any
) -> Any:
    """Return what the integrand's derivatives by a and b are times it."""
    curve = xp.special.polygamma
    if orders == (1, 1):
        return logs[0] * logs[1] + curve(1, total)
    (log, _), (shape, _) = (each if orders[0] else each[::-1] for each in (logs, shapes))
    return log if sum(orders) == 1 else log * log + (curve(1, total) - curve(1, shape))


def _betainc_by_shapes(xp: Any, a: Any, b: Any, x: Any, by_a: int = 1, by_b: int = 0) -> Any:
    """Return the derivative of ``betainc(a, b, x)`` by its shapes, of first or second order."""
    a, b, x = xp.broadcast_arrays(*floats(xp, a, b, x))
    shapes = xp.logical_and(a > 0.0, b > 0.0)
    valid = xp.logical_and(shapes, xp.logical_and(x > 0.0, x < 1.0))
    a, b, safe = (xp.where(valid, each, other) for each, other in ((a, 1.0), (b, 1.0), (x, 0.5)))
    lower = safe * (a + b) <= a
    out = _beta_integral(lower, (a, b), (safe, 1.0 - safe), (by_a, by_b), xp)
    out = xp.where(lower, out, -out)
    ends = xp.logical_and(shapes, xp.logical_or(x == 0.0, x == 1.0))
    return xp.where(valid, out, xp.where(ends, xp.zeros_like(out), math.nan))


def _either(chosen: Any, pair: tuple[Any, Any], xp: Any) -> tuple[Any, Any]:
    """Return a pair, exchanged where it is not chosen."""
    return xp.where(chosen, *pair), xp.where(chosen, *pair[::-1])


def _beta_integral(
    lower: Any, shapes: tuple[Any, Any], sides: tuple[Any, Any], orders: tuple[int, int], xp: Any
) -> Any:
    """Return the derivative of ``betainc(a, b, x)``, where x or, if not ``lower``, 1 - x is low.

    That is at most the mean. It is ``betainc(a + 1, b, x)`` and one term (DLMF 8.17.20), so that a
    may be small. All is computed once, for a and b, x and 1 - x in the order of each element.
    """
    (a, b), (x, y) = (_either(lower, pair, xp) for pair in (shapes, sides))
    more, total = a + 1.0, a + b
    odds = x / y
    bend = xp.where(b > 1.0, b - 1.0, 0.0) * odds
    s, weights = _nodes(1.0 / (more - bend + xp.sqrt(bend * (1.0 + odds))), xp)
    excess = _excess(s, xp)
    odds_, more_, less_ = odds[..., None], more[..., None], b[..., None] - 1.0
    rise = odds_ * (s - excess)
    fall = (more_ - less_ * odds_) * s + less_ * (odds_ * excess + _deviance(rise, xp))
    starts, steps = xp.stack([more, b, more, b]), xp.stack([b, more, b - 1.0, a])
    psi = psi_rise(starts, steps, xp)
    log_x, log_y = xp.log(x), xp.log(y)
    # The term has gamma(a + b) where its density has gamma(a + b + 1).
    inner = log_x + psi[0, ...], log_y + psi[1, ...]
    outer = log_x + psi[2, ...], log_y + psi[3, ...]
    logs = inner[0][..., None] - s, inner[1][..., None] + xp.log1p(rise)
    chosen = lower[..., None]
    factor = _weight(
        _either(chosen, logs, xp),
        _either(chosen, (more_, b[..., None]), xp),
        total[..., None] + 1.0,
        orders,
        xp,
    )
    integral = xp.sum(weights * xp.exp(-fall) * factor, axis=-1)
    term = _weight(_either(lower, outer, xp), _either(lower, (more, b), xp), total, orders, xp)
    return beta_density(more, b, x, y, xp) * (x * integral + y / total * term)


def _beta_by_shapes_a(a: Any, b: Any, x: Any, by_a: int, by_b: int, xp: Any) -> Any:
    if by_a + by_b == 2:
        raise _refused("betainc", "betaincc, fdtr, and inverses")
    return xp.special.betainc_by_shapes(a, b, x, by_a=by_a + 1, by_b=by_b)


def _beta_by_shapes_b(a: Any, b: Any, x: Any, by_a: int, by_b: int, xp: Any) -> Any:
    if by_a + by_b == 2:
        raise _refused("betainc", "betaincc, fdtr, and inverses")
    return xp.special.betainc_by_shapes(a, b, x, by_a=by_a, by_b=by_b + 1)


def _beta_by_shapes_x(a: Any, b: Any, x: Any, by_a: int, by_b: int, xp: Any) -> Any:
    a, b, x = floats(xp, a, b, x)
    log_a, log_b = xp.log(x) + psi_rise(a, b, xp), xp.log1p(-x) + psi_rise(b, a, xp)
    factor = _weight((log_a, log_b), (a, b), a + b, (by_a, by_b), xp)
    return times(xp.special.beta_density(a, b, x), factor, xp)


needed(
    "betainc_by_shapes(a, b, x, by_a=1, by_b=0)",
    _betainc_by_shapes,
    a=_beta_by_shapes_a,
    b=_beta_by_shapes_b,
    x=_beta_by_shapes_x,
)
