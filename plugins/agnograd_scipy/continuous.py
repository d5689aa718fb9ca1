"""Continuous distributions of ``scipy.stats``: those of an interval, and the table of all."""

from __future__ import annotations

from typing import Any

from agnograd_scipy.distributions import Continuous, register
from agnograd_scipy.line import ON_THE_LINE
from agnograd_scipy.positive import POSITIVE
from agnograd_scipy.tails import log_beta

__all__ = ["DISTRIBUTIONS"]


class Uniform(Continuous):
    """The uniform distribution from 0 to 1."""

    title = "the uniform distribution"
    lower, upper = 0.0, 1.0

    def log_density(self, xp: Any, y: Any) -> Any:
        return xp.zeros_like(y)

    def cdf(self, xp: Any, y: Any) -> Any:
        return y

    def sf(self, xp: Any, y: Any) -> Any:
        return 1.0 - y

    def quantile(self, xp: Any, q: Any) -> Any:
        return q

    def upper_quantile(self, xp: Any, q: Any) -> Any:
        return 1.0 - q


class Beta(Continuous):
    """The beta distribution (DLMF 8.17)."""

    title = "the beta distribution"
    shapes = ("a", "b")
    lower, upper = 0.0, 1.0

    def log_density(self, xp: Any, y: Any, a: Any, b: Any) -> Any:
        logs = xp.special.xlogy(a - 1.0, y) + xp.special.xlog1py(b - 1.0, -y)
        return logs - xp.special.betaln(a, b)

    def density(self, xp: Any, y: Any, a: Any, b: Any) -> Any:
        return xp.special.beta_density(a, b, y)

    def cdf(self, xp: Any, y: Any, a: Any, b: Any) -> Any:
        return xp.special.betainc(a, b, y)

    def sf(self, xp: Any, y: Any, a: Any, b: Any) -> Any:
        return xp.special.betaincc(a, b, y)

    def log_cdf(self, xp: Any, y: Any, a: Any, b: Any) -> Any:
        return log_beta(xp, a, b, y)

    def log_sf(self, xp: Any, y: Any, a: Any, b: Any) -> Any:
        return log_beta(xp, a, b, y, above=True)

    def quantile(self, xp: Any, q: Any, a: Any, b: Any) -> Any:
        return xp.special.betaincinv(a, b, q)

    def upper_quantile(self, xp: Any, q: Any, a: Any, b: Any) -> Any:
        return xp.special.betainccinv(a, b, q)


DISTRIBUTIONS: dict[str, Continuous] = {
    "beta": Beta(),
    "uniform": Uniform(),
    **ON_THE_LINE,
    **POSITIVE,
}
for _name, _distribution in DISTRIBUTIONS.items():
    register(_name, _distribution)
