"""Linear equations for matrices, of ``scipy.linalg``: Sylvester's and Lyapunov's.

With A X + X B = Q, the gradient by Q is the solution Y of A^H Y + Y B^H = G, that by A is -Y X^H,
and that by B is -X^H Y (Kao and Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and
algebraic Riccati equations", arXiv:2011.11430, section 3).
"""

from __future__ import annotations

from typing import Any

from agnograd.extend import adjoint, conjugate_if_complex, device_of, switch
from agnograd_scipy import linalg
from agnograd_scipy._arrays import composed, inexact
from agnograd_scipy._host import by_host
from agnograd_scipy.triangular import square

__all__: list[str] = []

# Below how many rows the equations of all elements are solved at once, as in SciPy.
DIRECT_ROWS = switch("DIRECT_ROWS", 10, least=1, most=32, module=__name__)


def _sylvester(xp: Any, backend: Any, a: Any, b: Any, q: Any, /) -> Any:
    """Solve A X + X B = Q by Schur decompositions, ``scipy.linalg.solve_sylvester``.

    Parameters
    ----------
    a : array, shape (..., m, m)
    b : array, shape (..., n, n)
    q : array, shape (..., m, n)

    Returns
    -------
    array, shape (..., m, n)
        NaN where eigenvalues of A and -B are equal: there is no unique solution.
    """
    return by_host("sylvester", xp, backend, a, b, q)


def _by_q(g: Any, a: Any, b: Any, xp: Any) -> Any:
    return xp.linalg.sylvester(adjoint(a, xp), adjoint(b, xp), g)


linalg.vjp(
    "linalg.sylvester(a, b, q, /)",
    a=lambda g, a, b, out, xp: -(_by_q(g, a, b, xp) @ adjoint(out, xp)),
    b=lambda g, a, b, out, xp: -(adjoint(out, xp) @ _by_q(g, a, b, xp)),
    q=_by_q,
    forward=_sylvester,
    batch="last",
)


def solve_sylvester(xp: Any, a: Any, b: Any, q: Any) -> Any:
    """Solve A X + X B = Q, ``scipy.linalg.solve_sylvester``.

    Parameters
    ----------
    a : array, shape (..., m, m)
    b : array, shape (..., n, n)
    q : array, shape (..., m, n)
    """
    a, b, q = inexact(xp, a, b, q)
    sides = square("solve_sylvester", a), square("solve_sylvester", b)
    if tuple(q.shape[-2:]) != sides:
        raise ValueError(
            f"solve_sylvester: q has shape {tuple(q.shape)}, and a and b sides of {sides}"
        )
    return xp.linalg.sylvester(a, b, q)


def solve_continuous_lyapunov(xp: Any, a: Any, q: Any) -> Any:
    """Solve A X + X A^H = Q, ``scipy.linalg.solve_continuous_lyapunov``.

    Parameters
    ----------
    a, q : array, shape (..., m, m)
    """
    a, q = inexact(xp, a, q)
    return solve_sylvester(xp, a, adjoint(a, xp), q)


def solve_discrete_lyapunov(xp: Any, a: Any, q: Any, method: str | None = None) -> Any:
    """Solve A X A^H - X + Q = 0, ``scipy.linalg.solve_discrete_lyapunov``.

    Parameters
    ----------
    a, q : array, shape (..., m, m)
    method : {"direct", "bilinear"}, optional
        Whether to solve for all elements at once, or a continuous equation, which takes less where
        m is large, and needs that -1 is not an eigenvalue of A; by default directly if m < 10.
    """
    a, q = inexact(xp, a, q)
    size = square("solve_discrete_lyapunov", a)
    if tuple(q.shape[-2:]) != (size, size):
        raise ValueError(
            f"solve_discrete_lyapunov: q has shape {tuple(q.shape)}, and a {size} rows"
        )
    method = method or ("direct" if size < DIRECT_ROWS else "bilinear")
    if method not in ("direct", "bilinear"):
        raise ValueError(f"method must be 'direct' or 'bilinear', not {method!r}")
    if method == "direct":
        return _directly(xp, a, q, size)
    eye = xp.eye(size, dtype=a.dtype, device=device_of(a))
    # Popov, "Hyperstability of control systems", 1973, section 22: (A^H - 1) (A^H + 1)^-1.
    turned = xp.linalg.inv(adjoint(a, xp) + eye)
    b = (adjoint(a, xp) - eye) @ turned
    c = 2 * xp.linalg.inv(a + eye) @ q @ turned
    return solve_sylvester(xp, adjoint(b, xp), b, -c)


def _directly(xp: Any, a: Any, q: Any, size: int) -> Any:
    """Solve for the elements of X, row after row: (1 - A (x) conj(A)) vec(X) = vec(Q)."""
    product = a[..., :, None, :, None] * conjugate_if_complex(a, xp)[..., None, :, None, :]
    matrix = xp.reshape(product, (*a.shape[:-2], size**2, size**2))
    matrix = xp.eye(size**2, dtype=a.dtype, device=device_of(a)) - matrix
    solved = xp.linalg.solve(matrix, xp.reshape(q, (*q.shape[:-2], size**2, 1)))
    return xp.reshape(solved, (*solved.shape[:-2], size, size))


composed(linalg, solve_sylvester, solve_continuous_lyapunov, solve_discrete_lyapunov)
