"""Gamma functions, and incomplete ones.

Formulas are those of the Digital Library of Mathematical Functions, https://dlmf.nist.gov (DLMF).
"""

from __future__ import annotations

import math
from typing import Any

from agnograd.errors import MissingRuleError
from agnograd.extend import is_complex
from agnograd_special._series import floats
from agnograd_special._set import elementwise, inverse, minus

__all__ = ["INTEGER", "rgamma_slope"]

INTEGER = "it is an integer"
_GONE = 1000.0  # from where one over the gamma function is 0


def rgamma_slope(x: Any, xp: Any) -> Any:
    """Return the derivative of ``rgamma``."""
    # -psi(x) / gamma(x); left of 1/2 by reflection (DLMF 5.5.3, 5.5.4), where psi has its poles.
    special = xp.special
    left = xp.real(x) < 0.5 if is_complex(x.dtype, xp) else x < 0.5
    gone = left if is_complex(x.dtype, xp) else x > _GONE
    right = xp.where(xp.logical_or(left, gone), 1.0, x)
    mirror = 1.0 - xp.where(left, x, 0.0)
    reflected = special.gamma(mirror) * (
        xp.cos(math.pi * x) - special.psi(mirror) * xp.sin(math.pi * x) / math.pi
    )
    slope = -special.psi(right) * special.rgamma(right)
    return xp.where(left, reflected, xp.where(gone, 0.0, slope))


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
elementwise("rgamma(x, /)", x=rgamma_slope)
elementwise("gammasgn(x, /)", x=0)
elementwise("psi(x, /)", x=_trigamma)
elementwise("digamma(x, /)", x=_trigamma)
elementwise("polygamma(n, x)", n=INTEGER, x=lambda n, x, xp: xp.special.polygamma(n + 1, x))


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


elementwise("multigammaln(a, d)", _multigammaln, a=_multigammaln_a)


def _by_shape(a: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``gammainc`` by its shape (DLMF 8.2.1)."""
    return xp.special.gammainc_by_shape(a, x)


def _density(a: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``gammainc`` by x (DLMF 8.8.13)."""
    return xp.special.gamma_density(a, x)


# Incomplete gamma functions (DLMF 8.2.2, 8.8.14)
elementwise("gammainc(a, x, /)", a=_by_shape, x=_density)
elementwise("gammaincc(a, x, /)", a=minus(_by_shape), x=minus(_density))
inverse("gammaincinv(a, y, /)", _density, a=_by_shape)
inverse("gammainccinv(a, y, /)", _density, -1.0, a=_by_shape)
