"""Distribution functions and their inverses (DLMF 8.17, A&S 26).

The derivative of a distribution function is its density, that of an inverse one over the density.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import elementwise
from agnograd_special.gamma import INTEGER, gamma_density

__all__: list[str] = []

_SHAPE = "it is an integral without a closed form"


def _minus(density: Callable[..., Any]) -> Callable[..., Any]:
    """Return the negative of a rule, which asks for the same."""

    @functools.wraps(density)
    def rule(*args: Any, **kwargs: Any) -> Any:
        return -density(*args, **kwargs)

    return rule


# -- densities -------------------------------------------------------------------------------------


def _beta(a: Any, b: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``betainc(a, b, x)`` with respect to x (DLMF 8.17.20)."""
    a, b, x = floats(xp, a, b, x)
    special = xp.special
    log = special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x)
    return xp.exp(log - special.betaln(a, b))


def _chi_square(v: Any, x: Any, xp: Any) -> Any:
    # A&S 26.4.1
    v, x = floats(xp, v, x)
    return 0.5 * gamma_density(0.5 * v, 0.5 * x, xp)


def _f(dfn: Any, dfd: Any, x: Any, xp: Any) -> Any:
    # A&S 26.6.2: betainc(dfn / 2, dfd / 2, w) with w = dfn x / (dfd + dfn x)
    dfn, dfd, x = floats(xp, dfn, dfd, x)
    total = dfd + dfn * x
    return _beta(0.5 * dfn, 0.5 * dfd, dfn * x / total, xp) * dfn * dfd / (total * total)


def _gamma(a: Any, b: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``gdtr(a, b, x)``, gammainc(b, a x), with respect to x."""
    a, b, x = floats(xp, a, b, x)
    return a * gamma_density(b, a * x, xp)


def _gamma_a(a: Any, b: Any, x: Any, xp: Any) -> Any:
    return _gamma(x, b, a, xp)  # a and x come as their product


def _student(df: Any, t: Any, xp: Any) -> Any:
    # A&S 26.7.1
    df, t = floats(xp, df, t)
    log = xp.special.betaln(0.5 * df, 0.5) + 0.5 * xp.log(df)
    return xp.exp(-0.5 * (df + 1.0) * xp.log1p(t * t / df) - log)


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
    return gamma_density(xp.floor(k) + 1.0, m, xp)


# -- distribution functions, what is left of them, and inverses ------------------------------------

# The beta distribution
elementwise("betainc(a, b, x, /)", a=_SHAPE, b=_SHAPE, x=_beta)
elementwise("betaincc(a, b, x, /)", a=_SHAPE, b=_SHAPE, x=_minus(_beta))
elementwise(
    "betaincinv(a, b, y, /)", a=_SHAPE, b=_SHAPE, y=lambda a, b, out, xp: 1 / _beta(a, b, out, xp)
)
elementwise(
    "betainccinv(a, b, y, /)",
    a=_SHAPE,
    b=_SHAPE,
    y=lambda a, b, out, xp: -1 / _beta(a, b, out, xp),
)

# The binomial, negative binomial and Poisson distributions
elementwise("bdtr(k, n, p, /)", k=INTEGER, n=INTEGER, p=_minus(_binomial))
elementwise("bdtrc(k, n, p, /)", k=INTEGER, n=INTEGER, p=_binomial)
elementwise(
    "bdtri(k, n, y, /)",
    k=INTEGER,
    n=INTEGER,
    y=lambda k, n, out, xp: -1 / _binomial(k, n, out, xp),
)
elementwise("nbdtr(k, n, p, /)", k=INTEGER, n=INTEGER, p=_negative_binomial)
elementwise("nbdtrc(k, n, p, /)", k=INTEGER, n=INTEGER, p=_minus(_negative_binomial))
elementwise(
    "nbdtri(k, n, y, /)",
    k=INTEGER,
    n=INTEGER,
    y=lambda k, n, out, xp: 1 / _negative_binomial(k, n, out, xp),
)
elementwise("pdtr(k, m, /)", k=INTEGER, m=_minus(_poisson))
elementwise("pdtrc(k, m, /)", k=INTEGER, m=_poisson)
elementwise("pdtri(k, y, /)", k=INTEGER, y=lambda k, out, xp: -1 / _poisson(k, out, xp))

# The chi-squared, gamma, F and t distributions
elementwise("chdtr(v, x, /)", v=_SHAPE, x=_chi_square)
elementwise("chdtrc(v, x, /)", v=_SHAPE, x=_minus(_chi_square))
elementwise("chdtri(v, p, /)", v=_SHAPE, p=lambda v, out, xp: -1 / _chi_square(v, out, xp))
elementwise("gdtr(a, b, x, /)", a=_gamma_a, b=_SHAPE, x=_gamma)
elementwise("gdtrc(a, b, x, /)", a=_minus(_gamma_a), b=_SHAPE, x=_minus(_gamma))
elementwise(
    "gdtrix(a, b, p, /)",
    a=lambda a, out: -out / a,
    b=_SHAPE,
    p=lambda a, b, out, xp: 1 / _gamma(a, b, out, xp),
)
elementwise("fdtr(dfn, dfd, x, /)", dfn=_SHAPE, dfd=_SHAPE, x=_f)
elementwise("fdtrc(dfn, dfd, x, /)", dfn=_SHAPE, dfd=_SHAPE, x=_minus(_f))
elementwise(
    "fdtri(dfn, dfd, p, /)",
    dfn=_SHAPE,
    dfd=_SHAPE,
    p=lambda dfn, dfd, out, xp: 1 / _f(dfn, dfd, out, xp),
)
elementwise("stdtr(df, t, /)", df=_SHAPE, t=_student)
elementwise("stdtrit(df, p, /)", df=_SHAPE, p=lambda df, out, xp: 1 / _student(df, out, xp))
