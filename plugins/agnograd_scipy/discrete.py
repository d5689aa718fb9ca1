"""Discrete distributions of ``scipy.stats``: each is a density of the gamma or beta distribution.

So they have the digits of these, and their distribution functions are theirs (DLMF 8.17, A&S 26).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from agnograd_scipy import stats
from agnograd_scipy.distributions import Discrete, register
from agnograd_scipy.tails import log_beta, log_gamma_above, log_gamma_below

__all__ = ["DISTRIBUTIONS"]

stats.elementwise(
    "stats.integer(k, /)",
    k="what a discrete distribution is a distribution of is an integer",
    forward=lambda xp, k: xp.positive(k),
)


class Poisson(Discrete):
    """The Poisson distribution (A&S 26.4.21)."""

    title = "the Poisson distribution"
    shapes = ("mu",)

    def valid(self, xp: Any, mu: Any) -> Any:
        return mu >= 0.0

    def log_density(self, xp: Any, k: Any, mu: Any) -> Any:
        return xp.special.xlogy(k, mu) - mu - xp.special.gammaln(k + 1.0)

    def density(self, xp: Any, k: Any, mu: Any) -> Any:
        return xp.special.gamma_density(k + 1.0, mu)

    def cdf(self, xp: Any, k: Any, mu: Any) -> Any:
        return xp.special.gammaincc(k + 1.0, mu)

    def sf(self, xp: Any, k: Any, mu: Any) -> Any:
        return xp.special.gammainc(k + 1.0, mu)

    def log_cdf(self, xp: Any, k: Any, mu: Any) -> Any:
        return log_gamma_above(xp, k + 1.0, mu)

    def log_sf(self, xp: Any, k: Any, mu: Any) -> Any:
        return log_gamma_below(xp, k + 1.0, mu)


class Binomial(Discrete):
    """The binomial distribution (A&S 26.5.24)."""

    title = "the binomial distribution"
    shapes = ("n", "p")

    def valid(self, xp: Any, n: Any, p: Any) -> Any:
        whole = xp.logical_and(n >= 0.0, xp.floor(n) == n)
        return xp.logical_and(whole, xp.logical_and(p >= 0.0, p <= 1.0))

    def upper(self, n: Any, p: Any) -> Any:
        return n

    def log_density(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        n = xp.stats.integer(n)
        logs = xp.special.xlogy(k, p) + xp.special.xlog1py(n - k, -p)
        return logs - xp.special.betaln(k + 1.0, n - k + 1.0) - xp.log(n + 1.0)

    def density(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        n = xp.stats.integer(n)
        return xp.special.beta_density(k + 1.0, n - k + 1.0, p) / (n + 1.0)

    def cdf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return xp.special.betaincc(*self._shapes(xp, k, n), p)

    def sf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return xp.special.betainc(*self._shapes(xp, k, n), p)

    def log_cdf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return log_beta(xp, *self._shapes(xp, k, n), p, above=True)

    def log_sf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return log_beta(xp, *self._shapes(xp, k, n), p)

    def _shapes(self, xp: Any, k: Any, n: Any) -> tuple[Any, Any]:
        n = xp.stats.integer(n)
        return k + 1.0, xp.where(n > k, n - k, 1.0)


class NegativeBinomial(Discrete):
    """The negative binomial distribution (A&S 26.5.26)."""

    title = "the negative binomial distribution"
    shapes = ("n", "p")

    def valid(self, xp: Any, n: Any, p: Any) -> Any:
        return xp.logical_and(n > 0.0, xp.logical_and(p > 0.0, p <= 1.0))

    def log_density(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        logs = n * xp.log(p) + xp.special.xlog1py(k, -p)
        return logs - xp.special.betaln(n, k + 1.0) - xp.log(n + k)

    def density(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return xp.special.beta_density(n, k + 1.0, p) * (p / (n + k))

    def cdf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return xp.special.betainc(n, k + 1.0, p)

    def sf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return xp.special.betaincc(n, k + 1.0, p)

    def log_cdf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return log_beta(xp, n, k + 1.0, p)

    def log_sf(self, xp: Any, k: Any, n: Any, p: Any) -> Any:
        return log_beta(xp, n, k + 1.0, p, above=True)


def _of_base(function: str) -> Callable[..., Any]:
    def method(self: Reduced, xp: Any, k: Any, p: Any) -> Any:
        return getattr(self.base, function)(xp, k - self.lower, xp.ones_like(p), p)

    return method


class Reduced(Discrete):
    """A distribution that is another one of n = 1."""

    shapes = ("p",)
    base: ClassVar[Discrete]
    log_density, density = _of_base("log_density"), _of_base("density")
    cdf, sf = _of_base("cdf"), _of_base("sf")
    log_cdf, log_sf = _of_base("log_cdf"), _of_base("log_sf")


class Bernoulli(Reduced):
    """The Bernoulli distribution."""

    title = "the Bernoulli distribution"
    base = Binomial()

    def valid(self, xp: Any, p: Any) -> Any:
        return xp.logical_and(p >= 0.0, p <= 1.0)

    def upper(self, p: Any) -> Any:
        return 1.0


class Geometric(Reduced):
    """The geometric distribution, of the number of trials."""

    title = "the geometric distribution"
    base = NegativeBinomial()
    lower = inside = 1.0

    def valid(self, xp: Any, p: Any) -> Any:
        return xp.logical_and(p > 0.0, p <= 1.0)


DISTRIBUTIONS: dict[str, Discrete] = {
    "bernoulli": Bernoulli(),
    "binom": Binomial(),
    "geom": Geometric(),
    "nbinom": NegativeBinomial(),
    "poisson": Poisson(),
}
for _name, _distribution in DISTRIBUTIONS.items():
    register(_name, _distribution)
