"""Distribution functions and their inverses (DLMF 8.17, A&S 26).

The derivative of a distribution function is its density, that of an inverse one over the density.
"""

from __future__ import annotations

from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import elementwise, inverse, minus
from agnograd_special.gamma import INTEGER

__all__: list[str] = []


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
inverse("betaincinv(a, b, y, /)", _beta, a=_beta_by_a, b=_beta_by_b)
inverse("betainccinv(a, b, y, /)", _beta, -1.0, a=_beta_by_a, b=_beta_by_b)

# The binomial, negative binomial and Poisson distributions
elementwise("bdtr(k, n, p, /)", k=INTEGER, n=INTEGER, p=minus(_binomial))
elementwise("bdtrc(k, n, p, /)", k=INTEGER, n=INTEGER, p=_binomial)
inverse("bdtri(k, n, y, /)", _binomial, -1.0, k=INTEGER, n=INTEGER)
elementwise("nbdtr(k, n, p, /)", k=INTEGER, n=INTEGER, p=_negative_binomial)
elementwise("nbdtrc(k, n, p, /)", k=INTEGER, n=INTEGER, p=minus(_negative_binomial))
inverse("nbdtri(k, n, y, /)", _negative_binomial, k=INTEGER, n=INTEGER)
elementwise("pdtr(k, m, /)", k=INTEGER, m=minus(_poisson))
elementwise("pdtrc(k, m, /)", k=INTEGER, m=_poisson)
inverse("pdtri(k, y, /)", _poisson, -1.0, k=INTEGER)

# The chi-squared and gamma distributions
elementwise("chdtr(v, x, /)", v=_chi_square_by_v, x=_chi_square)
elementwise("chdtrc(v, x, /)", v=minus(_chi_square_by_v), x=minus(_chi_square))
inverse("chdtri(v, p, /)", _chi_square, -1.0, v=_chi_square_by_v)
elementwise("gdtr(a, b, x, /)", a=_gamma_a, b=_gamma_by_b, x=_gamma)
elementwise("gdtrc(a, b, x, /)", a=minus(_gamma_a), b=minus(_gamma_by_b), x=minus(_gamma))
elementwise(
    "gdtrix(a, b, p, /)",
    a=lambda a, out: -out / a,
    b=lambda a, b, out, xp: -_gamma_by_b(a, b, out, xp) / _gamma(a, b, out, xp),
    p=lambda a, b, out, xp: 1 / _gamma(a, b, out, xp),
)
