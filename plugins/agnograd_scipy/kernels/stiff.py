"""SciPy's methods for stiff equations: which steps they take, and their coefficients."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from agnograd_scipy.kernels.host import taken

__all__ = ["Chosen", "Collocation", "bdf_coefficients", "chosen_steps", "collocation", "rescaled"]

_METHODS = {"Radau": scipy.integrate.Radau, "BDF": scipy.integrate.BDF}

Array = Any


class Chosen(NamedTuple):
    """One step as SciPy took it.

    Attributes
    ----------
    t, h : float
        Where it starts, and how long it is.
    end : array, shape (n,)
        The solution at its end.
    stages : array, shape (3, n), or None
        Of Radau, how much the solution changes until each of the nodes.
    order, order_next : int
        Of BDF, the order of the step, and of the next one.
    h_before, h_next : float
        Of BDF, the length for which its differences are kept before the step, and after it.
    """

    t: float
    h: float
    end: Array
    stages: Array | None
    order: int
    order_next: int
    h_before: float
    h_next: float


class Collocation(NamedTuple):
    """The coefficients of Radau IIA of order 5.

    Attributes
    ----------
    nodes : array, shape (3,)
        The nodes, as fractions of the step.
    weights : array, shape (3, 3)
        The integrals up to each node of the polynomials that are 1 at one node.
    inverse : array, shape (3, 3)
        The coefficients of x, x**2 and x**3 by the values at the nodes, of what is 0 at x = 0.
    """

    nodes: Array
    weights: Array
    inverse: Array


def collocation() -> Collocation:
    """Return Radau's coefficients, which follow from its nodes.

    See Hairer and Wanner, "Solving ordinary differential equations II", 1996, section IV.5.
    """
    root = 6**0.5
    nodes = np.asarray([(4 - root) / 10, (4 + root) / 10, 1.0])
    powers = nodes[:, None] ** np.arange(4)
    integrals = powers[:, 1:] / np.arange(1, 4)
    weights = integrals @ np.linalg.inv(powers[:, :3])
    return Collocation(nodes, weights, np.linalg.inv(powers[:, 1:]))


def chosen_steps(
    fun: Callable[..., Any],
    jac: Callable[..., Any],
    t_span: Sequence[float],
    y0: Array,
    method: str,
    stop: Callable[[float, Array], bool] | None = None,
    **options: Any,
) -> tuple[list[Chosen], int]:
    """Return the steps that SciPy takes, and how often it called ``fun``."""
    solver = _METHODS[method](fun, t_span[0], y0.astype(float), t_span[1], jac=jac, **options)
    nodes, steps = collocation().nodes, []
    t, y, order, before = _state(solver)
    for h in taken(solver, stop):
        stages = solver.dense_output()(t + nodes * h).T - y if method == "Radau" else None
        *now, order_next, after = _state(solver)
        steps.append(Chosen(t, h, solver.y, stages, order, order_next, before, after))
        (t, y), order, before = now, order_next, after
    return steps, int(solver.nfev)


def _state(solver: Any) -> tuple[float, Array, int, float]:
    """Return time, solution, order and signed length of the next step."""
    length = float(solver.h_abs * solver.direction)
    return float(solver.t), solver.y, getattr(solver, "order", 0), length


def bdf_coefficients() -> tuple[list[float], list[float]]:
    """Return the factors of the slope and of the differences in SciPy's BDF, by the order.

    See Shampine and Reichelt, "The MATLAB ODE suite", 1997.
    """
    solver = scipy.integrate.BDF(lambda t, y: y, 0.0, np.zeros(1), 1.0, first_step=0.1)
    return solver.alpha.tolist(), solver.gamma.tolist()


def rescaled(order: int, factor: float) -> Array:
    """Return the matrix that turns differences of one step length into those of another.

    ``factor`` is the new length over the old one; there are ``order + 1`` differences.
    """

    def powers(factor: float) -> Array:
        i, j = np.arange(1, order + 1)[:, None], np.arange(1, order + 1)
        table = np.zeros((order + 1, order + 1))
        table[1:, 1:] = (i - 1 - factor * j) / i
        table[0] = 1
        return np.cumprod(table, axis=0)

    return (powers(factor) @ powers(1.0)).T
