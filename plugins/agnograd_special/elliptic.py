"""Elliptic integrals and functions, of the parameter m (DLMF 19, 22)."""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import by_vjp, elementwise, needed

__all__: list[str] = []

# DLMF 19.5.1, 19.5.2: K is pi/2 F(1/2, 1/2; 1; m) and E is pi/2 F(-1/2, 1/2; 1; m); their
# derivatives as hypergeometric functions (DLMF 15.5.1) have no removable singularity at m = 0. Far
# from it they are quotients in which nothing cancels (DLMF 19.4.1, 19.4.2).
_EIGHTH, _FAR = math.pi / 8.0, 0.5


def _ellipk_m(m: Any, xp: Any) -> Any:
    away = xp.logical_and(xp.abs(m) > _FAR, m != 1.0)
    far = xp.where(away, m, -1.0)
    quotient = (xp.special.ellipe(far) / (1.0 - far) - xp.special.ellipk(far)) / (2.0 * far)
    return xp.where(
        away, quotient, _EIGHTH * xp.special.hyp2f1(1.5, 1.5, 2.0, xp.where(away, 0.0, m))
    )


def _ellipe_m(m: Any, xp: Any) -> Any:
    away = xp.abs(m) > _FAR
    far = xp.where(away, m, -1.0)
    quotient = (xp.special.ellipe(far) - xp.special.ellipk(far)) / (2.0 * far)
    near = -_EIGHTH * xp.special.hyp2f1(0.5, 1.5, 2.0, xp.where(away, 0.0, m))
    return xp.where(away, quotient, near)


def _ellipkm1_p(p: Any, out: Any, xp: Any) -> Any:
    # DLMF 19.4.1 for small p, of which 1 - p would lose the digits.
    small = p < 0.5
    q = xp.where(small, p, 0.25)
    exact = (xp.where(small, out, 1.0) - xp.special.ellipem1(q) / q) / (2.0 * (1.0 - q))
    return xp.where(small, exact, -_ellipk_m(1.0 - xp.where(small, 1.0, p), xp))


def _ellipem1(xp: Any, p: Any) -> Any:
    """Return ``ellipe(1 - p)``, with a derivative that keeps the digits of small ``p``."""
    return xp.special.ellipe(1.0 - floats(xp, p)[0])


def _ellipem1_p(p: Any, out: Any, xp: Any) -> Any:
    return (xp.special.ellipkm1(p) - out) / (2.0 * (1.0 - p))  # DLMF 19.4.2, of p up to 1/2


needed("ellipem1(p, /)", _ellipem1, p=_ellipem1_p)
elementwise("ellipk(m, /)", m=_ellipk_m)
elementwise("ellipkm1(p, /)", p=_ellipkm1_p)
elementwise("ellipe(m, /)", m=_ellipe_m)

_NEAR = 0.05
_TERMS = 13


def _series(phi: Any, m: Any, start: float, xp: Any) -> Any:
    """Integrate ``sin(t)**2 (1 - m sin(t)**2)**(-start) / 2`` from 0 to phi, for m near 0."""
    sine, cosine = xp.sin(phi), xp.cos(phi)
    power = phi  # the integral of sin(t)**(2 n), by parts
    total, coefficient = 0.0 * m * phi, 0.5
    for n in range(1, _TERMS + 1):
        power = ((2 * n - 1) * power - sine ** (2 * n - 1) * cosine) / (2 * n)
        total = total + coefficient * m ** (n - 1) * power
        coefficient *= (start + n - 1) / n
    return total


def _ellipkinc_phi(phi: Any, m: Any, xp: Any) -> Any:
    phi, m = floats(xp, phi, m)
    return 1.0 / xp.sqrt(1.0 - m * xp.sin(phi) ** 2)


def _ellipkinc_m(phi: Any, m: Any, out: Any, xp: Any) -> Any:
    # DLMF 19.4.5
    phi, m = floats(xp, phi, m)
    near = xp.abs(m) < _NEAR
    far = xp.where(near, 0.5, m)
    sine, rest = xp.sin(phi), 1.0 - far
    root = xp.sqrt(1.0 - far * sine * sine)
    exact = (xp.special.ellipeinc(phi, far) / rest - out) / (2.0 * far)
    exact = exact - sine * xp.cos(phi) / (2.0 * rest * root)
    return xp.where(near, _series(phi, xp.where(near, m, 0.0), 1.5, xp), exact)


def _ellipeinc_phi(phi: Any, m: Any, xp: Any) -> Any:
    phi, m = floats(xp, phi, m)
    return xp.sqrt(1.0 - m * xp.sin(phi) ** 2)


def _ellipeinc_m(phi: Any, m: Any, out: Any, xp: Any) -> Any:
    # DLMF 19.4.6
    phi, m = floats(xp, phi, m)
    near = xp.abs(m) < _NEAR
    far = xp.where(near, 0.5, m)
    exact = (out - xp.special.ellipkinc(phi, far)) / (2.0 * far)
    return xp.where(near, -_series(phi, xp.where(near, m, 0.0), 0.5, xp), exact)


elementwise("ellipkinc(phi, m, /)", phi=_ellipkinc_phi, m=_ellipkinc_m)
elementwise("ellipeinc(phi, m, /)", phi=_ellipeinc_phi, m=_ellipeinc_m)


def _ellipj_u(g: Any, u: Any, m: Any, out: Any, xp: Any) -> Any:
    # DLMF 22.13.1 to 22.13.3, 22.16.1
    u, m = floats(xp, u, m)
    sn, cn, dn, _ = out
    return g[0] * cn * dn - g[1] * sn * dn - g[2] * m * sn * cn + g[3] * dn


by_vjp("ellipj(u, m, /)", outputs="several", u=_ellipj_u, m="the parameter's has no rule here")
