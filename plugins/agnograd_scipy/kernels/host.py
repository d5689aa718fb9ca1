"""SciPy's adaptive methods: which steps and intervals they choose, and where they converge."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.sparse
from scipy.optimize import NonlinearConstraint
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, splu

__all__ = [
    "LinearOperator",
    "Method",
    "NonlinearConstraint",
    "accepted_steps",
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
    "taken",
    "zero",
]

_METHODS = {
    "RK23": scipy.integrate.RK23,
    "RK45": scipy.integrate.RK45,
    "DOP853": scipy.integrate.DOP853,
}
_WITH_JACOBIAN = ("hybr", "lm")
_WITH_SPARSE_HESSIAN = ("newton-cg", "trust-constr")
_WITH_PRODUCTS = ("trust-ncg", "trust-krylov")  # take sparse matrices, and do not compute with them

Array = Any


class Method(NamedTuple):
    """The coefficients of a Runge-Kutta method, in SciPy's terms.

    ``p`` interpolates between steps; or there are further stages, and ``d``.
    """

    a: list[list[float]]
    b: list[float]
    c: list[float]
    p: list[list[float]]
    further: list[list[float]]
    further_c: list[float]
    d: list[list[float]]


def accepted_steps(
    fun: Callable[..., Any],
    t_span: Sequence[float],
    y0: Array,
    method: str,
    stop: Callable[[float, Array], bool] | None = None,
    **options: Any,
) -> tuple[list[float], Method, int]:
    """Return the times at which SciPy's steps end, the method, and how often it called ``fun``."""
    if method not in _METHODS:
        raise ValueError(
            f"method must be one of {', '.join(_METHODS)}, Radau and BDF, whose steps can be "
            f"repeated with gradients, not {method!r}"
        )
    solver = _METHODS[method](fun, t_span[0], y0, t_span[1], **options)
    times = [float(t_span[0]), *(float(solver.t) for _ in taken(solver, stop))]
    one: Any = _METHODS[method]
    dense = method != "DOP853"
    tables = [one.A, one.B, one.C, one.P if dense else np.zeros((0, 0))]
    tables += [np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))] if dense else []
    tables += [] if dense else [one.A_EXTRA, one.C_EXTRA, one.D]
    return times, Method(*(each.tolist() for each in tables)), int(solver.nfev)


def taken(
    solver: Any, stop: Callable[[float, Array], bool] | None = None, what: str = ""
) -> Iterator[float]:
    """Let a solver of SciPy's take its steps; yield their lengths.

    ``stop(t, y)`` says at the end of each whether it is the last one. ``what`` begins an error.
    """
    while solver.status == "running":
        start = float(solver.t)
        message = solver.step()
        if solver.status == "failed":
            raise RuntimeError(f"solve_ivp: {what}{message}")
        yield float(solver.t) - start
        if stop is not None and stop(float(solver.t), solver.y):
            return


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
        options["jac"] = lambda x: jac(x).astype(float)
    found = scipy.optimize.root(
        lambda x: f(x).astype(float), x0.astype(float).reshape(-1), method=method, **options
    )
    if not found.success:
        raise RuntimeError(f"root: {found.message}")
    return found.x.reshape(x0.shape)


def least_squares(
    f: Callable[..., Any], jac: Callable[..., Any], x0: Array, method: str, **options: Any
) -> Array:
    """Return where SciPy finds the least sum of squares."""
    found = scipy.optimize.least_squares(
        lambda x: f(x).astype(float),
        x0.astype(float).reshape(-1),
        lambda x: jac(x).astype(float),
        method=method,
        **options,
    )
    if not found.success:
        raise RuntimeError(f"least_squares: {found.message}")
    return found.x.reshape(x0.shape)


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
    x = x0.astype(float).reshape(-1)
    residual = f(x).astype(float)
    for _ in range(maxiter):
        step = solved(jac(x), residual)
        if step is None:
            raise RuntimeError("root: the Jacobian is singular where the search has come to")
        if np.linalg.norm(step) <= tol * (np.linalg.norm(x) + tol):
            return x.reshape(x0.shape)
        x, residual = _shortened(f, x, step, residual)
    raise RuntimeError(f"root: Newton's method did not converge in {maxiter} steps")


def _shortened(
    f: Callable[..., Any], x: Array, step: Array, residual: Array
) -> tuple[Array, Array]:
    """Return where a part of a step leads, and a residual that is smaller by Armijo's condition."""
    size, part = np.linalg.norm(residual), 1.0
    while part > 1e-10:
        moved = x - part * step
        found = f(moved).astype(float)
        if np.linalg.norm(found) <= (1.0 - 1e-4 * part) * size:
            return moved, found
        part /= 2.0
    raise RuntimeError("root: no step makes the residual smaller; try another start")


def minimum(
    f: Callable[..., Any],
    x0: Array,
    method: str,
    hess: Callable[..., Any] | None = None,
    **options: Any,
) -> Array:
    """Return where SciPy finds a minimum of a function that gives its gradient, too."""
    if hess is not None and method.lower() in _WITH_SPARSE_HESSIAN:
        options["hess"] = hess
    elif hess is not None and method.lower() in _WITH_PRODUCTS:
        options["hessp"] = _products(hess)
    found = scipy.optimize.minimize(f, x0.astype(float), jac=True, method=method, **options)
    # BFGS says that it has lost precision where it cannot get lower, too: the gradient decides.
    enough = max(1e-5, 3 * np.finfo(x0.dtype).eps ** 0.5) * (1 + abs(found.fun))
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
