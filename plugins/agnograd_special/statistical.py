"""Distribution functions and their inverses (DLMF 8.17, A&S 26).

The derivative of a distribution function is its density, that of an inverse one over the density.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import elementwise
from agnograd_special.gamma import INTEGER

__all__ = ["minus"]


def minus(density: Callable[..., Any]) -> Callable[..., Any]:
    """Return the negative of a rule, which asks for the same."""

    @functools.wraps(density)
    def rule(*args: Any, **kwargs: Any) -> Any:
        return -density(*args, **kwargs)

    return rule


# -- densities -------------------------------------------------------------------------------------


def _beta(a: Any, b: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``betainc(a, b, x)`` with respect to x (DLMF 8.17.20)."""
    return xp.special.beta_density(a, b, x)


def _chi_square(v: Any, x: Any, xp: Any) -> Any:
    # A&S 26.4.1
    v, x = floats(xp, v, x)
    return 0.5 * xp.special.gamma_density(0.5 * v, 0.5 * x)


def _gamma(a: Any, b: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``gdtr(a, b, x)``, gammainc(b, a x), with respect to x."""
    a, b, x = floats(xp, a, b, x)
    return a * xp.special.gamma_density(b, a * x)


def _gamma_a(a: Any, b: Any, x: Any, xp: Any) -> Any:
    return _gamma(x, b, a, xp)  # a and x come as their product


def _binomial(k: Any, n: Any, p: Any, xp: Any) -> Any:
    """Return minus the derivative of ``bdtr(k, n, p)``, betainc(n - k, k + 1, 1 - p)."""
    k, n, p = floats(xp, k, n, p)
    k = xp.floor(k)
    return _beta(k + 1.0, n - k, p, xp)


def _negative_binomial(k: Any, n: Any, p: Any, xp: Any) -> Any:
    # A&S 26.5.26: betainc(n, k + 1, p)
    k, n, p = floats(xp, k, n, p)
    return _beta(n, k + 1.0, p, xp)


def _poisson(k: Any, m: Any, xp: Any) -> Any:
    """Return minus the derivative of ``pdtr(k, m)``, gammaincc(k + 1, m)."""
    k, m = floats(xp, k, m)
    return xp.special.gamma_density(xp.floor(k) + 1.0, m)


# -- derivatives by shapes -------------------------------------------------------------------------


def _beta_by_a(a: Any, b: Any, x: Any, xp: Any) -> Any:
    return xp.special.betainc_by_shapes(a, b, x)


def _beta_by_b(a: Any, b: Any, x: Any, xp: Any) -> Any:
    return xp.special.betainc_by_shapes(a, b, x, by_a=0, by_b=1)


def _over_beta(by_shape: Callable[..., Any]) -> Callable[..., Any]:
    """Return how an inverse moves with a shape: the function's value stays what it is."""

    def rule(a: Any, b: Any, out: Any, xp: Any) -> Any:
        return -by_shape(a, b, out, xp) / _beta(a, b, out, xp)

    return rule


def _chi_square_by_v(v: Any, x: Any, xp: Any) -> Any:
    v, x = floats(xp, v, x)
    return 0.5 * xp.special.gammainc_by_shape(0.5 * v, 0.5 * x)


def _gamma_by_b(a: Any, b: Any, x: Any, xp: Any) -> Any:
    a, b, x = floats(xp, a, b, x)
    return xp.special.gammainc_by_shape(b, a * x)


# -- distribution functions, what is left of them, and inverses ------------------------------------

# The beta distribution
elementwise("betainc(a, b, x, /)", a=_beta_by_a, b=_beta_by_b, x=_beta)
elementwise("betaincc(a, b, x, /)", a=minus(_beta_by_a), b=minus(_beta_by_b), x=minus(_beta))
elementwise(
    "betaincinv(a, b, y, /)",
    a=_over_beta(_beta_by_a),
    b=_over_beta(_beta_by_b),
    y=lambda a, b, out, xp: 1 / _beta(a, b, out, xp),
)
elementwise(
    "betainccinv(a, b, y, /)",
    a=_over_beta(_beta_by_a),
    b=_over_beta(_beta_by_b),
    y=lambda a, b, out, xp: -1 / _beta(a, b, out, xp),
)

# The binomial, negative binomial and Poisson distributions
elementwise("bdtr(k, n, p, /)", k=INTEGER, n=INTEGER, p=minus(_binomial))
elementwise("bdtrc(k, n, p, /)", k=INTEGER, n=INTEGER, p=_binomial)
elementwise(
    "bdtri(k, n, y, /)",
    k=INTEGER,
    n=INTEGER,
    y=lambda k, n, out, xp: -1 / _binomial(k, n, out, xp),
)
elementwise("nbdtr(k, n, p, /)", k=INTEGER, n=INTEGER, p=_negative_binomial)
elementwise("nbdtrc(k, n, p, /)", k=INTEGER, n=INTEGER, p=minus(_negative_binomial))
elementwise(
    "nbdtri(k, n, y, /)",
    k=INTEGER,
    n=INTEGER,
    y=lambda k, n, out, xp: 1 / _negative_binomial(k, n, out, xp),
)
elementwise("pdtr(k, m, /)", k=INTEGER, m=minus(_poisson))
elementwise("pdtrc(k, m, /)", k=INTEGER, m=_poisson)
elementwise("pdtri(k, y, /)", k=INTEGER, y=lambda k, out, xp: -1 / _poisson(k, out, xp))

# The chi-squared and gamma distributions
elementwise("chdtr(v, x, /)", v=_chi_square_by_v, x=_chi_square)
elementwise("chdtrc(v, x, /)", v=minus(_chi_square_by_v), x=minus(_chi_square))
elementwise(
    "chdtri(v, p, /)",
    v=lambda v, out, xp: -_chi_square_by_v(v, out, xp) / _chi_square(v, out, xp),
    p=lambda v, out, xp: -1 / _chi_square(v, out, xp),
)
elementwise("gdtr(a, b, x, /)", a=_gamma_a, b=_gamma_by_b, x=_gamma)
elementwise("gdtrc(a, b, x, /)", a=minus(_gamma_a), b=minus(_gamma_by_b), x=minus(_gamma))
elementwise(
    "gdtrix(a, b, p, /)",
    a=lambda a, out: -out / a,
    b=lambda a, b, out, xp: -_gamma_by_b(a, b, out, xp) / _gamma(a, b, out, xp),
    p=lambda a, b, out, xp: 1 / _gamma(a, b, out, xp),
)
