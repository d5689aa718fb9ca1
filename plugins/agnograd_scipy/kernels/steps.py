"""SciPy's methods for differential equations: which steps they take, and their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

__all__ = [
    "Collocation",
    "Equation",
    "Method",
    "State",
    "accepted_steps",
    "bdf_coefficients",
    "chosen_steps",
    "collocation",
    "rescaled",
    "taken",
]

_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF")

Array = Any
Stop = Callable[[float, Array], bool] | None


class Equation(NamedTuple):
    """An equation, and how SciPy solves it."""

    fun: Callable[..., Array]  # fun(t, y) is the derivative of y
    jac: Callable[..., Any] | None  # jac(t, y) is that of fun, for the methods that ask for it
    method: str
    options: dict[str, Any]  # SciPy's

    @contextmanager
    def solver(self, t: float, y: Array, end: float) -> Iterator[Any]:
        """Give SciPy's solver from a place on, in a ``with`` block.

        It refers to itself: what it holds is freed at the end of the block, and not when the
        garbage collector finds it.
        """
        if self.method not in _METHODS:
            raise ValueError(
                f"method must be one of {', '.join(_METHODS)}, whose steps can be repeated with "
                f"gradients, not {self.method!r}"
            )
        given = {} if self.jac is None else {"jac": self.jac}
        y = y.astype(np.result_type(y.dtype, float))
        solver = getattr(scipy.integrate, self.method)(self.fun, t, y, end, **given, **self.options)
        try:
            yield solver
        finally:
            vars(solver).clear()


def taken(solver: Any, stop: Stop = None, what: str = "") -> Iterator[float]:
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


# -- explicit methods ------------------------------------------------------------------------------


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
    equation: Equation, t_span: Sequence[float], y0: Array, stop: Stop
) -> tuple[list[float], Method, int]:
    """Return the times at which steps end, the method, and how often ``fun`` was called."""
    with equation.solver(t_span[0], y0, t_span[1]) as solver:
        times = [float(t_span[0]), *(float(solver.t) for _ in taken(solver, stop))]
        names = ("A", "B", "C", "P", "A_EXTRA", "C_EXTRA", "D")
        tables = [getattr(solver, name, None) for name in names]
        known = [each.tolist() if isinstance(each, np.ndarray) else [] for each in tables]
        return times, Method(*known), int(solver.nfev)


# -- methods for stiff equations -------------------------------------------------------------------


class State(NamedTuple):
    """Where a method is at the start, or at the end of a step."""

    t: float
    y: Array
    stages: Array | None  # of Radau, (3, n): how much y changed in the step until each of the nodes
    order: int  # of BDF, that of the next step
    length: float  # for which BDF keeps its differences


def chosen_steps(
    equation: Equation, t_span: Sequence[float], y0: Array, stop: Stop
) -> tuple[list[State], int]:
    """Return where SciPy's steps begin and end, and how often it called ``fun``."""

    def state(stages: Array | None) -> State:
        length = float(solver.h_abs * solver.direction)
        return State(float(solver.t), solver.y, stages, getattr(solver, "order", 0), length)

    nodes = collocation().nodes
    with equation.solver(t_span[0], y0, t_span[1]) as solver:
        states = [state(None)]
        for h in taken(solver, stop):
            t, y, *_ = states[-1]
            curve = solver.dense_output() if equation.method == "Radau" else None
            states.append(state(None if curve is None else curve(t + nodes * h).T - y))
        return states, int(solver.nfev)


class Collocation(NamedTuple):
    """The coefficients of Radau IIA of order 5."""

    nodes: Array  # as fractions of the step
    weights: Array  # the integrals up to each node of the polynomials that are 1 at one node
    # The coefficients of x, x**2 and x**3 by the values at the nodes, of what is 0 at x = 0.
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
