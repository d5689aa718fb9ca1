"""Discrete distributions of ``scipy.stats``: each is a density of the gamma or beta distribution.

So they have the digits of these, and their distribution functions are theirs (DLMF 8.17, A&S 26).
"""

from __future__ import annotations

from typing import Any

from agnograd_scipy import stats
from agnograd_scipy.continuous import BETA, GAMMA
from agnograd_scipy.distributions import Discrete, flipped, register, through

__all__ = ["DISTRIBUTIONS"]

stats.elementwise(
    "stats.integer(k, /)",
    k="what a discrete distribution is a distribution of is an integer",
    forward=lambda xp, k: xp.positive(k),
)


def _is_probability(xp: Any, p: Any) -> Any:
    return xp.logical_and(p >= 0.0, p <= 1.0)


def _is_positive_probability(xp: Any, p: Any) -> Any:
    return xp.logical_and(p > 0.0, p <= 1.0)


def _are_binomial(xp: Any, n: Any, p: Any) -> Any:
    whole = xp.logical_and(n >= 0.0, xp.floor(n) == n)
    return xp.logical_and(whole, _is_probability(xp, p))


def _of_beta(xp: Any, k: Any, n: Any, p: Any) -> tuple[Any, ...]:
    """Return where the flipped beta distribution has the integrals of the binomial one."""
    n = xp.stats.integer(n)
    return p, k + 1.0, xp.where(n > k, n - k, 1.0)


def _binomial_log_density(xp: Any, k: Any, n: Any, p: Any) -> Any:
    n = xp.stats.integer(n)
    return BETA.log_density(xp, p, k + 1.0, n - k + 1.0) - xp.log(n + 1.0)


def _binomial_density(xp: Any, k: Any, n: Any, p: Any) -> Any:
    n = xp.stats.integer(n)
    return xp.special.beta_density(k + 1.0, n - k + 1.0, p) / (n + 1.0)


def _negative_log_density(xp: Any, k: Any, n: Any, p: Any) -> Any:
    logs = n * xp.log(p) + xp.special.xlog1py(k, -p)
    return logs - xp.special.betaln(n, k + 1.0) - xp.log(n + k)


BINOMIAL = Discrete(
    title="the binomial distribution",  # A&S 26.5.24
    shapes=("n", "p"),
    valid=_are_binomial,
    upper=lambda n, p: n,
    log_density=_binomial_log_density,
    density=_binomial_density,
    **through(flipped(BETA), _of_beta),
)
NEGATIVE_BINOMIAL = Discrete(
    title="the negative binomial distribution",  # A&S 26.5.26
    shapes=("n", "p"),
    valid=lambda xp, n, p: xp.logical_and(n > 0.0, _is_positive_probability(xp, p)),
    log_density=_negative_log_density,
    density=lambda xp, k, n, p: xp.special.beta_density(n, k + 1.0, p) * (p / (n + k)),
    **through(BETA, lambda xp, k, n, p: (p, n, k + 1.0)),
)
DISTRIBUTIONS: dict[str, Discrete] = {
    "bernoulli": Discrete(
        title="the Bernoulli distribution",
        shapes=("p",),
        valid=_is_probability,
        upper=lambda p: 1.0,
        **through(BINOMIAL, lambda xp, k, p: (k, xp.ones_like(p), p), density=True),
    ),
    "binom": BINOMIAL,
    "geom": Discrete(
        title="the geometric distribution",  # of the number of trials
        shapes=("p",),
        lower=1.0,
        inside=1.0,
        valid=_is_positive_probability,
        **through(NEGATIVE_BINOMIAL, lambda xp, k, p: (k - 1.0, xp.ones_like(p), p), density=True),
    ),
    "nbinom": NEGATIVE_BINOMIAL,
    "poisson": Discrete(
        title="the Poisson distribution",  # A&S 26.4.21
        shapes=("mu",),
        valid=lambda xp, mu: mu >= 0.0,
        **through(flipped(GAMMA), lambda xp, k, mu: (mu, k + 1.0), density=True),
    ),
}
for _name, _distribution in DISTRIBUTIONS.items():
    register(_name, _distribution)
