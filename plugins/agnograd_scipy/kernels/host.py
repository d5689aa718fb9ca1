"""SciPy's adaptive methods: which steps and intervals they choose, and where they converge."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.optimize
from scipy.optimize import NonlinearConstraint
from scipy.sparse.linalg import LinearOperator

__all__ = [
    "LinearOperator",
    "Method",
    "NonlinearConstraint",
    "accepted_steps",
    "fixed_point",
    "gauss",
    "intervals",
    "least_squares",
    "minimum",
    "root",
    "solved",
]

_METHODS = {
    "RK23": scipy.integrate.RK23,
    "RK45": scipy.integrate.RK45,
    "DOP853": scipy.integrate.DOP853,
}
_WITH_JACOBIAN = ("hybr", "lm")

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
    fun: Callable[..., Any], t_span: Sequence[float], y0: Array, method: str, **options: Any
) -> tuple[list[float], Method, int]:
    """Return the times at which SciPy's steps end, the method, and how often it called ``fun``."""
    if method not in _METHODS:
        raise ValueError(
            f"method must be one of {', '.join(_METHODS)}, whose steps can be repeated with "
            f"gradients, not {method!r}"
        )
    found = scipy.integrate.solve_ivp(fun, t_span, y0, method=method, **options)
    if not found.success:
        raise RuntimeError(f"solve_ivp: {found.message}")
    one: Any = _METHODS[method]
    dense = method != "DOP853"
    tables = [one.A, one.B, one.C, one.P if dense else np.zeros((0, 0))]
    tables += [np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))] if dense else []
    tables += [] if dense else [one.A_EXTRA, one.C_EXTRA, one.D]
    return found.t.tolist(), Method(*(each.tolist() for each in tables)), int(found.nfev)


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


def minimum(f: Callable[..., Any], x0: Array, **options: Any) -> Array:
    """Return where SciPy finds a minimum of a function that gives its gradient, too."""
    found = scipy.optimize.minimize(f, x0.astype(float), jac=True, **options)
    # BFGS says that it has lost precision where it cannot get lower, too: the gradient decides.
    enough = max(1e-5, 3 * np.finfo(x0.dtype).eps ** 0.5) * (1 + abs(found.fun))
    if not found.success and not np.linalg.norm(found.jac) <= enough:
        raise RuntimeError(f"minimize: {found.message}")
    return found.x


def fixed_point(f: Callable[..., Any], x0: Array, xtol: float, maxiter: int) -> Array:
    """Return where SciPy finds a fixed point; that it does not is a RuntimeError of its."""
    xtol = max(xtol, 8 * float(np.finfo(x0.dtype).eps))
    return np.asarray(scipy.optimize.fixed_point(f, x0.astype(float), xtol=xtol, maxiter=maxiter))


def solved(matrix: Array, right: Array) -> Array | None:
    """Return the solution of a linear system in the shape of its right hand side, if it has one."""
    try:
        return np.linalg.solve(matrix, right.reshape(-1)).reshape(right.shape)
    except np.linalg.LinAlgError:
        return None
