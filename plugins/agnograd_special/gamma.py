"""Gamma, beta and zeta functions, and what is made of them.

Formulas are those of the Digital Library of Mathematical Functions, https://dlmf.nist.gov (DLMF).
"""

from __future__ import annotations

import math
from typing import Any

from agnograd.errors import MissingRuleError
from agnograd.extend import is_complex
from agnograd_special._series import floats
from agnograd_special._set import by_formula, elementwise, ops

__all__ = ["INTEGER", "gamma_density"]

INTEGER = "it is an integer"
_NO_FORM = "no closed form is known"


def gamma_density(a: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``gammainc(a, x)`` with respect to x (DLMF 8.8.13)."""
    a, x = floats(xp, a, x)
    return xp.exp(xp.special.xlogy(a - 1.0, x) - x - xp.special.gammaln(a))


def _rgamma_x(x: Any, xp: Any) -> Any:
    # -psi(x) / gamma(x); left of 1/2 by reflection (DLMF 5.5.3, 5.5.4), where psi has its poles.
    special = xp.special
    left = xp.real(x) < 0.5 if is_complex(x.dtype, xp) else x < 0.5
    right = xp.where(left, 1.0, x)
    mirror = 1.0 - xp.where(left, x, 0.0)
    reflected = special.gamma(mirror) * (
        xp.cos(math.pi * x) - special.psi(mirror) * xp.sin(math.pi * x) / math.pi
    )
    return xp.where(left, reflected, -special.psi(right) * special.rgamma(right))


def _trigamma(x: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):
        raise MissingRuleError(
            "special.psi has no derivative at complex arguments: no library computes polygamma "
            "there. Give real ones."
        )
    return xp.special.polygamma(1, x)


# Gamma, its logarithm and derivatives (DLMF 5.2.2, 5.15)
elementwise("gamma(x, /)", x=lambda x, out, xp: out * xp.special.psi(x))
elementwise("gammaln(x, /)", x=lambda x, xp: xp.special.psi(x))
elementwise("loggamma(x, /)", x=lambda x, xp: xp.special.psi(x))
elementwise("rgamma(x, /)", x=_rgamma_x)
elementwise("gammasgn(x, /)", x=0)
elementwise("psi(x, /)", x=_trigamma)
elementwise("digamma(x, /)", x=_trigamma)
elementwise("polygamma(n, x)", n=INTEGER, x=lambda n, x, xp: xp.special.polygamma(n + 1, x))


def _poch_z(z: Any, m: Any, out: Any, xp: Any) -> Any:
    # DLMF 5.2.5: a quotient of gamma functions.
    z, m = floats(xp, z, m)
    return out * (xp.special.psi(z + m) - xp.special.psi(z))


def _poch_m(z: Any, m: Any, out: Any, xp: Any) -> Any:
    z, m = floats(xp, z, m)
    return out * xp.special.psi(z + m)


elementwise("poch(z, m, /)", z=_poch_z, m=_poch_m)


def _multigammaln_a(a: Any, d: int, xp: Any) -> Any:
    # DLMF 35.3.4: a sum of logarithms of gamma functions.
    total = xp.special.psi(a)
    for j in range(1, int(d)):
        total = total + xp.special.psi(a - 0.5 * j)
    return total


def _multigammaln(xp: Any, a: Any, d: int) -> Any:
    (a,) = floats(xp, a)
    d = int(d)
    total = xp.special.gammaln(a) + 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(1, d):
        total = total + xp.special.gammaln(a - 0.5 * j)
    return xp.where(a > 0.5 * (d - 1), total, math.nan)


ops.elementwise(
    "special.multigammaln(a, d)",
    a=_multigammaln_a,
    forward=by_formula("multigammaln", _multigammaln),
)


# Beta and binomial coefficients (DLMF 5.12.1, 1.2.6)
def _beta_slope(a: Any, b: Any, xp: Any) -> Any:
    """Return the derivative of the logarithm of beta with respect to ``a``."""
    a, b = floats(xp, a, b)
    return xp.special.psi(a) - xp.special.psi(a + b)


elementwise(
    "beta(a, b, /)",
    a=lambda a, b, out, xp: out * _beta_slope(a, b, xp),
    b=lambda a, b, out, xp: out * _beta_slope(b, a, xp),
)
elementwise(
    "betaln(a, b, /)",
    a=_beta_slope,
    b=lambda a, b, xp: _beta_slope(b, a, xp),
)


def _binom_n(n: Any, k: Any, out: Any, xp: Any) -> Any:
    n, k = floats(xp, n, k)
    return out * (xp.special.psi(n + 1.0) - xp.special.psi(n - k + 1.0))


def _binom_k(n: Any, k: Any, out: Any, xp: Any) -> Any:
    n, k = floats(xp, n, k)
    return out * (xp.special.psi(n - k + 1.0) - xp.special.psi(k + 1.0))


elementwise("binom(n, k, /)", n=_binom_n, k=_binom_k)

# Incomplete gamma functions (DLMF 8.8.13, 8.8.14)
_A = "it is an integral without a closed form"
elementwise("gammainc(a, x, /)", a=_A, x=gamma_density)
elementwise("gammaincc(a, x, /)", a=_A, x=lambda a, x, xp: -gamma_density(a, x, xp))
elementwise("gammaincinv(a, y, /)", a=_A, y=lambda a, out, xp: 1.0 / gamma_density(a, out, xp))
elementwise("gammainccinv(a, y, /)", a=_A, y=lambda a, out, xp: -1.0 / gamma_density(a, out, xp))


def _zeta_q(x: Any, q: Any, xp: Any) -> Any:
    # DLMF 25.11.17
    x, q = floats(xp, x, q)
    return -x * xp.special.zeta(x + 1, q)


elementwise("zeta(x, q=None)", x=_NO_FORM, q=_zeta_q)
elementwise("zetac(x, /)", x=_NO_FORM)
