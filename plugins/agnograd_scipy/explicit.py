"""Steps of SciPy's explicit Runge-Kutta methods, taken once more with gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import agnograd as ag
from agnograd.extend import is_tracked
from agnograd_scipy._host import to_host
from agnograd_scipy.problems import Problem

__all__ = ["Explicit", "Step"]

Stop = Callable[[float, Any], bool]


class Explicit:
    """The steps that SciPy chooses for a problem.

    Where something is tracked, they control the error of a derivative, too. ``stop(t, y)`` says at
    the end of each step whether it is the last one. ``times`` is when steps end, after the time at
    which the first one begins; ``count`` says how many there are, and ``calls`` how often SciPy
    called the function.
    """

    def __init__(
        self, problem: Problem, method: str, options: dict[str, Any], stop: Stop | None = None
    ) -> None:
        self._problem, self._method, self._options, self._stop = problem, method, options, stop
        self._first = problem.slope(problem.t_span[0], problem.y0)
        of_result = (self._first, problem.y0, *problem.t_span)
        tracked = ag.is_grad_enabled() and any(map(is_tracked, of_result))
        times, self._formula, self.calls = self._controlled() if tracked else self._chosen()
        self.times = [problem.time(t) for t in times]
        self.count = len(times) - 1

    def _chosen(self) -> Any:
        plain = self._problem.plain
        return self._accepted(plain.on_numpy, to_host(plain.y0), self._stop, self._options)

    def _accepted(self, fun: Callable[..., Any], y0: Any, stop: Stop | None, options: Any) -> Any:
        kernels = import_module("agnograd_scipy.kernels.steps")
        equation = kernels.Equation(fun, None, self._method, options)
        return kernels.accepted_steps(equation, self._problem.ends, y0, stop)

    def _controlled(self) -> Any:
        """Return the same of steps that control the error of a derivative, too."""
        problem, stop = self._problem, self._stop
        kernels = import_module("agnograd_scipy.kernels.sensitivities")
        both = kernels.Sensitivity(problem.slope, problem.y0, problem.args)
        size = to_host(problem.y0).size
        tolerances = kernels.controlled(problem.y0, **self._options)
        of_both = None if stop is None else lambda t, y: stop(t, y[:size])
        try:
            return self._accepted(both, both.start, of_both, tolerances)
        except RuntimeError as error:
            self._chosen()  # else the error is the solution's
            raise RuntimeError(
                f"{error} That is the derivative's error, which stays above the tolerances, while "
                "the solution's does not: the derivative may be infinite somewhere. For the "
                "solution without a derivative, call solve_ivp under ag.no_grad(), or detach what "
                "fun uses"
            ) from error

    def steps(self) -> Iterator[Step]:
        """Take the steps, one after the other."""
        problem, y, slope = self._problem, self._problem.y0, self._first
        for t, then in pairwise(self.times):
            step = Step(problem.slope, self._formula, t, then - t, y, slope)
            yield step
            y, slope = step.end, step.slope


class Step:
    """One step of a Runge-Kutta method (Hairer, Norsett and Wanner, "Solving ordinary differential
    equations I", 1993, sections II.1 and II.6).
    """  # noqa: D205

    def __init__(
        self, fun: Callable[..., Any], method: Any, t: Any, h: Any, y: Any, slope: Any
    ) -> None:
        self.fun, self.method, self.t, self.h, self.y = fun, method, t, h, y
        self.stages = [slope]
        for row, c in zip(method.a[1:], method.c[1:], strict=True):
            self._stage(row, c)
        self.end = y + self._sum(method.b, h)
        self.slope = fun(t + h, self.end)  # with which the next step starts
        self.stages.append(self.slope)
        self._further: bool | None = None  # whether further stages are recorded, if they are there

    def _stage(self, row: Sequence[float], c: float) -> None:
        self.stages.append(self.fun(self.t + c * self.h, self.y + self._sum(row, self.h)))

    def _sum(self, factors: Sequence[Any], by: Any) -> Any:
        """Return the sum of the stages, each times its factor, times ``by``."""
        total: Any = 0
        for factor, stage in zip(factors, self.stages, strict=False):
            if not isinstance(factor, float) or factor:
                total = total + factor * stage
        return by * total

    def at(self, x: Any) -> Any:
        """Return the solution within the step, at the fraction x of it."""
        if not self.method.d:
            powers = [sum(p * x ** (k + 1) for k, p in enumerate(row)) for row in self.method.p]
            return self.y + self._sum(powers, self.h)
        recorded = ag.is_grad_enabled()
        if self._further is None or (recorded and not self._further):
            del self.stages[len(self.method.b) + 1 :]
            for row, c in zip(self.method.further, self.method.further_c, strict=True):
                self._stage(row, c)
            self._further = recorded
        change, first = self.end - self.y, self.stages[0]
        terms = [
            change,
            self.h * first - change,
            2 * change - self.h * (first + self.slope),
            *(self._sum(row, self.h) for row in self.method.d),
        ]
        out: Any = 0
        for k, term in enumerate(reversed(terms)):
            out = (out + term) * (x if k % 2 == 0 else 1 - x)
        return self.y + out
