"""Steps of SciPy's methods for stiff equations, each of which solves an equation.

SciPy chooses the steps, as for explicit methods. What a step computes satisfies an equation, and
``ag.implicit`` gives it its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import accumulate
from operator import mul
from typing import Any

import agnograd as ag
from agnograd.extend import device_of
from agnograd_scipy import jacobians
from agnograd_scipy._arrays import constants
from agnograd_scipy._host import from_host, on_host, to_host
from agnograd_scipy.jacobians import Matrix

__all__ = ["METHODS", "Stepper"]

METHODS = ("Radau", "BDF")

Slope = Callable[..., Any]


class Stepper:
    """A method for an equation: the steps that SciPy takes, and the same ones with gradients.

    Parameters
    ----------
    xp : namespace
    slope : callable
        ``slope(t, y, args)`` returns the derivative.
    y0 : array
        The initial values.
    args : tuple
        Further arguments of ``slope``.
    method : {"Radau", "BDF"}
    sparse : bool
        Whether Jacobians are.
    """

    def __init__(
        self, xp: Any, slope: Slope, y0: Any, args: Sequence[Any], method: str, sparse: bool
    ) -> None:
        if not xp.isdtype(y0.dtype, "real floating"):
            raise ValueError(f"method {method!r} takes real arrays, and y0 has dtype {y0.dtype}")
        self.xp, self.slope, self.y0, self.args = xp, slope, y0, args
        self.method, self._jacobian = method, jacobians.sparse if sparse else jacobians.dense
        self._solve = jacobians.solved_sparsely if sparse else "dense"
        self._host: Any = import_module("agnograd_scipy.kernels.stiff")

    def choose(self, ends: Sequence[float], options: dict[str, Any]) -> tuple[list[Any], int]:
        """Return the steps that SciPy takes, and how often it called the function."""
        args, like = constants(tuple(self.args)), constants(self.y0)
        jacobian = self._jacobian(lambda y, t: self.slope(t, y, args))

        def matrix(t: float, y: Any) -> Any:
            with ag.no_grad():
                return jacobian(from_host(y, like), float(t))

        def on_numpy(t: float, y: Any) -> Any:
            return on_host(lambda y: self.slope(float(t), y, args), like)(y).astype(float)

        chosen: tuple[list[Any], int] = self._host.chosen_steps(
            on_numpy, matrix, ends, to_host(self.y0), self.method, **options
        )
        return chosen

    def steps(self, chosen: Sequence[Any], start: Any, scale: Any) -> Iterator[Any]:
        """Take the steps; time begins at ``start``, and is ``scale`` times that of SciPy."""
        if not chosen[0].h:  # time stands still
            return iter([Interpolated(start, 0.0, 1.0, [self.y0])])
        return (self._radau if self.method == "Radau" else self._bdf)(chosen, start, scale)

    def _solved(self, residual: Slope, matrix: Matrix, guess: Any, *args: Any) -> Any:
        """Return where a residual is 0, which is close to a guess on the host."""

        def solver(*args: Any) -> Any:
            start = from_host(guess, constants(self.y0))
            return jacobians.polished(residual, matrix, start, *constants(args))

        solver.__name__ = self.method
        return ag.implicit(solver, residual=residual, solve=self._solve)(*args)

    # -- Radau -------------------------------------------------------------------------------------

    def _radau(self, chosen: Sequence[Any], start: Any, scale: Any) -> Iterator[Any]:
        xp, slope, coefficients = self.xp, self.slope, self._host.collocation()
        weights = self._array(coefficients.weights)
        inverse = coefficients.inverse.tolist()
        nodes = coefficients.nodes.tolist()

        def residual(z: Any, t: Any, h: Any, y: Any, *args: Any) -> Any:
            slopes = [slope(t + c * h, y + z[i, :], args) for i, c in enumerate(nodes)]
            return z - h * xp.matmul(weights, xp.stack(slopes))

        matrix, y = self._jacobian(residual), self.y0
        for one in chosen:
            t, h = start + (one.t - chosen[0].t) * scale, one.h * scale
            z = self._solved(residual, matrix, one.stages, t, h, y, *self.args)
            step = Collocated(t, h, y, [z[i, :] for i in range(3)], inverse)
            yield step
            y = step.end

    # -- BDF ---------------------------------------------------------------------------------------

    def _bdf(self, chosen: Sequence[Any], start: Any, scale: Any) -> Iterator[Any]:
        slope, (alpha, gamma) = self.slope, self._host.bdf_coefficients()

        def residual(d: Any, t: Any, c: Any, predicted: Any, psi: Any, *args: Any) -> Any:
            return c * slope(t, predicted + d, args) - psi - d

        matrix = self._jacobian(residual)
        differences = [self.y0, slope(start, self.y0, self.args) * (chosen[0].h_before * scale)]
        for one in chosen:
            k, h = one.order, one.h * scale
            end = start + (one.t - chosen[0].t) * scale + h
            self._rescale(differences, k, one.h / one.h_before)
            predicted = sum(differences[1 : k + 1], differences[0])
            terms = (gamma[j] / alpha[k] * differences[j] for j in range(1, k + 1))
            psi = sum(terms, 0.0)
            guess = one.end - to_host(predicted)
            given = end, h / alpha[k], predicted, psi
            d = self._solved(residual, matrix, guess, *given, *self.args)
            differences[k + 1 :] = [d, d - differences[k + 1] if len(differences) > k + 1 else d]
            for j in reversed(range(k + 1)):
                differences[j] = differences[j] + differences[j + 1]
            step_start, order = end - h, one.order_next
            self._rescale(differences, order, one.h_next / one.h)
            yield Interpolated(step_start, h, one.h_next * scale, differences[: order + 1])

    def _rescale(self, differences: list[Any], order: int, factor: float) -> None:
        """Turn differences of one step length into those of another, which is ``factor`` of it."""
        if factor == 1.0:
            return
        rows = self._host.rescaled(order, factor).tolist()
        differences[: order + 1] = [
            sum((a * each for a, each in zip(row, differences, strict=False) if a), 0.0)
            for row in rows
        ]

    def _array(self, numbers: Any) -> Any:
        y0 = self.y0
        return self.xp.asarray(numbers.tolist(), dtype=y0.dtype, device=device_of(y0))


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
