"""Triangular factorisation with pivots, of ``scipy.linalg``.

With A = P L U, the gradient is P L^-H (tril(L^H GL, -1) + triu(GU U^H)) U^-H: rows change places
nowhere near a matrix (de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using
triangular factorization", Math. Comp. 80, 2011). Of wide and tall matrices the square part is
factored so, and the others follow by one triangular solve.
"""

from __future__ import annotations

from typing import Any

from agnograd.extend import adjoint, device_of
from agnograd_scipy import linalg
from agnograd_scipy._arrays import composed, inexact
from agnograd_scipy._host import by_host
from agnograd_scipy.triangular import by_columns, solve_triangular, square

__all__: list[str] = []


def _lu_parts(xp: Any, backend: Any, x: Any, /) -> Any:
    """Return p, L and U of matrices, for which A is ``L[p, :] @ U``."""
    return by_host("lu_parts", xp, backend, x)


def _lu_vjp(g: Any, x_shape: tuple[int, ...], out: Any, xp: Any) -> Any:
    (p, lower, upper), (_, gl, gu) = out, g
    rows, columns = x_shape[-2:]
    size = min(rows, columns)
    gl = xp.zeros_like(lower) if gl is None else gl
    gu = xp.zeros_like(upper) if gu is None else gu
    upper, lost = _regular(upper, size, gl, gu, xp)
    l1, l2, u1, u2 = (
        lower[..., :size, :],
        lower[..., size:, :],
        upper[..., :size],
        upper[..., size:],
    )
    gl1, gl2, gu1, gu2 = gl[..., :size, :], gl[..., size:, :], gu[..., :size], gu[..., size:]
    below = adjoint(l1, xp) @ gl1 - gu2 @ adjoint(u2, xp)
    above = gu1 @ adjoint(u1, xp) - adjoint(l2, xp) @ gl2
    inner = xp.tril(below, k=-1) + xp.triu(above)
    full = _right(_left(inner, l1, xp), u1, xp)
    if rows > columns:
        full = xp.concat([full, _right(gl2, u1, xp)], axis=-2)
    if rows < columns:
        full = xp.concat([full, _left(gu2, l1, xp)], axis=-1)
    places = xp.broadcast_to(p[..., None], full.shape)
    return xp.take_along_axis(full, places, axis=-2) * lost


def _left(matrix: Any, lower: Any, xp: Any) -> Any:
    return xp.linalg.solve_triangle(adjoint(lower, xp), matrix, lower=False)


def _right(matrix: Any, upper: Any, xp: Any) -> Any:
    return adjoint(xp.linalg.solve_triangle(upper, adjoint(matrix, xp), lower=False), xp)


def _regular(upper: Any, size: int, gl: Any, gu: Any, xp: Any) -> tuple[Any, Any]:
    """Return factors of which none is singular, and NaN for those that were, and are used."""
    singular = xp.any(xp.linalg.diagonal(upper) == 0, axis=-1)[..., None, None]
    used = xp.logical_or(xp.any(gl != 0, axis=(-2, -1)), xp.any(gu != 0, axis=(-2, -1)))
    one = xp.ones((), dtype=upper.dtype, device=device_of(upper))
    lost = xp.where(xp.logical_and(singular, used[..., None, None]), xp.nan, one)
    eye = xp.eye(size, upper.shape[-1], dtype=xp.bool, device=device_of(upper))
    return xp.where(xp.logical_and(singular, eye), one, upper), lost


def lu(
    xp: Any,
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Any, ...]:
    """Return the factors P, L and U of matrices, ``scipy.linalg.lu``.

    Parameters
    ----------
    a : array, shape (..., m, n)
    permute_l : bool
        Whether to return P L and U.
    p_indices : bool
        Whether to return indices p in place of P, so that ``L[p, :] @ U`` is the matrix.
    """
    (a,) = inexact(xp, a)
    p, lower, upper = xp.linalg.lu_parts(a)
    if permute_l:
        places = xp.broadcast_to(p[..., None], lower.shape)
        return xp.take_along_axis(lower, places, axis=-2), upper
    if p_indices:
        return p, lower, upper
    columns = xp.arange(a.shape[-2], dtype=p.dtype, device=device_of(lower))
    chosen = p[..., :, None] == columns
    real = xp.real(upper) if xp.isdtype(upper.dtype, "complex floating") else upper
    return xp.astype(chosen, real.dtype), lower, upper


def _order(xp: Any, piv: Any) -> Any:
    """Return in which order LAPACK's exchanges of rows, one after the other, leave them."""
    rows = xp.arange(piv.shape[-1], dtype=piv.dtype, device=device_of(piv))
    order = xp.broadcast_to(rows, piv.shape)
    for row in range(piv.shape[-1]):
        place, here = piv[..., row : row + 1], order[..., row : row + 1]
        there = xp.take_along_axis(order, place, axis=-1)
        order = xp.where(rows == place, here, xp.where(rows == row, there, order))
    return order


def _exchanges(xp: Any, order: Any, count: int) -> Any:
    """Return the exchanges of rows, as LAPACK has them, that lead to an order."""
    rows = xp.arange(order.shape[-1], dtype=order.dtype, device=device_of(order))
    now, found = xp.broadcast_to(rows, order.shape), []
    for row in range(count):
        wanted, here = order[..., row : row + 1], now[..., row : row + 1]
        place = xp.astype(now == wanted, order.dtype)
        found.append(xp.sum(place * rows, axis=-1, keepdims=True, dtype=order.dtype))
        now = xp.where(now == wanted, here, xp.where(rows == row, wanted, now))
    return xp.concat(found, axis=-1) if found else order[..., :0]


def lu_factor(
    xp: Any, a: Any, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Return both factors in one matrix, and exchanges of rows, ``scipy.linalg.lu_factor``.

    Parameters
    ----------
    a : array, shape (..., m, n)
    """
    (a,) = inexact(xp, a)
    p, lower, upper = xp.linalg.lu_parts(a)
    rows, columns = a.shape[-2:]
    below, size = xp.tril(lower, k=-1), min(rows, columns)
    if rows > columns:
        both = xp.concat([below[..., :size, :] + upper, below[..., size:, :]], axis=-2)
    else:
        both = xp.concat([below + upper[..., :size], upper[..., size:]], axis=-1)
    return both, _exchanges(xp, xp.argsort(p, axis=-1), size)


def lu_solve(
    xp: Any,
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve by what ``lu_factor`` returned, ``scipy.linalg.lu_solve``.

    Parameters
    ----------
    lu_and_piv : (array, array)
        The factors, shape (..., n, n), and the exchanges of rows, shape (..., n).
    b : array, shape (n,) or (..., n, k)
    trans : {0, 1, 2}
        Whether to solve by the matrix, its transpose, or its conjugate transpose.
    """
    both, piv = lu_and_piv
    both, b = inexact(xp, both, b)
    size = square("lu_solve", both)
    order = _order(xp, piv)
    order = order if trans == 0 else xp.argsort(order, axis=-1)

    def in_order(x: Any) -> Any:
        batch = xp.broadcast_shapes(x.shape[:-2], order.shape[:-1])
        shape = (*batch, *x.shape[-2:])
        places = xp.broadcast_to(order[..., None], shape)
        return xp.take_along_axis(xp.broadcast_to(x, shape), places, axis=-2)

    def solve(b: Any) -> Any:
        if trans == 0:
            half = solve_triangular(xp, both, in_order(b), 0, True, True)
            return solve_triangular(xp, both, half)
        half = solve_triangular(xp, both, b, trans)
        return in_order(solve_triangular(xp, both, half, trans, True, True))

    return by_columns("lu_solve", solve, size, b)


linalg.vjp("linalg.lu_parts(x, /)", x=_lu_vjp, outputs="optional", forward=_lu_parts, batch="last")
composed(linalg, lu, lu_factor, lu_solve)
