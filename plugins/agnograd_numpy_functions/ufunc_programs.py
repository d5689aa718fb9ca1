"""NumPy's ufuncs that the standard lacks, as programs of the standard's functions.

Each takes the differentiable namespace and what NumPy's ufunc takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnograd.extend import conjugate_if_complex
from agnograd_numpy_functions._helpers import (
    inexact,
    is_bool,
    is_complex,
    is_floating,
    real_only,
    together,
)
from agnograd_numpy_functions._program import Array

__all__ = ["PROGRAMS"]

_LN2 = math.log(2.0)


def _conjugate(xp: Any, x: Array) -> Array:
    if is_complex(xp, x):
        return xp.conj(x)
    return xp.astype(x, xp.int8) if is_bool(xp, x) else xp.positive(x)


def _real(xp: Any, name: str, *inputs: Array) -> tuple[Array, ...]:
    """Return real arrays in the precision in which NumPy computes them."""
    real_only(xp, name, *inputs)
    return inexact(xp, *inputs)


def _cbrt(xp: Any, x: Array) -> Array:
    (x,) = _real(xp, "cbrt", x)
    sign = xp.where(x < 0, -1.0, xp.ones_like(x))
    return sign * (sign * x) ** (1 / 3)


def _exp2(xp: Any, x: Array) -> Array:
    (x,) = inexact(xp, x)
    return 2.0**x


def _fabs(xp: Any, x: Array) -> Array:
    (x,) = _real(xp, "fabs", x)
    return xp.abs(x)


def _times(name: str, factor: float) -> Callable[..., Array]:
    def program(xp: Any, x: Array) -> Array:
        return _real(xp, name, x)[0] * factor

    return program


def _float_power(xp: Any, x1: Array, x2: Array) -> Array:
    wide = xp.complex128 if is_complex(xp, x1) or is_complex(xp, x2) else xp.float64
    return xp.pow(xp.astype(x1, wide), xp.astype(x2, wide))


def _ignoring_nan(name: str) -> Callable[..., Array]:
    """Return a program that takes the other number where one is NaN."""

    def program(xp: Any, x1: Array, x2: Array) -> Array:
        x1, x2 = together(xp, x1, x2)
        found = getattr(xp, name)(x1, x2)
        if not is_floating(xp, x1):
            return found
        return xp.where(xp.isnan(x1), x2, xp.where(xp.isnan(x2), x1, found))

    return program


def _fmod(xp: Any, x1: Array, x2: Array) -> Array:
    # The remainder of the absolute values is exact; the result has the sign of x1.
    rest = xp.remainder(xp.where(x1 < 0, -x1, x1), xp.where(x2 < 0, -x2, x2))
    return xp.where(x1 < 0, -rest, rest)


def _heaviside(xp: Any, x1: Array, x2: Array) -> Array:
    x1, x2 = _real(xp, "heaviside", x1, x2)
    step = xp.where(x1 < 0, 0.0, xp.where(x1 > 0, xp.ones_like(x1), x1))  # x1 is 0 or NaN there
    return xp.where(x1 == 0, x2, step)


def _ldexp(xp: Any, x1: Array, x2: Array) -> Array:
    # In two steps, so that the power of two overflows no earlier than the result.
    if is_floating(xp, x2):
        raise TypeError("ldexp multiplies by powers of two: the second array has to be of integers")
    (x1,) = _real(xp, "ldexp", x1)
    x2 = xp.astype(x2, xp.int64) if is_bool(xp, x2) else x2
    half = xp.floor_divide(x2, 2)
    two = xp.asarray(2.0, dtype=x1.dtype)
    return x1 * two ** xp.astype(half, x1.dtype) * two ** xp.astype(x2 - half, x1.dtype)


def _logaddexp2(xp: Any, x1: Array, x2: Array) -> Array:
    # Relative to the larger number, a constant: products with a logarithm are rounded.
    x1, x2 = _real(xp, "logaddexp2", x1, x2)
    top = xp.maximum(x1.detach(), x2.detach())
    top = xp.where(xp.isfinite(top), top, 0.0)
    return top + xp.logaddexp((x1 - top) * _LN2, (x2 - top) * _LN2) / _LN2


def _modf(xp: Any, x: Array) -> tuple[Array, Array]:
    (x,) = _real(xp, "modf", x)
    whole = xp.trunc(x)
    # An infinite number has no fraction.
    rest = xp.where(xp.isinf(x), 0.0, x - xp.where(xp.isinf(x), 0.0, whole))
    return rest, whole


def _rint(xp: Any, x: Array) -> Array:
    return xp.round(*inexact(xp, x))


def _divmod(xp: Any, x1: Array, x2: Array) -> tuple[Array, Array]:
    return xp.floor_divide(x1, x2), xp.remainder(x1, x2)


def _matvec(xp: Any, x1: Array, x2: Array) -> Array:
    return xp.matmul(x1, x2[..., None])[..., 0]


def _vecmat(xp: Any, x1: Array, x2: Array) -> Array:
    return xp.matmul(conjugate_if_complex(x1, xp)[..., None, :], x2)[..., 0, :]


def _logical(name: str) -> Callable[..., Array]:
    def program(xp: Any, *inputs: Array) -> Array:
        return getattr(xp, name)(*(x if is_bool(xp, x) else x != 0 for x in inputs))

    return program


def _lambertw(xp: Any, z: Array, k: Array, tol: Array) -> Array:
    return xp.special.lambertw(z, k, tol.item())


def _zeta(xp: Any, x: Array, q: Array) -> Array:
    return xp.special.zeta(x, q)


PROGRAMS: dict[str, Callable[..., Any]] = {
    # What SciPy's functions of these names call.
    "_lambertw": _lambertw,
    "_zeta": _zeta,
    "cbrt": _cbrt,
    "conjugate": _conjugate,
    "deg2rad": _times("deg2rad", math.pi / 180),
    "degrees": _times("degrees", 180 / math.pi),
    "divmod": _divmod,
    "exp2": _exp2,
    "fabs": _fabs,
    "float_power": _float_power,
    "fmax": _ignoring_nan("maximum"),
    "fmin": _ignoring_nan("minimum"),
    "fmod": _fmod,
    "heaviside": _heaviside,
    "ldexp": _ldexp,
    "logaddexp2": _logaddexp2,
    **{f"logical_{name}": _logical(f"logical_{name}") for name in ("and", "not", "or", "xor")},
    "matvec": _matvec,
    "modf": _modf,
    "rad2deg": _times("rad2deg", 180 / math.pi),
    "radians": _times("radians", math.pi / 180),
    "rint": _rint,
    "vecmat": _vecmat,
}
