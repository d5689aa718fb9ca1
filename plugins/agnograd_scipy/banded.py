"""Linear systems with a banded matrix, ``scipy.linalg.solve_banded``.

The gradient by the right hand side is the solution w of the adjoint system, which is banded, too;
that by the matrix is minus the outer product of w and the solution, of which only the
bands exist (Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008, section 2.2.3).
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any

from agnograd.extend import conjugate_if_complex, device_of
from agnograd_scipy import interpolate
from agnograd_scipy._arrays import filled, one_by_one

__all__ = ["solve_banded"]


def solve_banded(xp: Any, ab: Any, b: Any, /, *, lower: int, upper: int) -> Any:
    """Solve by the dense matrix, where a library has no other way.

    Parameters
    ----------
    ab : array, shape (lower + upper + 1, n)
        The diagonals: ``ab[upper + i - j, j]`` is element (i, j) of the matrix.
    b : array, shape (n,) or (n, k)
    lower, upper : int
        How many diagonals there are below and above the main one.

    Returns
    -------
    array, of the shape of ``b``
    """
    dtype = xp.result_type(ab, b)
    ab, b = (xp.astype(each, dtype, copy=False) for each in (ab, b))
    n, device = ab.shape[1], device_of(ab)
    if not n or 0 in b.shape:
        return b
    matrix = xp.zeros((n, n), dtype=dtype, device=device)
    places = xp.arange(n, device=device)
    distance = xp.expand_dims(places, axis=1) - xp.expand_dims(places, axis=0)
    for row in range(lower + upper + 1):
        matrix = xp.where(distance == row - upper, xp.expand_dims(ab[row, :], axis=0), matrix)
    return xp.linalg.solve(matrix, b)


def _moved(x: Any, by: int, xp: Any) -> Any:
    """Return an array whose row i is that at i + ``by``, or 0 where there is none."""
    if not by:
        return x
    length = x.shape[0]
    count = min(abs(by), length)
    zeros = filled(x, 0, count, 0, xp)
    parts = [x[count:, ...], zeros] if by > 0 else [zeros, x[: length - count, ...]]
    return xp.concat(parts, axis=0)


def _adjoint(ab: Any, lower: int, upper: int, xp: Any) -> Any:
    """Return the diagonals of the conjugate transpose, which has ``upper`` below the main one."""
    rows = [
        _moved(ab[upper - by, :], by, xp)  # element (j, j + by), at the place of its row
        for by in range(-lower, upper + 1)
    ]
    return conjugate_if_complex(xp.stack(rows), xp)


def _by_right(g: Any, ab: Any, lower: int, upper: int, xp: Any) -> Any:
    return xp.interpolate.solve_banded(_adjoint(ab, lower, upper, xp), g, lower=upper, upper=lower)


def _by_matrix(g: Any, ab: Any, out: Any, lower: int, upper: int, xp: Any) -> Any:
    w, y = _by_right(g, ab, lower, upper, xp), conjugate_if_complex(out, xp)
    rows = []
    for by in range(-upper, lower + 1):  # element (j + by, j)
        product = _moved(w, by, xp) * y
        rows.append(-(product if product.ndim == 1 else xp.sum(product, axis=1)))
    return xp.stack(rows)


def _batch(
    xp: Any, size: int, mapped: Set[str], ab: Any, b: Any, /, *, lower: int, upper: int
) -> Any:
    """Solve for all members at once if they share the matrix: theirs are right hand sides."""
    if "ab" in mapped:

        def solve(ab: Any, b: Any) -> Any:
            return xp.interpolate.solve_banded(ab, b, lower=lower, upper=upper)

        return one_by_one(solve, [(ab, True), (b, "b" in mapped)], size, xp)
    rows, *sides = b.shape[1:]
    columns = xp.reshape(xp.moveaxis(b, 0, 1), (rows, size * math.prod(sides)))
    out = xp.interpolate.solve_banded(ab, columns, lower=lower, upper=upper)
    return xp.moveaxis(xp.reshape(out, (rows, size, *sides)), 1, 0)


interpolate.vjp(
    "interpolate.solve_banded(ab, b, /, *, lower, upper)",
    ab=_by_matrix,
    b=lambda g, ab, lower, upper, xp: _by_right(g, ab, lower, upper, xp),
    forward=solve_banded,
    batch=_batch,
    pattern=lambda xp, ab, b, *, lower, upper: xp.broadcast_to(
        xp.sum(ab) * xp.sum(b, axis=0, keepdims=True), b.shape
    ),
)
