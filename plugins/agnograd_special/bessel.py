"""Bessel functions of any order, and their relatives (DLMF 10, 11.4, 9.2)."""

from __future__ import annotations

import math
from typing import Any

from agnograd.errors import MissingRuleError
from agnograd.extend import conjugate_if_complex, is_complex, is_python_scalar
from agnograd_special._series import floats, times
from agnograd_special._set import by_vjp, elementwise
from agnograd_special.gamma import INTEGER

__all__: list[str] = []

_ORDER = "the derivative with respect to the order has no closed form"


def _cylinder(name: str) -> Any:
    """Return the derivative of J, Y or a Hankel function (DLMF 10.6.1)."""

    def rule(v: Any, z: Any, xp: Any) -> Any:
        function = getattr(xp.special, name)
        return 0.5 * (function(v - 1, z) - function(v + 1, z))

    return rule


def _modified(name: str, sign: float) -> Any:
    """Return the derivative of I or K (DLMF 10.29.1)."""

    def rule(v: Any, z: Any, xp: Any) -> Any:
        function = getattr(xp.special, name)
        return (0.5 * sign) * (function(v - 1, z) + function(v + 1, z))

    return rule


# Any order
_ive, _kve = _modified("ive", 1.0), _modified("kve", -1.0)
elementwise("jv(v, z, /)", v=_ORDER, z=_cylinder("jv"))
elementwise("yv(v, z, /)", v=_ORDER, z=_cylinder("yv"))
elementwise("iv(v, z, /)", v=_ORDER, z=_modified("iv", 1.0))
elementwise("kv(v, z, /)", v=_ORDER, z=_modified("kv", -1.0))
elementwise("kve(v, z, /)", v=_ORDER, z=lambda v, z, out, xp: out + _kve(v, z, xp))


def _ive_z(v: Any, z: Any, out: Any, xp: Any) -> Any:
    # The scale exp(-abs(re z)) is not analytic: only real arguments have a derivative.
    if is_complex(z.dtype, xp):
        raise MissingRuleError(
            "special.ive has no derivative at complex arguments, as it is not analytic: multiply "
            "special.iv with the scale that you want."
        )
    return _ive(v, z, xp) - xp.sign(z) * out


elementwise("ive(v, z, /)", v=_ORDER, z=_ive_z)


def _hankel(name: str) -> None:
    """Register a Hankel function, whose result is complex where z is real, too."""
    slope = _cylinder(name)
    by_vjp(f"{name}(v, z, /)", v=_ORDER, z=lambda g, v, z, xp: g * xp.conj(slope(v, z, xp)))


_hankel("hankel1")
_hankel("hankel2")

# Integer orders, of real arguments
_jn, _yn, _kn = _cylinder("jn"), _cylinder("yn"), _modified("kn", -1.0)
elementwise("jn(n, x, /)", n=INTEGER, x=lambda n, x, xp: _jn(n, x, xp))
elementwise("yn(n, x, /)", n=INTEGER, x=lambda n, x, xp: _yn(n, x, xp))
elementwise("kn(n, x, /)", n=INTEGER, x=lambda n, x, xp: _kn(n, x, xp))


def _spherical(name: str, below: float, above: float) -> None:
    """Register a spherical Bessel function and its derivative, as DLMF 10.51.2 and 10.51.5 have it.

    The signs are those of the neighbours: nothing is divided by the argument, which may be 0.
    """

    def rule(n: Any, z: Any, derivative: bool, xp: Any) -> Any:
        function = getattr(xp.special, name)
        less = max(n - 1, 0) if is_python_scalar(n) else xp.where(n > 0, n - 1, xp.zeros_like(n))
        lower, upper = (function(each, z, derivative=derivative) for each in (less, n + 1))
        order, _ = floats(xp, n, z)
        return ((below * order) * lower + (above * (order + 1.0)) * upper) / (2.0 * order + 1.0)

    elementwise(f"{name}(n, z, derivative=False)", n=INTEGER, z=rule)


_spherical("spherical_jn", 1.0, -1.0)
_spherical("spherical_yn", 1.0, -1.0)
_spherical("spherical_in", 1.0, 1.0)
_spherical("spherical_kn", -1.0, -1.0)


def _struve(name: str, sign: float) -> Any:
    """Return the derivative of Struve's H or L (DLMF 11.4.27, 11.4.31)."""

    def rule(v: Any, x: Any, xp: Any) -> Any:
        function = getattr(xp.special, name)
        v, x = floats(xp, v, x)
        power = (0.5 * x) ** v * xp.special.rgamma(v + 1.5) / math.sqrt(math.pi)
        return 0.5 * (function(v - 1.0, x) + sign * function(v + 1.0, x) + power)

    return rule


elementwise("struve(v, x, /)", v=_ORDER, x=_struve("struve", -1.0))
elementwise("modstruve(v, x, /)", v=_ORDER, x=_struve("modstruve", 1.0))


def _airy_z(g: Any, z: Any, out: Any, xp: Any) -> Any:
    # DLMF 9.2.1: the second derivatives are z times the functions.
    ai, aip, bi, bip = (conjugate_if_complex(each, xp) for each in out)
    z = conjugate_if_complex(z, xp)
    slopes = (aip, z * ai, bip, z * bi)
    each = [times(one, slope, xp) for one, slope in zip(g, slopes, strict=True)]
    return (each[0] + each[1]) + (each[2] + each[3])


by_vjp("airy(z, /)", outputs="several", z=_airy_z)
