"""Logarithms of the gamma and beta distribution functions, which keep their digits in both tails.

Near 1 they are those of what is left of it. Where the function is so small that its square, which
second derivatives have, is not a number, its continued fraction converges in a few steps (DLMF
8.9.1, 8.9.2, 8.17.22): eight of them leave an error below that of rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["far_beta", "log_beta", "log_gamma_above", "log_gamma_below", "log_of", "log_of_part"]

_STEPS = 8


def log_of_part(xp: Any, value: Any, rest: Any) -> Any:
    """Return the logarithm of ``value``, where ``rest`` is 1 minus it."""
    most = value > 0.5
    near = xp.log1p(-xp.where(most, rest, 0.0))
    return xp.where(most, near, xp.log(xp.where(most, 1.0, value)))


def log_of(
    xp: Any,
    value: Any,
    rest: Any,
    arrays: Sequence[tuple[Any, float]],
    far: Callable[..., Any],
    beyond: Any = None,
) -> Any:
    """Return the same, but ``far(*arrays)`` where ``value`` is too small, and ``beyond`` a place.

    Each array comes with a number that stands for it elsewhere.
    """
    tiny = value < float(xp.finfo(value.dtype).smallest_normal) ** 0.4
    if beyond is not None:
        tiny = xp.logical_or(tiny, beyond)
    out = log_of_part(xp, xp.where(tiny, 0.5, value), rest)
    return xp.where(tiny, far(*(xp.where(tiny, x, other) for x, other in arrays)), out)


def log_gamma_below(xp: Any, a: Any, x: Any) -> Any:
    """Return the logarithm of ``gammainc(a, x)``."""

    def far(a: Any, x: Any) -> Any:
        fraction = a + 2.0 * _STEPS
        for m in range(_STEPS, 0, -1):
            fraction = a + (2 * m - 1) + m * x / fraction
            fraction = a + (2 * m - 2) - (a + (m - 1)) * x / fraction
        return xp.special.xlogy(a, x) - x - xp.special.gammaln(a) - xp.log(fraction)

    special = xp.special
    return log_of(xp, special.gammainc(a, x), special.gammaincc(a, x), [(a, 2.0), (x, 1.0)], far)


def log_gamma_above(xp: Any, a: Any, x: Any) -> Any:
    """Return the logarithm of ``gammaincc(a, x)``."""

    def far(a: Any, x: Any) -> Any:
        start = x - a
        fraction = start + (2 * _STEPS + 1)
        for n in range(_STEPS, 0, -1):
            fraction = start + (2 * n - 1) + n * (a - n) / fraction
        return xp.special.xlogy(a, x) - x - xp.special.gammaln(a) - xp.log(fraction)

    special = xp.special
    return log_of(xp, special.gammaincc(a, x), special.gammainc(a, x), [(a, 1.0), (x, 2.0)], far)


def far_beta(xp: Any, a: Any, b: Any, x: Any, log_x: Any, log_y: Any) -> Any:
    """Return the logarithm of ``betainc(a, b, x)`` far below the mean, where y is 1 - x."""
    fraction: Any = 1.0
    for m in range(_STEPS, 0, -1):
        step = m * (b - m) * x / ((a + (2 * m - 1)) * (a + 2 * m))
        fraction = 1.0 + step / fraction
        step = (a + (m - 1)) * ((a + b + (m - 1)) * x) / ((a + (2 * m - 2)) * (a + (2 * m - 1)))
        fraction = 1.0 - step / fraction
    front = a * log_x + b * log_y - xp.log(a) - xp.special.betaln(a, b)
    return front - xp.log(fraction)


def log_beta(xp: Any, a: Any, b: Any, x: Any, *, above: bool = False) -> Any:
    """Return the logarithm of ``betainc(a, b, x)``, or of ``betaincc(a, b, x)``."""

    def far(a: Any, b: Any, x: Any) -> Any:
        log_x, log_y = xp.special.xlogy(1.0, x), xp.special.xlog1py(1.0, -x)
        if above:
            return far_beta(xp, b, a, 1.0 - x, log_y, log_x)
        return far_beta(xp, a, b, x, log_x, log_y)

    values = xp.special.betainc(a, b, x), xp.special.betaincc(a, b, x)
    value, rest = values[::-1] if above else values
    return log_of(xp, value, rest, [(a, 1.0), (b, 1.0), (x, 0.5)], far)
