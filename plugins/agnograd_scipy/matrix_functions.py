"""Functions of matrices, of ``scipy.linalg``: exponential, logarithm and square root.

Their derivatives are exact for defective matrices, too: no eigenvectors are needed. Frechet's
derivative of f at A in the direction E is the upper right block of f([[A, E], [0, A]]), and its
adjoint is that at A^H (Higham, "Functions of matrices", SIAM 2008, theorems 3.6 and 3.8, and
section 3.4; for the exponential also Al-Mohy and Higham, "Computing the Frechet derivative of the
matrix exponential", SIAM J. Matrix Anal. Appl. 30, 2009). That of the square root solves a
Sylvester equation (Higham, section 6.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from agnograd.extend import adjoint
from agnograd_scipy import linalg
from agnograd_scipy._arrays import composed, inexact
from agnograd_scipy._host import by_host
from agnograd_scipy.triangular import square

__all__: list[str] = []


def _size(x: Any, xp: Any) -> Any:
    """Return the largest element of each matrix, as a constant, and 1 for zeros and no elements."""
    if 0 in x.shape:
        return 1.0
    given = x.detach() if isinstance(x, ag.Variable) else x
    size = xp.max(xp.abs(given), axis=(-2, -1), keepdims=True)
    return xp.where(size == 0, xp.ones_like(size), size)


def _frechet(function: Callable[..., Any], a: Any, e: Any, xp: Any) -> tuple[Any, Any]:
    """Return f(A) and its derivative in a direction, whose size says nothing."""
    unit = _size(e, xp)
    upper = xp.concat([a, e / unit], axis=-1)
    lower = xp.concat([xp.zeros_like(a), a], axis=-1)
    both = function(xp.concat([upper, lower], axis=-2))
    count = a.shape[-1]
    return both[..., :count, :count], both[..., :count, count:] * unit


def _logm_vjp(g: Any, x: Any, xp: Any) -> Any:
    """Differentiate at A / s: log(A) is log(A / s) + log(s), and both blocks are of one size."""
    size = _size(x, xp)
    return _frechet(xp.linalg.logm, adjoint(x / size, xp), g, xp)[1] / size


def _expm(xp: Any, backend: Any, x: Any, /) -> Any:
    """Return the exponential of matrices, ``scipy.linalg.expm``."""
    return by_host("expm", xp, backend, x)


def _logm(xp: Any, backend: Any, x: Any, /) -> Any:
    """Return the principal logarithm of matrices, ``scipy.linalg.logm``.

    That of a real matrix is real, or NaN: where it is complex, pass a complex array.
    """
    return by_host("logm", xp, backend, x)


def _sqrtm(xp: Any, backend: Any, x: Any, /) -> Any:
    """Return the principal square root of matrices, ``scipy.linalg.sqrtm``.

    That of a real matrix is real, or NaN: where it is complex, pass a complex array.
    """
    return by_host("sqrtm", xp, backend, x)


def expm_frechet(xp: Any, a: Any, e: Any, compute_expm: bool = True) -> Any:
    """Return the exponential of matrices and its derivative, ``scipy.linalg.expm_frechet``.

    Parameters
    ----------
    a : array, shape (..., n, n)
    e : array, shape (..., n, n)
        The direction.
    compute_expm : bool
        Whether to return both, or the derivative in the direction.
    """
    a, e = inexact(xp, a, e)
    if square("expm_frechet", a) != square("expm_frechet", e):
        raise ValueError(f"expm_frechet: of shapes {tuple(a.shape)} and {tuple(e.shape)}")
    batch = xp.broadcast_shapes(a.shape, e.shape) if a.shape != e.shape else a.shape
    a, e = xp.broadcast_to(a, batch), xp.broadcast_to(e, batch)
    both = _frechet(xp.linalg.expm, a, e, xp)
    return both if compute_expm else both[1]


linalg.vjp(
    "linalg.expm(x, /)",
    x=lambda g, x, xp: _frechet(xp.linalg.expm, adjoint(x, xp), g, xp)[1],
    forward=_expm,
    batch="last",
)
linalg.vjp("linalg.logm(x, /)", x=_logm_vjp, forward=_logm, batch="last")
linalg.vjp(
    "linalg.sqrtm(x, /)",
    x=lambda g, out, xp: xp.linalg.sylvester(adjoint(out, xp), adjoint(out, xp), g),
    forward=_sqrtm,
    batch="last",
)
composed(linalg, expm_frechet)
