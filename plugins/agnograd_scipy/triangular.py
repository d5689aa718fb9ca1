"""Linear systems with triangles and Cholesky factors, and least squares, of ``scipy.linalg``.

All are made of other ops, whose rules have the derivatives. ``overwrite_a``, ``overwrite_b`` and
``check_finite`` are there since SciPy has them: nothing is overwritten or checked. Batches
are SciPy's: a right hand side of one axis is a vector, of which each matrix of a batch has the
same; any other is of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd.extend import adjoint, device_of, is_complex
from agnograd_scipy import linalg
from agnograd_scipy._arrays import composed, inexact

__all__ = ["by_columns", "hermitian", "square"]

_TRANS = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}


def square(name: str, a: Any) -> int:
    """Return the length of the sides of square matrices.

    Raises
    ------
    ValueError
        If they are not square.
    """
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: of square matrices, not of an array of shape {tuple(a.shape)}")
    return int(a.shape[-1])


def by_columns(name: str, solve: Callable[[Any], Any], rows: int, b: Any) -> Any:
    """Return what a function of matrices gives of right hand sides that may be one vector."""
    lone = b.ndim == 1
    if not b.ndim or b.shape[0 if lone else -2] != rows:
        raise ValueError(
            f"{name}: the right hand side has shape {tuple(b.shape)}, and the matrix {rows} rows"
        )
    return solve(b[:, None])[..., 0] if lone else solve(b)


def hermitian(a: Any, lower: bool, xp: Any) -> Any:
    """Return the Hermitian matrix of which one triangle is given."""
    part = xp.tril(a, k=-1) if lower else xp.triu(a, k=1)
    eye = xp.eye(a.shape[-1], dtype=xp.bool, device=device_of(a))
    diagonal = xp.where(eye, a, xp.zeros_like(a))
    if is_complex(a.dtype, xp):
        diagonal = xp.astype(xp.real(diagonal), a.dtype)
    return part + diagonal + adjoint(part, xp)


def solve_triangular(
    xp: Any,
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve by one triangle of matrices, ``scipy.linalg.solve_triangular``.

    Parameters
    ----------
    a : array, shape (..., n, n)
        What is beyond the triangle is not read, and has a gradient of 0.
    b : array, shape (n,) or (..., n, k)
    trans : {0, 1, 2, "N", "T", "C"}
        Whether to solve by the matrix, its transpose, or its conjugate transpose.
    lower : bool
        Which triangle there is.
    unit_diagonal : bool
        Whether elements of the diagonal count as 1, and are not read.
    """
    if trans not in _TRANS:
        raise ValueError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', not {trans!r}")
    a, b = inexact(xp, a, b)
    rows = square("solve_triangular", a)
    if unit_diagonal:
        eye = xp.eye(rows, dtype=xp.bool, device=device_of(a))
        a = xp.where(eye, xp.ones_like(a), a)
    if _TRANS[trans] != "N":
        a = xp.matrix_transpose(a) if _TRANS[trans] == "T" else adjoint(a, xp)
        lower = not lower
    solve = lambda b: xp.linalg.solve_triangle(a, b, lower=lower)  # noqa: E731
    return by_columns("solve_triangular", solve, rows, b)


def cho_factor(
    xp: Any, a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Return the Cholesky factor and whether it is a lower one, ``scipy.linalg.cho_factor``.

    Unlike SciPy's, the other triangle is 0. Only the triangle of ``a`` that the factor has is read;
    the gradient is Hermitian.
    """
    (a,) = inexact(xp, a)
    square("cho_factor", a)
    factor = xp.linalg.cholesky(a if lower else adjoint(a, xp))
    return factor if lower else adjoint(factor, xp), lower


def cho_solve(
    xp: Any,
    c_and_lower: tuple[Any, bool],
    b: Any,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve by what ``cho_factor`` returned, ``scipy.linalg.cho_solve``.

    Parameters
    ----------
    c_and_lower : (array, bool)
        The factor, shape (..., n, n), of which one triangle is read, and whether it is the lower.
    b : array, shape (n,) or (..., n, k)
    """
    c, lower = c_and_lower
    c, b = inexact(xp, c, b)

    def solve(b: Any) -> Any:
        first, then = (c, adjoint(c, xp)) if lower else (adjoint(c, xp), c)
        half = xp.linalg.solve_triangle(first, b, lower=True)
        return xp.linalg.solve_triangle(then, half, lower=False)

    return by_columns("cho_solve", solve, square("cho_solve", c), b)


def pinvh(xp: Any, a: Any, atol: Any = None, rtol: Any = None, lower: bool = True) -> Any:
    """Return the pseudo-inverse of Hermitian matrices by one triangle, ``scipy.linalg.pinvh``.

    ``atol`` is not known here: singular values below ``rtol`` times the largest count as 0.
    """
    if atol is not None:
        raise ValueError("pinvh has no atol here: pass rtol, relative to the largest eigenvalue")
    (a,) = inexact(xp, a)
    size = square("pinvh", a)
    rtol = size * float(xp.finfo(a.dtype).eps) if rtol is None else rtol
    return xp.linalg.pinv(hermitian(a, lower, xp), rtol=rtol)


def lstsq(
    xp: Any,
    a: Any,
    b: Any,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    rcond: float | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Solve by least squares, ``scipy.linalg.lstsq``.

    Parameters
    ----------
    a : array, shape (..., m, n)
        Its rank is locally constant, or there is no derivative: it is taken to be.
    b : array, shape (m,) or (..., m, k)
    cond : float, optional
        Singular values below ``cond`` times the largest count as 0; by default the machine's
        precision.
    rcond : float, optional
        The same by the name that NumPy, CuPy, JAX and PyTorch have for it, and that SciPy asks
        other namespaces by.

    Returns
    -------
    x, residues, rank, s
        The solution of least norm; the sums of the squares of what is left over, if m > n,
        whatever the rank is; the rank; and the singular values.
    """
    a, b = inexact(xp, a, b)
    rows, columns = a.shape[-2:]
    cond = rcond if cond is None else cond
    cond = float(xp.finfo(a.dtype).eps) if cond is None else cond
    x = by_columns("lstsq", lambda b: xp.linalg.pinv(a, rtol=cond) @ b, rows, b)
    s = xp.linalg.svdvals(a)
    rank = xp.sum(xp.astype(s > cond * s[..., :1], xp.int64), axis=-1)
    if rows <= columns:
        batch = x.shape[:-1] if b.ndim == 1 else x.shape[:-2]
        return x, xp.zeros((*batch, 0), dtype=s.dtype, device=device_of(s)), rank, s
    left = b - (a @ x[..., None])[..., 0] if b.ndim == 1 else b - a @ x
    residues = xp.sum(xp.abs(left) ** 2, axis=-1 if b.ndim == 1 else -2)
    return x, residues, rank, s


def solve_banded(
    xp: Any,
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve by a banded matrix, ``scipy.linalg.solve_banded``.

    Parameters
    ----------
    l_and_u : (int, int)
        How many diagonals there are below and above the main one.
    ab : array, shape (l + u + 1, n)
        The diagonals: ``ab[u + i - j, j]`` is element (i, j) of the matrix.
    b : array, shape (n,) or (n, k)
    """
    ab, b = inexact(xp, ab, b)
    lower, upper = l_and_u
    return xp.interpolate.solve_banded(ab, b, lower=lower, upper=upper)


composed(linalg, solve_triangular, cho_factor, cho_solve, pinvh, lstsq, solve_banded)
