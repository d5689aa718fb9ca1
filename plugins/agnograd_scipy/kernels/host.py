"""SciPy's adaptive methods: which intervals they choose, and where they converge."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.sparse
from scipy.optimize import NonlinearConstraint
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, splu

__all__ = [
    "LinearOperator",
    "NonlinearConstraint",
    "csr",
    "fixed_point",
    "gauss",
    "intervals",
    "issparse",
    "least_squares",
    "minimum",
    "newton",
    "ones",
    "root",
    "solved",
    "zero",
]

_WITH_JACOBIAN = ("hybr", "lm")
_WITH_SPARSE_HESSIAN = ("newton-cg", "trust-constr")
_WITH_PRODUCTS = ("trust-ncg", "trust-krylov")  # take sparse matrices, and do not compute with them

Array = Any


def intervals(
    f: Callable[..., Any], a: float, b: float, epsabs: float, epsrel: float, limit: int
) -> tuple[list[list[float]], float]:
    """Return the intervals that SciPy divides one into, and its estimate of the error."""
    _, error, info = scipy.integrate.quad_vec(
        f, a, b, epsabs=epsabs, epsrel=epsrel, limit=limit, quadrature="gk21", full_output=True
    )
    if not info.success:
        raise RuntimeError(
            f"quad: {info.message} epsabs is {epsabs} and epsrel {epsrel}: arrays of single "
            "precision need larger ones"
        )
    return info.intervals.tolist(), float(error)


def gauss(count: int) -> tuple[list[float], list[float]]:
    """Return the nodes and weights of Gauss and Legendre on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes.tolist(), weights.tolist()


def root(
    f: Callable[..., Any], jac: Callable[..., Any], x0: Array, method: str, **options: Any
) -> Array:
    """Return where SciPy finds a root."""
    if method in _WITH_JACOBIAN:
        options["jac"] = jac
    return _found("root", scipy.optimize.root(f, x0, method=method, **options))


def least_squares(
    f: Callable[..., Any], jac: Callable[..., Any], x0: Array, **options: Any
) -> Array:
    """Return where SciPy finds the least sum of squares."""
    return _found("least_squares", scipy.optimize.least_squares(f, x0, jac, **options))


def _found(name: str, result: Any) -> Array:
    if not result.success:
        raise RuntimeError(f"{name}: {result.message}")
    return result.x


def newton(
    f: Callable[..., Any],
    jac: Callable[..., Any],
    x0: Array,
    tol: float | None = None,
    *,
    maxiter: int = 100,
) -> Array:
    """Return a root by Newton's method, whose steps are halved until the residual gets smaller.

    It ends where a step is at most ``tol`` times the unknowns, as SciPy's "hybr" does.
    """
    tol = 1.49e-8 if tol is None else tol
    x, residual = x0, f(x0)
    for _ in range(maxiter):
        step = solved(jac(x), residual)
        if step is None:
            raise RuntimeError("root: the Jacobian is singular where the search has come to")
        if np.linalg.norm(step) <= tol * (np.linalg.norm(x) + tol):
            return x
        x, residual = _shortened(f, x, step, residual)
    raise RuntimeError(f"root: Newton's method did not converge in {maxiter} steps")


def _shortened(
    f: Callable[..., Any], x: Array, step: Array, residual: Array
) -> tuple[Array, Array]:
    """Return where a part of a step leads, and a residual that is smaller by Armijo's condition."""
    size, part = np.linalg.norm(residual), 1.0
    while part > 1e-10:
        moved = x - part * step
        found = f(moved)
        if np.linalg.norm(found) <= (1.0 - 1e-4 * part) * size:
            return moved, found
        part /= 2.0
    raise RuntimeError("root: no step makes the residual smaller; try another start")


def minimum(
    f: Callable[..., Any],
    x0: Array,
    precision: Any,
    method: str,
    hess: Callable[..., Any] | None,
    **options: Any,
) -> Array:
    """Return where SciPy finds a minimum of a function that gives its gradient, too.

    ``precision`` is the dtype in which the function is computed.
    """
    if hess is not None and method.lower() in _WITH_SPARSE_HESSIAN:
        options["hess"] = hess
    elif hess is not None and method.lower() in _WITH_PRODUCTS:
        options["hessp"] = _products(hess)
    found = scipy.optimize.minimize(f, x0, jac=True, method=method, **options)
    # BFGS says that it has lost precision where it cannot get lower, too: the gradient decides.
    enough = max(1e-5, 3 * np.finfo(precision).eps ** 0.5) * (1 + abs(found.fun))
    if not found.success and not np.linalg.norm(found.jac) <= enough:
        raise RuntimeError(f"minimize: {found.message}")
    return found.x


def _products(hess: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a place and a vector; the matrix is computed once for each place."""
    last: list[Any] = [None, None]

    def product(x: Array, p: Array) -> Array:
        if last[0] is None or not np.array_equal(last[0], x):
            last[:] = x.copy(), hess(x)
        return last[1] @ p

    return product


def fixed_point(f: Callable[..., Any], x0: Array, xtol: float, maxiter: int) -> Array:
    """Return where SciPy finds a fixed point; that it does not is a RuntimeError of its."""
    xtol = max(xtol, 8 * float(np.finfo(x0.dtype).eps))
    return np.asarray(scipy.optimize.fixed_point(f, x0.astype(float), xtol=xtol, maxiter=maxiter))


def csr(values: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix of double precision, by its entries in any order."""
    return scipy.sparse.csr_array((values.astype(float), (rows, columns)), shape=shape)


def ones(rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix of ones."""
    return csr(np.ones(rows.shape), rows, columns, shape)


def solved(matrix: Array, right: Array) -> Array | None:
    """Return the solution of a linear system in the shape of its right hand side, if it has one."""
    if issparse(matrix):
        try:
            return splu(matrix.tocsc()).solve(right.reshape(-1).astype(float)).reshape(right.shape)
        except RuntimeError:  # SuperLU's word for a singular matrix
            return None
    try:
        return np.linalg.solve(matrix, right.reshape(-1)).reshape(right.shape)
    except np.linalg.LinAlgError:
        return None


def zero(f: Callable[[float], float]) -> float:
    """Return where a function is 0 between 0 and 1, where its signs differ."""
    tolerance = 4 * float(np.finfo(float).eps)
    return float(scipy.optimize.brentq(f, 0.0, 1.0, xtol=tolerance, rtol=tolerance))
