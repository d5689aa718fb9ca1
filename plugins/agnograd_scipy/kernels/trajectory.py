"""SciPy's solution of an equation, of which few places are kept: the others are computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from agnograd_scipy.kernels.host import taken

__all__ = ["Curve", "Equation", "Trajectory"]

_METHODS = {
    name: getattr(scipy.integrate, name) for name in ("RK23", "RK45", "DOP853", "Radau", "BDF")
}

Array = Any
Curve = Callable[[float], Array]


class Equation(NamedTuple):
    """An equation, and how SciPy solves it.

    Attributes
    ----------
    fun : callable
        ``fun(t, y)`` is the derivative of ``y``.
    jac : callable or None
        ``jac(t, y)`` is that of ``fun``, for the methods that ask for it.
    method : str
        The name of a method.
    options : dict
        SciPy's.
    """

    fun: Callable[..., Array]
    jac: Callable[..., Any] | None
    method: str
    options: dict[str, Any]

    @contextmanager
    def solver(self, t: float, y: Array, end: float) -> Iterator[Any]:
        """Give SciPy's solver from a place on, in a ``with`` block.

        It refers to itself: what it holds is freed at the end of the block, and not when the
        garbage collector finds it.
        """
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(_METHODS)}, not {self.method!r}")
        given = {} if self.jac is None else {"jac": self.jac}
        y = y.astype(np.result_type(y.dtype, float))
        solver = _METHODS[self.method](self.fun, t, y, end, **given, **self.options)
        try:
            yield solver
        finally:
            vars(solver).clear()


class Trajectory:
    """A solution, of which some places are kept.

    For n steps these are at most the square root of 8 n; between two there are at most as many
    steps.

    Attributes
    ----------
    times : list of float
        When the steps that were taken end, after the time at which the first one begins.
    calls : int
        How often SciPy called the function in them.
    size : float
        The largest absolute value of the solution.
    """

    def __init__(self, equation: Equation, t_span: Sequence[float], y0: Array) -> None:
        self._equation, self._end = equation, t_span[1]
        self.times, self.calls, self.size = [float(t_span[0])], 0, 0.0
        self._kept: list[tuple[float, Array]] = []
        self._stride = 1
        self._keep(y0)

    def steps(self) -> Iterator[tuple[float, float, Array, Curve]]:
        """Take the steps; yield the start of each, its length, the solution at its end and in it.

        You may stop early: what was taken until then is the solution.
        """
        with self._equation.solver(self.times[0], self._kept[0][1], self._end) as solver:
            for h in taken(solver):
                start = self.times[-1]
                self.times.append(float(solver.t))
                self.calls = int(solver.nfev)
                self._keep(solver.y)
                yield start, h, solver.y, solver.dense_output()

    def _keep(self, y: Array) -> None:
        self.size = max(self.size, float(np.max(np.abs(y), initial=0.0)))
        if (len(self.times) - 1) % self._stride:
            return
        self._kept.append((self.times[-1], y))
        if len(self._kept) > 2 * self._stride:
            del self._kept[1::2]
            self._stride *= 2

    def parts(self) -> Iterator[tuple[float, float, Callable[[], Curve]]]:
        """Yield the parts between kept places, the last one first: their ends, and the solution."""
        ends = [*(t for t, _ in self._kept[1:]), self.times[-1]]
        for (t, y), end in reversed(list(zip(self._kept, ends, strict=True))):
            if t != end:
                yield t, end, partial(self._again, t, y, end)

    def _again(self, t: float, y: Array, end: float) -> Curve:
        times, curves = [t], []
        options = {k: each for k, each in self._equation.options.items() if k != "first_step"}
        with self._equation._replace(options=options).solver(t, y, end) as solver:
            for _ in taken(solver):
                times.append(float(solver.t))
                curves.append(solver.dense_output())
        found: Curve = scipy.integrate.OdeSolution(times, curves)
        return found
