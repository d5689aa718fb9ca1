"""Distributions of positive numbers, of ``scipy.stats``."""

from __future__ import annotations

import math
from typing import Any

from agnograd_scipy.distributions import Continuous, Transformed
from agnograd_scipy.line import LOG_2, LOG_PEAK, NORMAL
from agnograd_scipy.tails import log_gamma_above, log_gamma_below

__all__ = ["POSITIVE"]

_ROOT_2 = math.sqrt(2.0)


class Exponential(Continuous):
    """The exponential distribution."""

    title = "the exponential distribution"
    lower = 0.0

    def log_density(self, xp: Any, y: Any) -> Any:
        return -y

    def cdf(self, xp: Any, y: Any) -> Any:
        return -xp.expm1(-y)

    def sf(self, xp: Any, y: Any) -> Any:
        return xp.exp(-y)

    def log_cdf(self, xp: Any, y: Any) -> Any:
        near = y < LOG_2
        low = xp.log(-xp.expm1(-xp.where(near, y, 1.0)))
        return xp.where(near, low, xp.log1p(-xp.exp(-xp.where(near, 1.0, y))))

    def log_sf(self, xp: Any, y: Any) -> Any:
        return -y

    def quantile(self, xp: Any, q: Any) -> Any:
        return -xp.log1p(-q)

    def upper_quantile(self, xp: Any, q: Any) -> Any:
        return -xp.log(q)


class Gamma(Continuous):
    """The gamma distribution (DLMF 8.2)."""

    title = "the gamma distribution"
    shapes = ("a",)
    lower = 0.0

    def log_density(self, xp: Any, y: Any, a: Any) -> Any:
        return xp.special.xlogy(a - 1.0, y) - y - xp.special.gammaln(a)

    def density(self, xp: Any, y: Any, a: Any) -> Any:
        return xp.special.gamma_density(a, y)

    def cdf(self, xp: Any, y: Any, a: Any) -> Any:
        return xp.special.gammainc(a, y)

    def sf(self, xp: Any, y: Any, a: Any) -> Any:
        return xp.special.gammaincc(a, y)

    def log_cdf(self, xp: Any, y: Any, a: Any) -> Any:
        return log_gamma_below(xp, a, y)

    def log_sf(self, xp: Any, y: Any, a: Any) -> Any:
        return log_gamma_above(xp, a, y)

    def quantile(self, xp: Any, q: Any, a: Any) -> Any:
        return xp.special.gammaincinv(a, q)

    def upper_quantile(self, xp: Any, q: Any, a: Any) -> Any:
        return xp.special.gammainccinv(a, q)


class HalfNormal(Continuous):
    """The normal distribution of sizes."""

    title = "the half-normal distribution"
    lower = 0.0

    def log_density(self, xp: Any, y: Any) -> Any:
        return -0.5 * y * y + (LOG_PEAK + LOG_2)

    def cdf(self, xp: Any, y: Any) -> Any:
        return xp.special.erf(y / _ROOT_2)

    def sf(self, xp: Any, y: Any) -> Any:
        return xp.special.erfc(y / _ROOT_2)

    def log_sf(self, xp: Any, y: Any) -> Any:
        near = y < 1.0
        low = xp.log1p(-xp.special.erf(xp.where(near, y, 0.0) / _ROOT_2))
        return xp.where(near, low, xp.special.log_ndtr(-xp.where(near, 1.0, y)) + LOG_2)

    def quantile(self, xp: Any, q: Any) -> Any:
        return _ROOT_2 * xp.special.erfinv(q)

    def upper_quantile(self, xp: Any, q: Any) -> Any:
        return _ROOT_2 * xp.special.erfcinv(q)


class ChiSquare(Transformed):
    """The chi-square distribution (A&S 26.4): twice what has a gamma distribution."""

    title = "the chi-square distribution"
    shapes = ("df",)
    lower = 0.0
    base = Gamma()

    def of_base(self, df: Any) -> tuple[Any, ...]:
        return (0.5 * df,)

    def to_base(self, xp: Any, y: Any, df: Any) -> Any:
        return 0.5 * y

    def log_slope(self, xp: Any, y: Any, df: Any) -> Any:
        return -LOG_2

    def from_base(self, xp: Any, z: Any, df: Any) -> Any:
        return 2.0 * z

    def density(self, xp: Any, y: Any, df: Any) -> Any:
        return 0.5 * xp.special.gamma_density(0.5 * df, 0.5 * y)


class InverseGamma(Transformed):
    """The distribution of the reciprocal of what has a gamma distribution."""

    title = "the inverse gamma distribution"
    shapes = ("a",)
    lower, open = 0.0, True
    base, decreasing = Gamma(), True

    def of_base(self, a: Any) -> tuple[Any, ...]:
        return (a,)

    def to_base(self, xp: Any, y: Any, a: Any) -> Any:
        return 1.0 / y

    def from_base(self, xp: Any, z: Any, a: Any) -> Any:
        return 1.0 / z

    def log_slope(self, xp: Any, y: Any, a: Any) -> Any:
        return -2.0 * xp.log(y)


class LogNormal(Transformed):
    """The distribution of the exponential of s times what has a normal distribution."""

    title = "the log-normal distribution"
    shapes = ("s",)
    lower, open = 0.0, True
    base = NORMAL

    def to_base(self, xp: Any, y: Any, s: Any) -> Any:
        return xp.log(y) / s

    def from_base(self, xp: Any, z: Any, s: Any) -> Any:
        return xp.exp(s * z)

    def log_slope(self, xp: Any, y: Any, s: Any) -> Any:
        return -xp.log(y) - xp.log(s)


class Weibull(Transformed):
    """The distribution of the root of order c of what has an exponential distribution."""

    title = "the Weibull distribution"
    shapes = ("c",)
    lower = 0.0
    base = Exponential()

    def to_base(self, xp: Any, y: Any, c: Any) -> Any:
        return y**c

    def from_base(self, xp: Any, z: Any, c: Any) -> Any:
        return z ** (1.0 / c)

    def log_slope(self, xp: Any, y: Any, c: Any) -> Any:
        return xp.log(c) + xp.special.xlogy(c - 1.0, y)

    def density(self, xp: Any, y: Any, c: Any) -> Any:
        power = y**c
        alive = power < 800.0
        near = xp.where(alive, y, 1.0)
        return xp.where(alive, c * near ** (c - 1.0) * xp.exp(-xp.where(alive, power, 0.0)), 0.0)


class Pareto(Transformed):
    """The distribution of the exponential of what has an exponential distribution, over b."""

    title = "the Pareto distribution"
    shapes = ("b",)
    lower = 1.0
    base = Exponential()

    def to_base(self, xp: Any, y: Any, b: Any) -> Any:
        return b * xp.log(y)

    def from_base(self, xp: Any, z: Any, b: Any) -> Any:
        return xp.exp(z / b)

    def log_slope(self, xp: Any, y: Any, b: Any) -> Any:
        return xp.log(b) - xp.log(y)


POSITIVE: dict[str, Continuous] = {
    "chi2": ChiSquare(),
    "expon": Exponential(),
    "gamma": Gamma(),
    "halfnorm": HalfNormal(),
    "invgamma": InverseGamma(),
    "lognorm": LogNormal(),
    "pareto": Pareto(),
    "weibull_min": Weibull(),
}
