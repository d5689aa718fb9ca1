"""Events of initial value problems: when a function of the solution is 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import agnograd as ag
from agnograd.extend import device_of, is_tracked
from agnograd_scipy._arrays import constants
from agnograd_scipy._host import from_host, host_methods
from agnograd_scipy.problems import Problem, number

__all__ = ["Events"]

Event = Callable[..., Any]


class Events:
    """What happens along a solution.

    Parameters
    ----------
    problem : Problem
    events : callable or sequence of callable
        As ``solve_ivp`` takes them.

    Attributes
    ----------
    times, values : list of list
        For each event, when it happened, and the solution there.
    ended : array, float or None
        When a terminal event ended the solution.
    """

    def __init__(self, problem: Problem, events: Any) -> None:
        self._problem = problem
        self._events: list[Event] = [events] if callable(events) else list(events)
        for event in self._events:
            if not callable(event):
                raise TypeError(f"an event is a function, not a {type(event).__name__}")
        self.times: list[list[Any]] = [[] for _ in self._events]
        self.values: list[list[Any]] = [[] for _ in self._events]
        self.ended: Any = None
        self._args, self._like = constants(problem.args), constants(problem.y0)
        self._left = [_most(event) for event in self._events]  # how often until each ends it
        self._last = self._values(problem.ends[0], problem.y0)
        self._met: list[int] = []  # those that ended SciPy's steps

    def stop(self, t: float, y: Any) -> bool:
        """Return whether a terminal event is in the step that SciPy ends here."""
        now = self._values(t, from_host(y, self._like))
        happened, self._last = self._changed(self._last, now), now
        for place in happened:
            self._left[place] -= 1
        self._met = [place for place in happened if self._left[place] <= 0]
        return bool(self._met)

    def over(self, steps: Iterable[Any], count: int) -> Iterator[Any]:
        """Yield steps, ``count`` or until a terminal event, which cuts one; note all events."""
        left = [_most(event) for event in self._events]
        before = self._values(self._problem.ends[0], self._problem.y0)
        for index, step in enumerate(steps, 1):
            after = self._values(number(step.t + step.h), step.end)
            found = [(self._place(each, step), each) for each in self._changed(before, after)]
            if index == count and not any(left[each] <= 1 for _, each in found):
                # SciPy's solution met one, and this one will by rounding errors.
                found += [(1.0, each) for each in self._met]
            for x, each in sorted(found):
                at = self._exact(self._events[each], step, x)
                cut = Cut(step, at)
                self.times[each].append(cut.stop)
                self.values[each].append(cut.end)
                left[each] -= 1
                if left[each] <= 0:
                    self.ended = cut.stop
                    yield cut
                    return
            yield step
            before = after

    # -- values of events --------------------------------------------------------------------------

    def _values(self, t: float, y: Any) -> list[float]:
        return [self._value(event, t, y) for event in self._events]

    def _value(self, event: Event, t: float, y: Any) -> float:
        with ag.no_grad():
            return number(event(t, y.detach(), *self._args))

    def _changed(self, before: Sequence[float], after: Sequence[float]) -> list[int]:
        """Return the events whose sign changes in the direction that they ask for, as SciPy."""
        found = []
        for place, (event, one, other) in enumerate(zip(self._events, before, after, strict=True)):
            direction = getattr(event, "direction", 0.0)
            up, down = one <= 0 <= other, one >= 0 >= other
            if (up and direction >= 0) or (down and direction <= 0):
                found.append(place)
        return found

    def _place(self, place: int, step: Any) -> float:
        """Return at which fraction of a step an event happens."""
        event, t, h = self._events[place], number(step.t), number(step.h)

        def at(x: float) -> float:
            with ag.no_grad():
                return self._value(event, t + x * h, step.at(x))

        return float(host_methods().zero(at))

    def _exact(self, event: Event, step: Any, x: float) -> Any:
        """Return the fraction with its derivatives, those of Newton's method at its solution.

        A step gives the first ones, and another one all up to the third.
        """
        like, args = self._problem.y0, self._problem.args

        def value(x: Any) -> Any:
            return event(step.t + x * step.h, step.at(x), *args)

        at = self._problem.xp.asarray(x, dtype=like.dtype, device=device_of(like))
        if not (ag.is_grad_enabled() and is_tracked(value(at))):
            return x
        for _ in range(2):
            now, slope = ag.jvp(value, at, at * 0.0 + 1.0)
            at = at - now / slope
        return at


class Cut:
    """A step that ends early, at the fraction ``x`` of it."""

    def __init__(self, step: Any, x: Any) -> None:
        self.t, self.h, self.at = step.t, step.h, step.at
        self.limit = number(x)
        self.stop, self.end = step.t + x * step.h, step.at(x)


def _most(event: Event) -> float:
    """Return how often an event happens until it ends the solution."""
    terminal = getattr(event, "terminal", None)
    return float(terminal) if terminal else float("inf")
