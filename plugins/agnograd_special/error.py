"""Error functions and the normal distribution (DLMF 7.2, 7.10)."""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import conjugate_if_complex, is_complex, is_tracked
from agnograd_special._series import floats, polynomial, times
from agnograd_special._set import by_vjp, elementwise

__all__: list[str] = []

SLOPE = 2.0 / math.sqrt(math.pi)  # of erf at 0
PEAK = 1.0 / math.sqrt(2.0 * math.pi)  # of the normal density


_GONE = 40.0  # from where on the bell is 0 in every dtype


def _bell(x: Any, scale: float, xp: Any) -> Any:
    """Return ``exp(-scale * x * x)``, whose derivatives are 0 where it is, at infinity too."""
    if is_complex(x.dtype, xp) or not is_tracked(x):
        return xp.exp(-scale * x * x)
    gone = xp.abs(x) > _GONE
    x = xp.where(gone, 0.0, x)
    return xp.where(gone, 0.0, xp.exp(-scale * x * x))


def _hazard(x: Any, out: Any, xp: Any) -> Any:
    """Return the normal density divided by its integral up to x, whose logarithm is ``out``.

    Where the integral is tiny the quotient is one of ``erfcx``: nothing cancels or underflows.
    """
    tail, far = x < 0.0, x < -1e5  # far out, only two terms of the series count
    inner = xp.where(xp.logical_and(tail, xp.logical_not(far)), x, -1.0)
    left = math.sqrt(2.0 / math.pi) / xp.special.erfcx(inner / -math.sqrt(2.0))
    outer = xp.where(far, x, -1.0)
    right = _bell(xp.where(tail, 0.0, x), 0.5, xp) * xp.exp(-xp.where(tail, 0.0, out))
    return xp.where(far, -outer - 1.0 / outer, xp.where(tail, left, PEAK * right))


_FAR, _TERMS = 7.5, 17
# (2 k + 1)!!, the coefficients of asymptotic series (DLMF 7.12.1).
_DOUBLE = [float(math.prod(range(1, 2 * k + 2, 2))) for k in range(_TERMS)]
_SIGNED = [(-1) ** k * each for k, each in enumerate(_DOUBLE)]


def _far_or(x: Any, far: Any, coefficients: list[float], scale: complex, near: Any, xp: Any) -> Any:
    """Return ``near``, where two terms cancel more and more, or far from 0 their series.

    The series is ``-scale`` times the sum of ``coefficients[k] * t**(k + 1)``, of 1 / (2 x**2).
    """
    outside = xp.where(far, x, _FAR)
    inverse = 1.0 / outside  # whose square's derivative is 0 at infinity
    t = 0.5 * inverse * inverse
    return xp.where(far, -scale * t * polynomial(t, coefficients), near)


def _erfcx_x(x: Any, out: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):
        return 2.0 * x * out - SLOPE
    far = x > _FAR
    return _far_or(x, far, _SIGNED, SLOPE, 2.0 * xp.where(far, 0.0, x) * out - SLOPE, xp)


def _dawsn_x(x: Any, out: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):
        return 1.0 - 2.0 * x * out
    far = xp.abs(x) > _FAR
    return _far_or(x, far, _DOUBLE, 1.0, 1.0 - 2.0 * xp.where(far, 0.0, x) * out, xp)


def _wofz_z(g: Any, z: Any, out: Any, xp: Any) -> Any:
    z = xp.astype(z, out.dtype)
    far = xp.logical_and(xp.abs(z) > _FAR, xp.imag(z) >= 0.0)  # below, exponentials are larger
    near = -2.0 * xp.where(far, 0.0, z) * out + 1j * SLOPE
    return g * xp.conj(_far_or(z, far, _DOUBLE, 1j * SLOPE, near, xp))


elementwise("erf(x, /)", x=lambda x, xp: SLOPE * _bell(x, 1.0, xp))
elementwise("erfc(x, /)", x=lambda x, xp: -SLOPE * _bell(x, 1.0, xp))
elementwise("erfcx(x, /)", x=_erfcx_x)
elementwise("erfi(x, /)", x=lambda x, xp: SLOPE * xp.exp(x * x))
elementwise("erfinv(y, /)", y=lambda out, xp: xp.exp(out * out) / SLOPE)
elementwise("erfcinv(y, /)", y=lambda out, xp: -xp.exp(out * out) / SLOPE)
elementwise("dawsn(x, /)", x=_dawsn_x)
# The result is complex where z is real, too: then the gradient is that of the real part.
by_vjp("wofz(z, /)", z=_wofz_z)

# The normal distribution (DLMF 7.18, 26.2 of A&S)
elementwise("ndtr(x, /)", x=lambda x, xp: PEAK * _bell(x, 0.5, xp))
elementwise("log_ndtr(x, /)", x=_hazard)
elementwise("ndtri(y, /)", y=lambda out, xp: xp.exp(0.5 * out * out) / PEAK)
elementwise("ndtri_exp(y, /)", y=lambda y, out, xp: 1.0 / _hazard(out, y, xp))


def _owens_t_h(h: Any, a: Any, xp: Any) -> Any:
    h, a = floats(xp, h, a)
    return -0.5 * PEAK * xp.special.erf(a * h / math.sqrt(2.0)) * xp.exp(-0.5 * h * h)


def _owens_t_a(h: Any, a: Any, xp: Any) -> Any:
    h, a = floats(xp, h, a)
    square = 1.0 + a * a
    return xp.exp(-0.5 * h * h * square) / (2.0 * math.pi * square)


# Owen, "Tables for computing bivariate normal probabilities", 1956, equations 2.3 and 2.4
elementwise("owens_t(h, a, /)", h=_owens_t_h, a=_owens_t_a)


def _fresnel_z(g: Any, z: Any, xp: Any) -> Any:
    # DLMF 7.2.7, 7.2.8
    angle = conjugate_if_complex(0.5 * math.pi * z * z, xp)
    return times(g[0], xp.sin(angle), xp) + times(g[1], xp.cos(angle), xp)


by_vjp("fresnel(z, /)", outputs="several", z=_fresnel_z)
