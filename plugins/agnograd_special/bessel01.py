"""Bessel functions of the orders 0 and 1 (DLMF 10.6, 10.29)."""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import patched_even, polynomial
from agnograd_special._set import elementwise

__all__: list[str] = []

# The coefficients in x**2 of J1(x) / x and I1(x) / x (DLMF 10.2.2, 10.25.2).
_EVEN = [0.5 / (4.0**k * math.factorial(k) * math.factorial(k + 1)) for k in range(12)]
_ALTERNATING = [(-1) ** k * each for k, each in enumerate(_EVEN)]
_NEAR = 1.0


def _j1_x(x: Any, xp: Any) -> Any:
    return xp.special.j0(x) - patched_even(x, _ALTERNATING, lambda x: xp.special.j1(x) / x, xp)


def _i1_by_x(x: Any, xp: Any) -> Any:
    """Return I1(x) / x."""
    return patched_even(x, _EVEN, lambda x: xp.special.i1(x) / x, xp)


def _i1e_by_x(x: Any, xp: Any) -> Any:
    """Return exp(-abs(x)) I1(x) / x."""
    near = xp.abs(x) < _NEAR
    inside = _i1_by_x(xp.where(near, x, 0.0), xp) * xp.exp(-xp.abs(xp.where(near, x, 0.0)))
    far = xp.where(near, _NEAR, x)
    return xp.where(near, inside, xp.special.i1e(far) / far)


def _hankel_coefficients(v: int) -> list[float]:
    """Return the coefficients of expansions for large arguments (DLMF 10.17.1)."""
    found = [1.0]
    for k in range(1, _TERMS + 1):
        found.append(found[-1] * (4 * v * v - (2 * k - 1) ** 2) / (8 * k))
    return found


# From _FAR on the scaled functions are the square root of 1/x times power series in 1/x (DLMF
# 10.40.1, 10.40.2). In their derivatives the leading terms cancel: series of what is left.
_FAR, _TERMS = 30.0, 20
_A0, _A1 = _hankel_coefficients(0), _hankel_coefficients(1)
_PAIRS = list(zip(_A0, _A1, [0.0, *_A1], strict=False))
_I_SCALE, _K_SCALE = 1.0 / math.sqrt(2.0 * math.pi), math.sqrt(math.pi / 2.0)
_I0E_SLOPE = [_I_SCALE * (-1) ** k * (one - zero) for k, (zero, one, _) in enumerate(_PAIRS)]
_I1E_SLOPE = [
    _I_SCALE * (-1) ** k * (zero - one + last) for k, (zero, one, last) in enumerate(_PAIRS)
]
_K0E_SLOPE = [_K_SCALE * (zero - one) for zero, one, _ in _PAIRS]
_K1E_SLOPE = [_K_SCALE * (one - zero - last) for zero, one, last in _PAIRS]


def _or_far(x: Any, series: list[float], near: Any, xp: Any) -> Any:
    """Return ``near``, and from ``_FAR`` on the square root of 1/x times a series in 1/x."""
    far = x > _FAR
    outside = xp.where(far, x, _FAR)
    return xp.where(far, polynomial(1.0 / outside, series) / xp.sqrt(outside), near)


def _i0e_x(x: Any, out: Any, xp: Any) -> Any:
    near = xp.special.i1e(xp.abs(x)) - out
    return xp.sign(x) * _or_far(xp.abs(x), _I0E_SLOPE, near, xp)


def _i1e_x(x: Any, out: Any, xp: Any) -> Any:
    near = xp.special.i0e(x) - _i1e_by_x(x, xp) - xp.sign(x) * out
    return _or_far(xp.abs(x), _I1E_SLOPE, near, xp)


def _k0e_x(x: Any, out: Any, xp: Any) -> Any:
    near = xp.where(xp.isinf(out), -out, out - xp.special.k1e(x))
    return _or_far(x, _K0E_SLOPE, near, xp)


def _k1e_x(x: Any, out: Any, xp: Any) -> Any:
    near = xp.where(xp.isinf(out), -out, out - xp.special.k0e(x) - out / x)
    return _or_far(x, _K1E_SLOPE, near, xp)


# Orders 0 and 1 (DLMF 10.6.2, 10.6.3, 10.29.2, 10.29.3)
elementwise("j0(x, /)", x=lambda x, xp: -xp.special.j1(x))
elementwise("j1(x, /)", x=_j1_x)
elementwise("y0(x, /)", x=lambda x, xp: -xp.special.y1(x))
elementwise("y1(x, /)", x=lambda x, out, xp: xp.special.y0(x) - out / x)
elementwise("i0(x, /)", x=lambda x, xp: xp.special.i1(x))
elementwise("i1(x, /)", x=lambda x, xp: xp.special.i0(x) - _i1_by_x(x, xp))
elementwise("k0(x, /)", x=lambda x, xp: -xp.special.k1(x))
elementwise("k1(x, /)", x=lambda x, out, xp: -xp.special.k0(x) - out / x)
elementwise("i0e(x, /)", x=_i0e_x)
elementwise("i1e(x, /)", x=_i1e_x)
elementwise("k0e(x, /)", x=_k0e_x)
elementwise("k1e(x, /)", x=_k1e_x)
