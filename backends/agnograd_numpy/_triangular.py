"""Triangular systems of equations: solved by SciPy's BLAS, or in blocks where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from agnograd.extend import switch

__all__ = ["by_blocks", "solve"]

# How many linear equations are faster solved at once than in two halves.
SOLVED_UNKNOWNS = switch("SOLVED_UNKNOWNS", 64, least=1, most=2**62, module=__name__)


@cache
def _solvers() -> dict[str, Callable[..., Any]]:
    """Return the BLAS functions by the dtype's character; none if SciPy is not installed."""
    try:
        from scipy.linalg import blas
    except ImportError:
        return {}
    return {"f": blas.strsm, "d": blas.dtrsm, "F": blas.ctrsm, "D": blas.ztrsm}


def solve(x1: Any, x2: Any, lower: bool) -> Any:
    """Solve by the lower or the upper triangle of matrices.

    NumPy has no function that makes use of zeros: SciPy's takes a third of the time for 200
    unknowns and as many right-hand sides, and a sixtieth for 800 and a single one.

    Raises
    ------
    LinAlgError
        If a matrix is singular.
    """
    solver = _solvers().get(np.result_type(x1, x2).char)
    stack = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    fits = x1.shape[-2:] == (x2.shape[-2],) * 2  # or NumPy says that it does not
    # Small matrices of a stack are solved at once by NumPy, large ones each by SciPy.
    if solver is None or not fits or 0 in x2.shape or (stack and x1.shape[-1] <= SOLVED_UNKNOWNS):
        return by_blocks(x1, x2, lower)
    if not np.diagonal(x1, axis1=-2, axis2=-1).all():
        raise np.linalg.LinAlgError("Singular matrix")
    if not stack:
        return _solved(solver, x1, x2, lower)
    x1 = np.broadcast_to(x1, (*stack, *x1.shape[-2:]))
    x2 = np.broadcast_to(x2, (*stack, *x2.shape[-2:]))
    out = np.empty(x2.shape, np.result_type(x1, x2))
    for index in np.ndindex(stack):
        out[index] = _solved(solver, x1[index], x2[index], lower)
    return out


def _solved(solver: Callable[..., Any], x1: Any, x2: Any, lower: bool) -> Any:
    """Solve for one matrix. BLAS stores columns, so the transposed equations need no copies."""
    if x1.flags.f_contiguous:
        return solver(1.0, x1, x2.T, side=1, lower=lower, trans_a=1).T
    return solver(1.0, x1.T, x2.T, side=1, lower=not lower).T


def by_blocks(x1: Any, x2: Any, lower: bool) -> Any:
    """Solve without SciPy, in blocks.

    Half of the unknowns need half of the equations, and one product takes them out of the others:
    for 200 unknowns and as many right-hand sides that takes two thirds of the time that NumPy
    takes for all at once. Inverses of the last blocks would take less, and lose digits.
    """
    size = x1.shape[-1]
    if size <= SOLVED_UNKNOWNS:
        from agnograd_numpy import _library

        return _library.linalg.solve(np.tril(x1) if lower else np.triu(x1), x2)
    top, bottom = slice(size // 2), slice(size // 2, None)
    first, then = (top, bottom) if lower else (bottom, top)
    found = by_blocks(x1[..., first, first], x2[..., first, :], lower)
    rest = x2[..., then, :] - np.matmul(x1[..., then, first], found)
    others = by_blocks(x1[..., then, then], rest, lower)
    return np.concatenate([found, others] if lower else [others, found], axis=-2)
