"""Continuous distributions of ``scipy.stats``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnograd_scipy.distributions import Continuous, flipped, register, symmetric, transformed
from agnograd_scipy.tails import far_beta, log_beta, log_gamma_above, log_gamma_below, log_of

__all__ = ["BETA", "DISTRIBUTIONS", "GAMMA"]

_LOG_2 = math.log(2.0)
_ROOT_2 = math.sqrt(2.0)
_LOG_PEAK = -0.5 * math.log(2.0 * math.pi)  # of the normal density

# -- of all real numbers ---------------------------------------------------------------------------

NORMAL = symmetric(
    title="the normal distribution",  # DLMF 7.18
    log_density=lambda xp, y: -0.5 * y * y + _LOG_PEAK,
    cdf=lambda xp, y: 0.5 * xp.special.erfc(-y / _ROOT_2),  # PyTorch's ndtr is 0 where it is tiny
    log_cdf=lambda xp, y: xp.special.log_ndtr(y),
    quantile=lambda xp, q: xp.special.ndtri(q),
)


def _laplace_cdf(xp: Any, y: Any) -> Any:
    left = y < 0.0
    below = 0.5 * xp.exp(xp.where(left, y, 0.0))
    return xp.where(left, below, 1.0 - 0.5 * xp.exp(-xp.where(left, 0.0, y)))


def _laplace_log_cdf(xp: Any, y: Any) -> Any:
    left = y < 0.0
    return xp.where(left, y - _LOG_2, xp.log1p(-0.5 * xp.exp(-xp.where(left, 0.0, y))))


def _laplace_quantile(xp: Any, q: Any) -> Any:
    left = q < 0.5
    below = xp.log(2.0 * xp.where(left, q, 0.5))
    return xp.where(left, below, -xp.log(2.0 * xp.where(left, 0.5, 1.0 - q)))


def _logistic_log_density(xp: Any, y: Any) -> Any:
    near = xp.abs(y) < 2.0  # the absolute value has a kink at 0
    inside = -2.0 * xp.log(2.0 * xp.cosh(0.5 * xp.where(near, y, 0.0)))
    size = xp.where(near, 2.0, xp.abs(y))
    return xp.where(near, inside, -size - 2.0 * xp.log1p(xp.exp(-size)))


def _log_one_plus_square(u: Any, xp: Any) -> Any:
    """Return ``log(1 + u**2)``, also where the square is not a number."""
    large = xp.abs(u) > 1e3
    far = xp.where(large, xp.abs(u), 1.0)
    inverse, near = 1.0 / far, xp.where(large, 0.0, u)
    return xp.where(large, 2.0 * xp.log(far) + xp.log1p(inverse * inverse), xp.log1p(near * near))


def _cauchy_quantile(xp: Any, q: Any) -> Any:
    low, high = q < 0.25, q > 0.75
    middle = xp.logical_not(xp.logical_or(low, high))
    tail = xp.where(middle, 0.25, xp.where(low, q, 1.0 - q))
    far = xp.where(low, xp.full_like(q, -1.0), 1.0) / xp.tan(math.pi * tail)
    return xp.where(middle, xp.tan(math.pi * (xp.where(middle, q, 0.5) - 0.5)), far)


def _or_normal(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of Student's distribution, which is the normal one if df is infinite."""

    def function(xp: Any, at: Any, df: Any) -> Any:
        normal = df == math.inf
        out = own(xp, at, xp.where(normal, 1.0, df))
        return xp.where(normal, getattr(NORMAL, name)(xp, xp.where(normal, at, 0.5)), out)

    return function


def _student_log_density(xp: Any, y: Any, df: Any) -> Any:
    log = xp.special.betaln(0.5 * df, 0.5) + 0.5 * xp.log(df)
    return -0.5 * (df + 1.0) * _log_one_plus_square(y / xp.sqrt(df), xp) - log


def _student_log_cdf(xp: Any, y: Any, df: Any) -> Any:
    def far(y: Any, df: Any) -> Any:
        u = y / xp.sqrt(df)
        log_w = -_log_one_plus_square(u, xp)
        log_rest = 2.0 * xp.log(-u) + log_w
        return far_beta(xp, 0.5 * df, 0.5, xp.exp(log_w), log_w, log_rest) - _LOG_2

    values = xp.special.stdtr(df, y), xp.special.stdtr(df, -y)
    beyond = y < -1e3 * xp.sqrt(df)  # the density is less than the integral
    return log_of(xp, *values, [(y, -2.0), (df, 1.0)], far, beyond)


# -- of positive numbers ---------------------------------------------------------------------------


def _exponential_log_cdf(xp: Any, y: Any) -> Any:
    near = y < _LOG_2
    low = xp.log(-xp.expm1(-xp.where(near, y, 1.0)))
    return xp.where(near, low, xp.log1p(-xp.exp(-xp.where(near, 1.0, y))))


EXPONENTIAL = Continuous(
    title="the exponential distribution",
    lower=0.0,
    log_density=lambda xp, y: -y,
    cdf=lambda xp, y: -xp.expm1(-y),
    sf=lambda xp, y: xp.exp(-y),
    log_cdf=_exponential_log_cdf,
    log_sf=lambda xp, y: -y,
    quantile=lambda xp, q: -xp.log1p(-q),
    upper_quantile=lambda xp, q: -xp.log(q),
)
GAMMA = Continuous(
    title="the gamma distribution",  # DLMF 8.2
    shapes=("a",),
    lower=0.0,
    log_density=lambda xp, y, a: xp.special.xlogy(a - 1.0, y) - y - xp.special.gammaln(a),
    density=lambda xp, y, a: xp.special.gamma_density(a, y),
    cdf=lambda xp, y, a: xp.special.gammainc(a, y),
    sf=lambda xp, y, a: xp.special.gammaincc(a, y),
    log_cdf=lambda xp, y, a: log_gamma_below(xp, a, y),
    log_sf=lambda xp, y, a: log_gamma_above(xp, a, y),
    quantile=lambda xp, q, a: xp.special.gammaincinv(a, q),
    upper_quantile=lambda xp, q, a: xp.special.gammainccinv(a, q),
)


def _half_normal_log_sf(xp: Any, y: Any) -> Any:
    near = y < 1.0
    low = xp.log1p(-xp.special.erf(xp.where(near, y, 0.0) / _ROOT_2))
    return xp.where(near, low, xp.special.log_ndtr(-xp.where(near, 1.0, y)) + _LOG_2)


def _weibull_density(xp: Any, y: Any, c: Any) -> Any:
    power = y**c
    alive = power < 800.0
    near = xp.where(alive, y, 1.0)
    return xp.where(alive, c * near ** (c - 1.0) * xp.exp(-xp.where(alive, power, 0.0)), 0.0)


# -- of an interval --------------------------------------------------------------------------------


def _beta_log_density(xp: Any, y: Any, a: Any, b: Any) -> Any:
    logs = xp.special.xlogy(a - 1.0, y) + xp.special.xlog1py(b - 1.0, -y)
    return logs - xp.special.betaln(a, b)


BETA = Continuous(
    title="the beta distribution",  # DLMF 8.17
    shapes=("a", "b"),
    lower=0.0,
    upper=1.0,
    log_density=_beta_log_density,
    density=lambda xp, y, a, b: xp.special.beta_density(a, b, y),
    cdf=lambda xp, y, a, b: xp.special.betainc(a, b, y),
    sf=lambda xp, y, a, b: xp.special.betaincc(a, b, y),
    log_cdf=lambda xp, y, a, b: log_beta(xp, a, b, y),
    log_sf=lambda xp, y, a, b: log_beta(xp, a, b, y, above=True),
    quantile=lambda xp, q, a, b: xp.special.betaincinv(a, b, q),
    upper_quantile=lambda xp, q, a, b: xp.special.betainccinv(a, b, q),
)


DISTRIBUTIONS: dict[str, Continuous] = {
    "beta": BETA,
    "cauchy": symmetric(
        title="the Cauchy distribution",
        log_density=lambda xp, y: -math.log(math.pi) - _log_one_plus_square(y, xp),
        cdf=lambda xp, y: xp.atan2(xp.ones_like(y), -y) / math.pi,
        quantile=_cauchy_quantile,
    ),
    "chi2": transformed(  # twice what has a gamma distribution
        GAMMA,
        to_base=lambda xp, y, df: 0.5 * y,
        from_base=lambda xp, z, df: 2.0 * z,
        log_slope=lambda xp, y, df: -_LOG_2,
        of_base=lambda df: (0.5 * df,),
        title="the chi-square distribution",  # A&S 26.4
        shapes=("df",),
        lower=0.0,
        density=lambda xp, y, df: 0.5 * xp.special.gamma_density(0.5 * df, 0.5 * y),
    ),
    "expon": EXPONENTIAL,
    "gamma": GAMMA,
    "halfnorm": Continuous(
        title="the half-normal distribution",
        lower=0.0,
        log_density=lambda xp, y: -0.5 * y * y + (_LOG_PEAK + _LOG_2),
        cdf=lambda xp, y: xp.special.erf(y / _ROOT_2),
        sf=lambda xp, y: xp.special.erfc(y / _ROOT_2),
        log_sf=_half_normal_log_sf,
        quantile=lambda xp, q: _ROOT_2 * xp.special.erfinv(q),
        upper_quantile=lambda xp, q: _ROOT_2 * xp.special.erfcinv(q),
    ),
    "invgamma": transformed(  # the reciprocal, which decreases, of what has a gamma distribution
        flipped(GAMMA),
        to_base=lambda xp, y, a: 1.0 / y,
        from_base=lambda xp, z, a: 1.0 / z,
        log_slope=lambda xp, y, a: -2.0 * xp.log(y),
        of_base=lambda a: (a,),
        title="the inverse gamma distribution",
        shapes=("a",),
        lower=0.0,
        open=True,
    ),
    "laplace": symmetric(  # exponential ones to both sides
        title="the Laplace distribution",
        log_density=lambda xp, y: -xp.abs(y) - _LOG_2,
        cdf=_laplace_cdf,
        log_cdf=_laplace_log_cdf,
        quantile=_laplace_quantile,
    ),
    "logistic": symmetric(
        title="the logistic distribution",
        log_density=_logistic_log_density,
        cdf=lambda xp, y: xp.special.expit(y),
        log_cdf=lambda xp, y: xp.special.log_expit(y),
        quantile=lambda xp, q: xp.special.logit(q),
    ),
    "lognorm": transformed(  # the exponential of s times what has a normal distribution
        NORMAL,
        to_base=lambda xp, y, s: xp.log(y) / s,
        from_base=lambda xp, z, s: xp.exp(s * z),
        log_slope=lambda xp, y, s: -xp.log(y) - xp.log(s),
        title="the log-normal distribution",
        shapes=("s",),
        lower=0.0,
        open=True,
    ),
    "norm": NORMAL,
    "pareto": transformed(  # the exponential of what has an exponential distribution, over b
        EXPONENTIAL,
        to_base=lambda xp, y, b: b * xp.log(y),
        from_base=lambda xp, z, b: xp.exp(z / b),
        log_slope=lambda xp, y, b: xp.log(b) - xp.log(y),
        title="the Pareto distribution",
        shapes=("b",),
        lower=1.0,
    ),
    "t": symmetric(
        title="Student's distribution",  # A&S 26.7
        shapes=("df",),
        log_density=_or_normal("log_density", _student_log_density),
        cdf=_or_normal("cdf", lambda xp, y, df: xp.special.stdtr(df, y)),
        log_cdf=_or_normal("log_cdf", _student_log_cdf),
        quantile=_or_normal("quantile", lambda xp, q, df: xp.special.stdtrit(df, q)),
    ),
    "uniform": Continuous(
        title="the uniform distribution",
        lower=0.0,
        upper=1.0,
        log_density=lambda xp, y: xp.zeros_like(y),
        cdf=lambda xp, y: y,
        sf=lambda xp, y: 1.0 - y,
        quantile=lambda xp, q: q,
        upper_quantile=lambda xp, q: 1.0 - q,
    ),
    "weibull_min": transformed(  # the root of order c of what has an exponential distribution
        EXPONENTIAL,
        to_base=lambda xp, y, c: y**c,
        from_base=lambda xp, z, c: z ** (1.0 / c),
        log_slope=lambda xp, y, c: xp.log(c) + xp.special.xlogy(c - 1.0, y),
        title="the Weibull distribution",
        shapes=("c",),
        lower=0.0,
        density=_weibull_density,
    ),
}
for _name, _distribution in DISTRIBUTIONS.items():
    register(_name, _distribution)
