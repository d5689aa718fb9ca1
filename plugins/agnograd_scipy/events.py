"""Events of initial value problems: when a function of the solution is 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import agnograd as ag
from agnograd.extend import device_of, is_tracked
from agnograd_scipy._arrays import detached
from agnograd_scipy._host import from_host, host_methods
from agnograd_scipy.problems import Problem, number

__all__ = ["Events"]

Event = Callable[..., Any]


class Events:
    """What happens along a solution: for each event its ``times``, and the ``values`` there.

    ``ended`` is the step that a terminal event cut.
    """

    def __init__(self, problem: Problem, events: Any) -> None:
        self._problem = problem
        self._events: list[Event] = [events] if callable(events) else list(events)
        for event in self._events:
            if not callable(event):
                raise TypeError(f"an event is a function, not a {type(event).__name__}")
        self.times: list[list[Any]] = [[] for _ in self._events]
        self.values: list[list[Any]] = [[] for _ in self._events]
        self.ended: Cut | None = None
        self._args, self._like = detached(problem.args), detached(problem.y0)
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

    def over(self, steps: Iterable[Any], count: int | None) -> Iterator[Any]:
        """Yield steps until a terminal event, which cuts one; note all events.

        SciPy took ``count`` steps of a solution that may differ from this one by rounding; None
        says that they are those of this one.
        """
        before = self._values(self._problem.ends[0], self._problem.y0)
        for index, step in enumerate(steps, 1):
            after = self._values(number(step.t + step.h), step.end)
            found = [(self._place(each, step), each) for each in self._changed(before, after)]
            if index == count and not any(self._ends(each) for _, each in found):
                # SciPy's solution met one, and this one will by rounding errors.
                found += [(1.0, each) for each in self._met]
            for x, each in sorted(found):
                self.cut(each, step, x)
                if self.ended is not None:
                    yield self.ended
                    return
            yield step
            before = after

    def cut(self, place: int, step: Any, x: float) -> None:
        """Note that an event happens at a fraction of a step."""
        cut = Cut(step, self._exact(self._events[place], step, x))
        if self._ends(place):
            self.ended = cut
        self.times[place].append(cut.stop)
        self.values[place].append(cut.end)

    def happened(self) -> list[tuple[int, float, Any]]:
        """Return which event happened when, and the solution there."""
        return [
            (place, number(t), y)
            for place, pairs in enumerate(zip(self.times, self.values, strict=True))
            for t, y in zip(*pairs, strict=True)
        ]

    def _ends(self, place: int) -> bool:
        """Return whether an event ends the solution when it happens once more."""
        return len(self.times[place]) + 1 >= _most(self._events[place])

    # -- values of events --------------------------------------------------------------------------

    def _values(self, t: float, y: Any) -> list[float]:
        return [self._value(event, t, y) for event in self._events]

    def _value(self, event: Event, t: float, y: Any) -> float:
        with ag.no_grad():
            return number(event(t, detached(y), *self._args))

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
