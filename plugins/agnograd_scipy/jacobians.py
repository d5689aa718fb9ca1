"""Jacobians on the host, as SciPy takes them: dense or sparse, and linear systems with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import agnograd as ag
from agnograd.errors import SolverError
from agnograd_scipy._arrays import constants
from agnograd_scipy._host import from_host, host_methods, to_host

__all__ = ["Linear", "linear", "polished", "sparse"]

Matrix = Callable[..., Any]
_POLISH = 5  # steps at most


def dense(f: Callable[..., Any]) -> Matrix:
    """Return the derivative of a function by its first argument, an array, as a matrix."""

    def jacobian(x: Any, *args: Any) -> Any:
        columns = math.prod(x.shape)
        rows = to_host(ag.jacobian(f)(x, *args))
        return rows.reshape((rows.size // max(columns, 1), columns))

    return jacobian


def sparse(derivative: Any) -> Matrix:
    """Return a sparse derivative as a matrix of SciPy, whose pattern is found in the first call."""
    known: list[Any] = []

    def matrix(x: Any, *args: Any) -> Any:
        x = constants(x)
        known[:] = known or [ag.prepare(derivative, x, *args)]
        return _host_matrix(known[0](x, *args))

    return matrix


def _host_matrix(found: Any) -> Any:
    """Return a triple of arrays as a sparse matrix of SciPy."""
    parts = map(to_host, (found.values, found.rows, found.columns))
    return host_methods().csr(*parts, found.shape)


def polished(f: Callable[..., Any], matrix: Matrix, x: Any, *args: Any) -> Any:
    """Take steps of Newton's method after SciPy's for as long as the residual gets smaller.

    A derivative at a place that is not a solution is none of the solution. Where the Jacobian is
    singular there is a solution all the same, but no derivative.
    """
    with ag.no_grad():
        residual = f(x, *args)
        best = _size(residual)
        for _ in range(_POLISH):
            step = host_methods().solved(matrix(x, *args), to_host(residual))
            if step is None:
                break
            moved = x - from_host(step, x)
            residual = f(moved, *args)
            size = _size(residual)
            if not size < best:
                break
            x, best = moved, size
    return x


def _size(residual: Any) -> float:
    return float(abs(to_host(residual)).max(initial=0.0))


def solved_sparsely(a: Any, b: Any) -> Any:
    """Solve a linear system of ``ag.implicit`` by factors of a sparse matrix."""
    found = host_methods().solved(_host_matrix(a.coordinates()), to_host(b))
    if found is None:
        raise SolverError(
            "the Jacobian of the equation is singular at the solution, which therefore has no "
            "derivative by the implicit function theorem"
        )
    return from_host(found, b)


class Linear(NamedTuple):
    """How derivatives of equations are computed, and linear systems with them solved."""

    jacobian: Callable[[Callable[..., Any]], Matrix]  # of a function, as a function on the host
    solve: Any  # as ag.implicit takes it


def linear(is_sparse: bool) -> Linear:
    """Return how it is done with dense or with sparse matrices."""
    if is_sparse:
        return Linear(lambda f: sparse(ag.sparse_jacobian(f)), solved_sparsely)
    return Linear(dense, "dense")
