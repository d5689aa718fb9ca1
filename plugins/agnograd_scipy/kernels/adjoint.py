"""The adjoint equation along a solution, from its end to its start.

A cotangent of the solution is carried backwards in time, and the gradients of parameters are
integrals along it (Cao, Li, Petzold and Serban, "Adjoint sensitivity analysis for
differential-algebraic equations", 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_array, issparse

from agnograd_scipy.kernels.host import gauss
from agnograd_scipy.kernels.steps import Equation, taken
from agnograd_scipy.kernels.trajectory import Curve, Trajectory

__all__ = ["backwards"]

Array = Any

_ORDERS = {"RK23": 3, "RK45": 5, "DOP853": 8, "Radau": 5, "BDF": 5}


def backwards(
    gradients: Any, trajectory: Trajectory, times: Sequence[float], cotangents: Array
) -> Array:
    """Return the gradient of the initial values, for cotangents of the solution at times.

    ``gradients`` has the right hand side of the adjoint equation, and adds up those of parameters.
    ``cotangents`` has shape ``(times, n)``.
    """
    first, last = trajectory.times[0], trajectory.times[-1]
    sign = 1.0 if last >= first else -1.0
    pairs = zip(times, cotangents, strict=True)
    jumps = sorted(((sign * t, row) for t, row in pairs if np.any(row)), key=lambda pair: -pair[0])
    state = np.zeros(cotangents.shape[1:], dtype=np.result_type(cotangents.dtype, float))
    for start, end, again in trajectory.parts():
        here = [row for row in jumps if row[0] > sign * start]
        jumps = jumps[len(here) :]
        if not here and not np.any(state):
            continue  # all of it is after the last cotangent
        curve = again()
        stops = [end, *(sign * at for at, _ in here), start]
        rows = [0.0, *(row for _, row in here)]
        for (upper, lower), row in zip(pairwise(stops), rows, strict=True):
            state = state + row
            if upper != lower and np.any(state):
                state = _between(gradients, trajectory, curve, upper, lower, state)
    return sum((row for _, row in jumps), state)


def _between(
    gradients: Any, trajectory: Trajectory, curve: Curve, upper: float, lower: float, start: Array
) -> Array:
    """Return the cotangent at the earlier time, of that at the later one.

    The integrals for the parameters are sums over Gauss's nodes in each step (Norcliffe and
    Deisenroth, "Faster training of neural ODEs using Gauss-Legendre quadrature", 2023). The steps
    are short enough for them, since one number that follows them is part of the equation.
    """
    n, solved = start.shape[0], trajectory.equation

    def fun(t: float, state: Array) -> Array:
        return np.append(*gradients.slope(t, curve(t), state[:n]))

    def jac(t: float, state: Array) -> Any:
        return _transposed(solved.jac(t, curve(t)))  # type: ignore[misc]

    rtol = float(np.min(solved.options.get("rtol", 1e-3)))
    floor = 1e-3 * rtol * float(np.max(np.abs(start)))
    options = {"rtol": rtol, "atol": np.append(np.full(n, floor), floor * (trajectory.size or 1.0))}
    options |= {name: each for name, each in solved.options.items() if name == "max_step"}
    state = np.append(start, 0.0)
    if not np.all(np.isfinite(fun(upper, state))):  # SciPy would search a step for ever
        raise RuntimeError(f"solve_ivp: the derivative of fun is not finite at t = {upper}")
    equation = Equation(fun, None if solved.jac is None else jac, solved.method, options)
    nodes, weights = gauss((_ORDERS[solved.method] + 2) // 2)
    with equation.solver(upper, state, lower) as solver:
        for h in taken(solver, what="the adjoint equation: "):
            within = solver.dense_output()
            for node, weight in zip(nodes, weights, strict=True):
                t = solver.t - 0.5 * h * (1.0 - node)
                gradients.add(-0.5 * h * weight, t, curve(t), within(t)[:n])
        return solver.y[:n]


def _transposed(matrix: Any) -> Any:
    """Return the Jacobian of the adjoint equation, in which its last number has no part."""
    if issparse(matrix):
        return block_diag((-matrix.T, csr_array((1, 1))), format="csc")
    return np.pad(-matrix.T, (0, 1))
