"""What is wanted of a solution, taken from its steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agnograd_scipy._host import to_host
from agnograd_scipy.events import Events
from agnograd_scipy.problems import Problem, number

__all__ = ["along"]


def along(
    problem: Problem, stepper: Any, t_eval: Any, watched: Events | None
) -> tuple[list[Any], list[Any]]:
    """Take the steps; return the times that are wanted, and the solution there.

    ``stepper.steps()`` yields each step, and ``stepper.times`` has then the time at its end.
    """
    steps = stepper.steps()
    if watched is not None:
        steps = watched.over(steps, stepper.count)
    if t_eval is not None:
        found = list(_at_times(t_eval, stepper.times, problem.ends, steps))
        return [at for at, _ in found], [value for _, value in found]
    values = [problem.y0, *(step.end for step in steps)]
    points = stepper.times[: len(values)]
    if watched is not None and watched.ended is not None:
        points[-1] = watched.ended.stop
    return points, values


def _at_times(
    t_eval: Any, times: Sequence[Any], ends: Sequence[float], steps: Iterable[Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield each of the times at which a solution is wanted, and the solution there."""
    sign = 1.0 if ends[1] >= ends[0] else -1.0
    numbers = [sign * float(each) for each in to_host(t_eval)]
    first, last = sorted(sign * each for each in ends)
    if numbers != sorted(numbers) or any(not first <= each <= last for each in numbers):
        raise ValueError("t_eval is to be in order, and within t_span")
    array = hasattr(t_eval, "dtype")
    left = deque((n, t_eval[index] if array else sign * n) for index, n in enumerate(numbers))

    def within(step: Any, stop: float) -> Iterator[tuple[Any, Any]]:
        while left and left[0][0] <= stop:
            _, at = left.popleft()
            x = 0.0 if first == last else (at - step.t) / step.h
            limit = getattr(step, "limit", None)
            if limit is None or number(x) <= limit:  # else a terminal event was before
                yield at, step.at(x)

    step = None
    for index, step in enumerate(steps):
        yield from within(step, sign * number(times[index + 1]))
    if step is not None:  # an end may differ from that of the last step by rounding
        yield from within(step, float("inf"))
