"""Steps of SciPy's methods for stiff equations, each of which solves an equation.

SciPy chooses the steps, as for explicit methods. What a step computes satisfies an equation, and
``ag.implicit`` gives it its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

import agnograd as ag
from agnograd.extend import device_of
from agnograd_scipy._arrays import constants
from agnograd_scipy._host import from_host, to_host
from agnograd_scipy.explicit import Stop
from agnograd_scipy.jacobians import Matrix, linear, polished
from agnograd_scipy.problems import Problem

__all__ = ["METHODS", "Stiff"]

METHODS = ("Radau", "BDF")

Slope = Callable[..., Any]


class Stiff:
    """The steps that SciPy chooses for a problem; see ``Explicit``, whose form it has.

    The option ``sparse`` says whether Jacobians are.
    """

    def __init__(
        self, problem: Problem, method: str, options: dict[str, Any], stop: Stop | None = None
    ) -> None:
        self._problem, self._method = problem, method
        self.xp, self.y0, self.args = problem.xp, problem.y0, problem.args
        self._linear = linear(options.pop("sparse", False))
        self._host: Any = import_module("agnograd_scipy.kernels.steps")
        plain = problem.plain
        equation = self._host.Equation(
            plain.on_numpy, plain.jacobian(self._linear), method, options
        )
        self._states, self.calls = self._host.chosen_steps(
            equation, plain.ends, to_host(self.y0), stop
        )
        self.times = [problem.time(each.t) for each in self._states]
        self.count = len(self._states) - 1

    def steps(self) -> Iterator[Any]:
        """Take the steps, one after the other."""
        still = self._states[0].t == self._states[-1].t
        if still or not self.y0.shape[0]:  # or nothing changes
            start, end = self.times[0], self.times[-1]
            return iter([Interpolated(start, end - start, 1.0, [self.y0])])
        return self._radau() if self._method == "Radau" else self._bdf()

    def _solved(self, residual: Slope, matrix: Matrix, guess: Any, *args: Any) -> Any:
        """Return where a residual is 0, which is close to a guess on the host."""

        def solver(*args: Any) -> Any:
            start = from_host(guess, constants(self.y0))
            return polished(residual, matrix, start, *constants(args))

        solver.__name__ = self._method
        return ag.implicit(solver, residual=residual, solve=self._linear.solve)(*args)

    # -- Radau -------------------------------------------------------------------------------------

    def _radau(self) -> Iterator[Any]:
        xp, slope, coefficients = self.xp, self._problem.slope, self._host.collocation()
        weights = xp.asarray(
            coefficients.weights.tolist(), dtype=self.y0.dtype, device=device_of(self.y0)
        )
        inverse = coefficients.inverse.tolist()
        nodes = coefficients.nodes.tolist()

        def residual(z: Any, t: Any, h: Any, y: Any, *args: Any) -> Any:
            slopes = [slope(t + c * h, y + z[i, :], args) for i, c in enumerate(nodes)]
            return z - h * xp.matmul(weights, xp.stack(slopes))

        matrix, y = self._linear.jacobian(residual), self.y0
        for t, (before, after) in zip(self.times, pairwise(self._states), strict=False):
            h = (after.t - before.t) * self._problem.scale
            z = self._solved(residual, matrix, after.stages, t, h, y, *self.args)
            step = Collocated(t, h, y, [z[i, :] for i in range(3)], inverse)
            yield step
            y = step.end

    # -- BDF ---------------------------------------------------------------------------------------

    def _bdf(self) -> Iterator[Any]:
        slope, scale = self._problem.slope, self._problem.scale
        alpha, gamma = self._host.bdf_coefficients()

        def residual(d: Any, t: Any, c: Any, predicted: Any, psi: Any, *args: Any) -> Any:
            return c * slope(t, predicted + d, args) - psi - d

        matrix = self._linear.jacobian(residual)
        first = slope(self.times[0], self.y0) * (self._states[0].length * scale)
        differences = [self.y0, first]
        ends = zip(pairwise(self.times), pairwise(self._states), strict=True)
        for (t, end), (before, after) in ends:
            k, length = before.order, after.t - before.t
            h = length * scale
            self._rescale(differences, k, length / before.length)
            predicted = sum(differences[1 : k + 1], differences[0])
            terms = (gamma[j] / alpha[k] * differences[j] for j in range(1, k + 1))
            psi = sum(terms, 0.0)
            guess = after.y - to_host(predicted)
            given = end, h / alpha[k], predicted, psi
            d = self._solved(residual, matrix, guess, *given, *self.args)
            differences[k + 1 :] = [d, d - differences[k + 1] if len(differences) > k + 1 else d]
            for j in reversed(range(k + 1)):
                differences[j] = differences[j] + differences[j + 1]
            self._rescale(differences, after.order, after.length / length)
            yield Interpolated(t, h, after.length * scale, differences[: after.order + 1])

    def _rescale(self, differences: list[Any], order: int, factor: float) -> None:
        """Turn differences of one step length into those of another, which is ``factor`` of it."""
        if factor == 1.0:
            return
        rows = self._host.rescaled(order, factor).tolist()
        differences[: order + 1] = [
            sum((a * each for a, each in zip(row, differences, strict=False) if a), 0.0)
            for row in rows
        ]


class Collocated:
    """A step whose solution is a polynomial through the values at its nodes."""

    def __init__(
        self, t: Any, h: Any, y: Any, stages: Sequence[Any], inverse: list[list[float]]
    ) -> None:
        self.t, self.h, self.y = t, h, y
        self._stages, self._inverse = stages, inverse
        self.end = y + stages[-1]

    def at(self, x: Any) -> Any:
        """Return the solution within the step, at the fraction x of it."""
        out = self.y
        for power, row in enumerate(self._inverse, 1):
            for factor, stage in zip(row, self._stages, strict=True):
                out = out + (factor * x**power) * stage
        return out


class Interpolated:
    """A step whose solution is a polynomial by backward differences for a step length."""

    def __init__(self, t: Any, h: Any, length: Any, differences: Sequence[Any]) -> None:
        self.t, self.h, self._length, self._differences = t, h, length, differences
        self.end = differences[0]

    def at(self, x: Any) -> Any:
        """Return the solution within the step, at the fraction x of it."""
        behind = (x - 1.0) * self.h / self._length  # in lengths, from the end of the step
        out = self.end
        factors = [(behind + j) / (j + 1) for j in range(len(self._differences) - 1)]
        for factor, each in zip(accumulate(factors, mul), self._differences[1:], strict=True):
            out = out + factor * each
        return out
