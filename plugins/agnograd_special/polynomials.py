"""Orthogonal polynomials: the derivative is one of the degree below (DLMF 18.9)."""

from __future__ import annotations

from typing import Any

from agnograd.extend import is_python_scalar
from agnograd_special._series import floats
from agnograd_special._set import elementwise
from agnograd_special.gamma import INTEGER

__all__: list[str] = []

_PARAMETER = "the derivative with respect to a parameter has no closed form"


def _below(n: Any, xp: Any) -> Any:
    """Return the degree below, 0 for 0: a constant's derivative has a factor that is 0."""
    if is_python_scalar(n):
        return n - 1 if n else n
    return xp.where(n == 0, xp.zeros_like(n), n - 1)


def _jacobi_x(n: Any, alpha: Any, beta: Any, x: Any, xp: Any) -> Any:
    # DLMF 18.9.15
    order, alpha, beta, x = floats(xp, n, alpha, beta, x)
    below = xp.special.eval_jacobi(_below(n, xp), alpha + 1.0, beta + 1.0, x)
    return xp.where(order != 0.0, 0.5 * (order + alpha + beta + 1.0) * below, 0.0)


def _gegenbauer_x(n: Any, alpha: Any, x: Any, xp: Any) -> Any:
    # DLMF 18.9.19
    order, alpha, x = floats(xp, n, alpha, x)
    below = xp.special.eval_gegenbauer(_below(n, xp), alpha + 1.0, x)
    return xp.where(order != 0.0, 2.0 * alpha * below, 0.0)


def _genlaguerre_x(n: Any, alpha: Any, x: Any, xp: Any) -> Any:
    # DLMF 18.9.23
    order, alpha, x = floats(xp, n, alpha, x)
    below = xp.special.eval_genlaguerre(_below(n, xp), alpha + 1.0, x)
    return xp.where(order != 0.0, -below, 0.0)


def _times_degree(factor: float, below: str) -> Any:
    """Return ``factor * n`` times a polynomial of the degree below (DLMF 18.9.21, 18.9.25)."""

    def rule(n: Any, x: Any, xp: Any) -> Any:
        order, x = floats(xp, n, x)
        return factor * order * getattr(xp.special, below)(_below(n, xp), x)

    return rule


elementwise(
    "eval_jacobi(n, alpha, beta, x, /)", n=INTEGER, alpha=_PARAMETER, beta=_PARAMETER, x=_jacobi_x
)
elementwise("eval_gegenbauer(n, alpha, x, /)", n=INTEGER, alpha=_PARAMETER, x=_gegenbauer_x)
elementwise("eval_genlaguerre(n, alpha, x, /)", n=INTEGER, alpha=_PARAMETER, x=_genlaguerre_x)
elementwise("eval_legendre(n, x, /)", n=INTEGER, x=lambda n, x, xp: _jacobi_x(n, 0.0, 0.0, x, xp))
elementwise("eval_laguerre(n, x, /)", n=INTEGER, x=lambda n, x, xp: _genlaguerre_x(n, 0.0, x, xp))
elementwise("eval_chebyt(n, x, /)", n=INTEGER, x=_times_degree(1.0, "eval_chebyu"))
elementwise("eval_chebyu(n, x, /)", n=INTEGER, x=lambda n, x, xp: _gegenbauer_x(n, 1.0, x, xp))
elementwise("eval_hermite(n, x, /)", n=INTEGER, x=_times_degree(2.0, "eval_hermite"))
elementwise("eval_hermitenorm(n, x, /)", n=INTEGER, x=_times_degree(1.0, "eval_hermitenorm"))
