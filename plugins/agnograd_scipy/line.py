"""Distributions of all real numbers, of ``scipy.stats``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnograd_scipy.distributions import Continuous, Symmetric
from agnograd_scipy.tails import far_beta, log_of

__all__ = ["LOG_2", "LOG_PEAK", "NORMAL", "ON_THE_LINE"]

LOG_2 = math.log(2.0)
_ROOT_2 = math.sqrt(2.0)
LOG_PEAK = -0.5 * math.log(2.0 * math.pi)  # of the normal density


def _log_one_plus_square(u: Any, xp: Any) -> Any:
    """Return ``log(1 + u**2)``, also where the square is not a number."""
    large = xp.abs(u) > 1e3
    far = xp.where(large, xp.abs(u), 1.0)
    inverse, near = 1.0 / far, xp.where(large, 0.0, u)
    return xp.where(large, 2.0 * xp.log(far) + xp.log1p(inverse * inverse), xp.log1p(near * near))


class Normal(Symmetric):
    """The normal distribution (DLMF 7.18)."""

    title = "the normal distribution"

    def log_density(self, xp: Any, y: Any) -> Any:
        return -0.5 * y * y + LOG_PEAK

    def cdf(self, xp: Any, y: Any) -> Any:
        return 0.5 * xp.special.erfc(-y / _ROOT_2)  # PyTorch's ndtr is 0 where it is tiny

    def log_cdf(self, xp: Any, y: Any) -> Any:
        return xp.special.log_ndtr(y)

    def quantile(self, xp: Any, q: Any) -> Any:
        return xp.special.ndtri(q)


class Laplace(Symmetric):
    """The Laplace distribution: exponential ones to both sides."""

    title = "the Laplace distribution"

    def log_density(self, xp: Any, y: Any) -> Any:
        return -xp.abs(y) - LOG_2

    def cdf(self, xp: Any, y: Any) -> Any:
        left = y < 0.0
        below = 0.5 * xp.exp(xp.where(left, y, 0.0))
        return xp.where(left, below, 1.0 - 0.5 * xp.exp(-xp.where(left, 0.0, y)))

    def log_cdf(self, xp: Any, y: Any) -> Any:
        left = y < 0.0
        return xp.where(left, y - LOG_2, xp.log1p(-0.5 * xp.exp(-xp.where(left, 0.0, y))))

    def quantile(self, xp: Any, q: Any) -> Any:
        left = q < 0.5
        below = xp.log(2.0 * xp.where(left, q, 0.5))
        return xp.where(left, below, -xp.log(2.0 * xp.where(left, 0.5, 1.0 - q)))


class Logistic(Symmetric):
    """The logistic distribution, whose function is ``expit``."""

    title = "the logistic distribution"

    def log_density(self, xp: Any, y: Any) -> Any:
        near = xp.abs(y) < 2.0  # the absolute value has a kink at 0
        inside = -2.0 * xp.log(2.0 * xp.cosh(0.5 * xp.where(near, y, 0.0)))
        size = xp.where(near, 2.0, xp.abs(y))
        return xp.where(near, inside, -size - 2.0 * xp.log1p(xp.exp(-size)))

    def cdf(self, xp: Any, y: Any) -> Any:
        return xp.special.expit(y)

    def log_cdf(self, xp: Any, y: Any) -> Any:
        return xp.special.log_expit(y)

    def quantile(self, xp: Any, q: Any) -> Any:
        return xp.special.logit(q)


class Cauchy(Symmetric):
    """The Cauchy distribution."""

    title = "the Cauchy distribution"

    def log_density(self, xp: Any, y: Any) -> Any:
        return -math.log(math.pi) - _log_one_plus_square(y, xp)

    def cdf(self, xp: Any, y: Any) -> Any:
        return xp.atan2(xp.ones_like(y), -y) / math.pi

    def quantile(self, xp: Any, q: Any) -> Any:
        low, high = q < 0.25, q > 0.75
        middle = xp.logical_not(xp.logical_or(low, high))
        tail = xp.where(middle, 0.25, xp.where(low, q, 1.0 - q))
        far = xp.where(low, xp.full_like(q, -1.0), 1.0) / xp.tan(math.pi * tail)
        return xp.where(middle, xp.tan(math.pi * (xp.where(middle, q, 0.5) - 0.5)), far)


class Student(Symmetric):
    """Student's distribution (A&S 26.7); of infinite df it is the normal one."""

    title = "Student's distribution"
    shapes = ("df",)

    def log_density(self, xp: Any, y: Any, df: Any) -> Any:
        def log_density(y: Any, df: Any) -> Any:
            log = xp.special.betaln(0.5 * df, 0.5) + 0.5 * xp.log(df)
            return -0.5 * (df + 1.0) * _log_one_plus_square(y / xp.sqrt(df), xp) - log

        return self._or_normal(xp, "log_density", y, df, log_density)

    def cdf(self, xp: Any, y: Any, df: Any) -> Any:
        return self._or_normal(xp, "cdf", y, df, lambda y, df: xp.special.stdtr(df, y))

    def log_cdf(self, xp: Any, y: Any, df: Any) -> Any:
        def far(y: Any, df: Any) -> Any:
            u = y / xp.sqrt(df)
            log_w = -_log_one_plus_square(u, xp)
            log_rest = 2.0 * xp.log(-u) + log_w
            return far_beta(xp, 0.5 * df, 0.5, xp.exp(log_w), log_w, log_rest) - LOG_2

        def log_cdf(y: Any, df: Any) -> Any:
            values = xp.special.stdtr(df, y), xp.special.stdtr(df, -y)
            beyond = y < -1e3 * xp.sqrt(df)  # the density is less than the integral
            return log_of(xp, *values, [(y, -2.0), (df, 1.0)], far, beyond)

        return self._or_normal(xp, "log_cdf", y, df, log_cdf)

    def quantile(self, xp: Any, q: Any, df: Any) -> Any:
        return self._or_normal(xp, "quantile", q, df, lambda q, df: xp.special.stdtrit(df, q))

    def _or_normal(self, xp: Any, name: str, at: Any, df: Any, own: Callable[..., Any]) -> Any:
        normal = df == math.inf
        out = own(at, xp.where(normal, 1.0, df))
        return xp.where(normal, getattr(NORMAL, name)(xp, xp.where(normal, at, 0.5)), out)


NORMAL = Normal()
ON_THE_LINE: dict[str, Continuous] = {
    "cauchy": Cauchy(),
    "laplace": Laplace(),
    "logistic": Logistic(),
    "norm": NORMAL,
    "t": Student(),
}
