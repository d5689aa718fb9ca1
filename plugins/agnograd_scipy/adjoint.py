"""Solutions whose gradients come from the adjoint equation, and not from recorded steps.

SciPy solves the equation, and nothing of it is recorded. A cotangent of the solution is the end of
an equation of its own, which SciPy solves from the end to the start. Its derivative is a solution,
too: that of the equation together with its variational equation. So there are derivatives of every
order, none of which records a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import agnograd as ag
from agnograd.errors import LostGradientError
from agnograd.extend import Interpreted, is_tracked
from agnograd.extend.arguments import flatten, map_leaves, unflatten
from agnograd_scipy._arrays import constants
from agnograd_scipy._host import from_host, to_host
from agnograd_scipy.events import Events
from agnograd_scipy.jacobians import linear
from agnograd_scipy.problems import Problem, number
from agnograd_scipy.solutions import along
from agnograd_scipy.stiff import METHODS

__all__ = ["by_adjoint"]


def by_adjoint(
    problem: Problem, method: str, options: dict[str, Any], t_eval: Any, events: Any
) -> tuple[list[Any], list[Any], Events | None, int]:
    """Return times, the solution there, what happened, and how often SciPy called the function."""
    plain = problem._replace(t_span=problem.ends, y0=_alone(problem.y0), args=_alone(problem.args))
    if _follows(plain.slope(plain.ends[0], plain.y0)):
        raise LostGradientError(
            "solve_ivp: fun uses a tracked Variable, or an array of a function that is transformed "
            "around it, which is not one of its arguments, and whose gradient would be lost: pass "
            "it in args, or x.detach()"
        )
    course = Course(plain, method, options)
    watched = None if events is None else Events(plain, events)
    points, values = along(plain, course, _alone(t_eval), watched)
    happened = watched.happened() if watched is not None else []
    places = [number(t) for t in points] + [t for _, t, _ in happened]
    rows = iter(course.connected(problem, places, [*values, *(y for _, _, y in happened)]))

    times: list[Any] = places[: len(points)]
    if t_eval is None:
        times = [problem.time(t) for t in times]
    elif hasattr(t_eval, "dtype"):
        times = [t_eval[k] for k in range(len(points))]
    values = [
        Beside(problem, t, next(rows)).at(at - t) for t, at in zip(places, times, strict=False)
    ]
    if watched is not None:
        watched = Events(problem, events)
        for place, t, _ in happened:
            watched.cut(place, Beside(problem, t, next(rows)), 0.0)
        if t_eval is None and watched.ended is not None:
            times[-1], values[-1] = watched.ended.stop, watched.ended.end
    return times, values, watched, course.calls


class Beside:
    """The solution close to a time, by a step of the Runge-Kutta method of order 4.

    A step whose length is 0, but has derivatives, gives the solution its derivatives by time, up to
    the fourth.
    """

    h = 1.0

    def __init__(self, problem: Problem, t: float, y: Any) -> None:
        self._slope, self.t, self._y = problem.slope, t, y

    def at(self, by: Any) -> Any:
        """Return the solution so much later."""
        if not is_tracked(by):
            return self._y
        first = self._slope(self.t, self._y)
        second = self._slope(self.t + 0.5 * by, self._y + 0.5 * by * first)
        third = self._slope(self.t + 0.5 * by, self._y + 0.5 * by * second)
        fourth = self._slope(self.t + by, self._y + by * third)
        return self._y + by / 6.0 * (first + 2.0 * (second + third) + fourth)


class Course:
    """How SciPy solves a problem that has no gradients, step by step as ``along`` takes it."""

    count = None

    def __init__(self, problem: Problem, method: str, options: dict[str, Any]) -> None:
        self.problem, self.method, self.options = problem, method, options
        given = dict(options)
        how = linear(given.pop("sparse", False))
        jac = problem.jacobian(how) if method in METHODS else None
        steps = import_module("agnograd_scipy.kernels.steps")
        equation = steps.Equation(problem.on_numpy, jac, method, given)
        kernels = import_module("agnograd_scipy.kernels.trajectory")
        self.trajectory = kernels.Trajectory(equation, problem.ends, to_host(problem.y0))
        self.times = self.trajectory.times

    @property
    def calls(self) -> int:
        """How often SciPy called the function."""
        return int(self.trajectory.calls)

    def steps(self) -> Iterator[Dense]:
        """Take the steps, one after the other."""
        for t, h, end, curve in self.trajectory.steps():
            yield Dense(t, h, end, curve, self.problem.y0)

    def connected(self, problem: Problem, times: list[float], values: list[Any]) -> Sequence[Any]:
        """Return values of the solution at times with the gradients of what ``problem`` uses."""
        leaves, tree = flatten(problem.args)
        places = [k for k, each in enumerate(leaves) if _follows(each)]
        start = problem.t_span[0]
        y0 = Beside(problem, start, problem.y0).at(problem.ends[0] - start)
        if not values or not (places or _follows(y0)):
            return values
        others = flatten(self.problem.args)[0]

        def filled(given: Sequence[Any]) -> Any:
            known = dict(zip(places, given, strict=True))
            return unflatten(tree, [known.get(k, each) for k, each in enumerate(others)])

        pullback = partial(Pullback, self, filled, times)
        flow = Flow(pullback, problem.xp.stack(values).data)
        found: Sequence[Any] = problem.xp.unstack(flow(y0, *(leaves[k] for k in places)))
        return found


class Dense:
    """A step that SciPy took, with the solution in it."""

    def __init__(self, t: float, h: float, end: Any, curve: Callable[..., Any], like: Any) -> None:
        self.t, self.h, self.end = t, h, from_host(end, like)
        self._curve, self._like = curve, like

    def at(self, x: Any) -> Any:
        """Return the solution within the step, at the fraction x of it."""
        return from_host(self._curve(self.t + number(x) * self.h), self._like)


class Flow(ag.Function):
    """The solution at times, of initial values and parameters; ``pullback()`` is its gradient."""

    def __init__(self, pullback: Callable[[], Pullback], values: Any) -> None:
        self.pullback, self.values = pullback, values

    def forward(self, xp: Any, y0: Any, *parameters: Any) -> Any:
        """Return what has been computed."""
        self.save(y0, *parameters)
        return self.values

    def backward(self, xp: Any, g: Any) -> Any:
        """Return the gradients of initial values and parameters."""
        found = self.pullback()(g, *self.saved)
        return found if isinstance(g, ag.Variable) else tuple(each.data for each in found)


class Pullback(ag.Function):
    """The gradients of initial values and parameters, of the cotangent of a solution at times.

    It is linear in the cotangent. So its own derivatives are those of the solution's tangents,
    times that cotangent. ``filled`` takes a sequence of parameters, and returns the arguments of
    the equation.
    """

    def __init__(self, course: Course, filled: Callable[..., Any], times: list[float]) -> None:
        # Not the course: it keeps arrays of each solution, which ``backward`` does not need.
        self.trajectory, self.problem = course.trajectory, course.problem
        self.method, self.options = course.method, course.options
        self.filled, self.times = filled, times
        self.span = course.times[0], course.times[-1]

    def forward(self, xp: Any, g: Any, y0: Any, *parameters: Any) -> Any:
        """Solve the adjoint equation."""
        self.save(g, y0, *parameters)
        cotangents, like = to_host(g), self.problem.y0.data
        if not math.isfinite(abs(cotangents).max(initial=0.0)):  # SciPy could take no step
            return tuple(each * math.nan for each in (like, *parameters))
        kernels = import_module("agnograd_scipy.kernels.adjoint")
        gradients = Gradients(self.problem, self.filled, parameters)
        start = kernels.backwards(gradients, self.trajectory, self.times, cotangents)
        return (from_host(start, like), *(x.data for x in gradients.sums))

    def backward(self, xp: Any, *tangents: Any) -> Any:
        """Solve the variational equation, and pull the cotangent back through that."""
        g, y0, *parameters = self.saved

        def pushed(y0: Any, *parameters: Any) -> Any:
            return self._pushed((y0, *parameters), tangents)

        tangent, pullback = ag.vjp(pushed, y0, *parameters)
        return (tangent, *pullback(g))

    def _pushed(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Return the tangents of the solution, by the equation and its variational equation."""
        problem, filled = self.problem, self.filled
        n = problem.y0.shape[0]

        def both(t: float, pair: Any, parameters: Any, tangents: Any) -> Any:
            def slope(y: Any, *parameters: Any) -> Any:
                return problem.slope(t, y, filled(parameters))

            value, push = ag.jvp(slope, (pair[:n], *parameters), (pair[n:], *tangents))
            return problem.xp.concat([value, push])

        (y0, *parameters), (s0, *rest) = primals, tangents
        start = problem.xp.concat([y0, s0])
        twice = Problem(problem.xp, both, self.span, start, (parameters, rest))
        options = {name: _twice(each) for name, each in self.options.items()}
        times = sorted(self.times, reverse=self.span[1] < self.span[0])
        found = by_adjoint(twice, self.method, options, times, None)[1]
        return problem.xp.stack([found[times.index(t)] for t in self.times])[:, n:]


class Gradients:
    """The right hand side of the adjoint equation, and ``sums``, the parameters' gradients."""

    def __init__(
        self, problem: Problem, filled: Callable[..., Any], parameters: Sequence[Any]
    ) -> None:
        self._problem, self._filled = problem, filled
        self._parameters = constants(list(parameters))
        change = import_module("agnograd_scipy.kernels.sensitivities").change
        self._changes = [from_host(change(p, k), p) for k, p in enumerate(self._parameters)]
        self.sums = [problem.xp.zeros_like(each) for each in self._parameters]

    def slope(self, t: float, y: Any, cotangent: Any) -> tuple[Any, float]:
        """Return the derivative of the cotangent by time, and that of one number.

        It is the gradient of all parameters in one direction that has a part of each.
        """
        xp = self._problem.xp
        of_y, *rest = self._pulled(t, y, cotangent)
        parts = [xp.sum(change * g) for change, g in zip(self._changes, rest, strict=True)]
        return -to_host(of_y), sum(float(to_host(part).real) for part in parts)

    def add(self, weight: float, t: float, y: Any, cotangent: Any) -> None:
        """Add to the gradients of the parameters."""
        if not self.sums:
            return
        _, *rest = self._pulled(t, y, cotangent)
        self.sums = [total + weight * g for total, g in zip(self.sums, rest, strict=True)]

    def _pulled(self, t: float, y: Any, cotangent: Any) -> tuple[Any, ...]:
        problem, xp = self._problem, self._problem.xp

        def slope(y: Any, *parameters: Any) -> Any:
            found = problem.slope(float(t), y, self._filled(parameters))
            return xp.astype(found, y.dtype, copy=False)

        _, pullback = ag.vjp(slope, from_host(y, problem.y0), *self._parameters)
        found: tuple[Any, ...] = pullback(from_host(cotangent, problem.y0))
        return found


def _alone(tree: Any) -> Any:
    """Return a pytree with its arrays by their values, which follow nothing."""
    return map_leaves(lambda x: from_host(to_host(x), x) if hasattr(x, "dtype") else x, tree)


def _follows(x: Any) -> bool:
    """Return whether an array has a gradient, or is one of a function that is transformed."""
    raw = x.data if isinstance(x, ag.Variable) else x
    return is_tracked(x) or (isinstance(raw, Interpreted) and raw.run is not None)


def _twice(option: Any) -> Any:
    """Return an option for the equation and its variational equation: a tolerance for each part."""
    numpy = import_module("numpy")
    return numpy.concatenate([option, option]) if numpy.ndim(option) else option
