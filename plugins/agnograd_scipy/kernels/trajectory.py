"""SciPy's solution of an equation, of which few places are kept: the others are computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.integrate

from agnograd_scipy.kernels.steps import Equation, taken

__all__ = ["Curve", "Trajectory"]

Array = Any
Curve = Callable[[float], Array]


class Trajectory:
    """A solution, of which some places are kept.

    For n steps these are at most the square root of 8 n; between two there are at most as many
    steps. ``times`` is when the steps that were taken end, after the time at which the first one
    begins; ``calls`` says how often SciPy called the function in them, and ``size`` is the largest
    absolute value of the solution.
    """

    def __init__(self, equation: Equation, t_span: Sequence[float], y0: Array) -> None:
        self.equation, self._end = equation, t_span[1]
        self.times, self.calls, self.size = [float(t_span[0])], 0, 0.0
        self._kept: list[tuple[float, Array]] = []
        self._stride = 1
        self._keep(y0)

    def steps(self) -> Iterator[tuple[float, float, Array, Curve]]:
        """Take the steps; yield the start of each, its length, the solution at its end and in it.

        You may stop early: what was taken until then is the solution.
        """
        with self.equation.solver(self.times[0], self._kept[0][1], self._end) as solver:
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
        options = {k: each for k, each in self.equation.options.items() if k != "first_step"}
        with self.equation._replace(options=options).solver(t, y, end) as solver:
            for _ in taken(solver):
                times.append(float(solver.t))
                curves.append(solver.dense_output())
        found: Curve = scipy.integrate.OdeSolution(times, curves)
        return found
