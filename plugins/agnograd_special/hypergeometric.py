"""Hypergeometric functions, Lambert's W (DLMF 13, 15, 4.13)."""

from __future__ import annotations

from typing import Any

from agnograd.extend import sum_to
from agnograd_special._series import floats
from agnograd_special._set import by_vjp, elementwise

__all__: list[str] = []

_PARAMETER = "the derivative with respect to a parameter has no closed form"


def _hyp0f1_z(v: Any, z: Any, xp: Any) -> Any:
    # DLMF 16.3.1
    v, z = floats(xp, v, z)
    return xp.special.hyp0f1(v + 1.0, z) / v


def _hyp1f1_x(a: Any, b: Any, x: Any, xp: Any) -> Any:
    # DLMF 13.3.15
    a, b, x = floats(xp, a, b, x)
    return a / b * xp.special.hyp1f1(a + 1.0, b + 1.0, x)


def _hyp2f1_z(a: Any, b: Any, c: Any, z: Any, xp: Any) -> Any:
    # DLMF 15.5.1
    a, b, c, z = floats(xp, a, b, c, z)
    return a * b / c * xp.special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)


def _hyperu_x(a: Any, b: Any, x: Any, xp: Any) -> Any:
    # DLMF 13.3.22
    a, b, x = floats(xp, a, b, x)
    return -a * xp.special.hyperu(a + 1.0, b + 1.0, x)


elementwise("hyp0f1(v, z, /)", v=_PARAMETER, z=_hyp0f1_z)
elementwise("hyp1f1(a, b, x, /)", a=_PARAMETER, b=_PARAMETER, x=_hyp1f1_x)
elementwise("hyp2f1(a, b, c, z, /)", a=_PARAMETER, b=_PARAMETER, c=_PARAMETER, z=_hyp2f1_z)
elementwise("hyperu(a, b, x, /)", a=_PARAMETER, b=_PARAMETER, x=_hyperu_x)


# DLMF 4.13.4, in a form that holds at 0, too; the result is complex
by_vjp(
    "lambertw(z, k=0, tol=1e-8)",
    z=lambda g, out, z_shape, xp: sum_to(g * xp.conj(xp.exp(-out) / (1.0 + out)), z_shape, xp),
    constants=("k",),
)
# Corless and Jeffrey, "The Wright omega function", 2002, section 3
elementwise("wrightomega(z, /)", z=lambda out: out / (1.0 + out))
