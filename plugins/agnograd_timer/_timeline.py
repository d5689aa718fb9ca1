"""What ended on one clock in one thread, in the order in which it ended."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Any

from agnograd_timer._totals import Key, Row

__all__ = ["Timeline"]

# How many of the latest are kept at least: what an op, a rule or a pass had inside it is found
# among them.
_INSIDE = 10_000


class Timeline:
    """What ops, rules and passes of one thread have taken by one clock; times are in seconds.

    Hooks after an op or a rule say when it started: what is inside it has ended before it, but
    did not start before it. So nothing needs to be done where an op starts.

    Attributes
    ----------
    rows : dict
        What all of a kind, name and shapes have taken together.
    inside : float
        The time of all that ended inside the innermost pass that runs.
    """

    __slots__ = ("_last", "_latest", "_passes", "_started", "inside", "rows")

    def __init__(self, kept: int) -> None:
        self.rows: dict[Key, Row] = {}
        self.inside = 0.0
        # The passes that run, the innermost last: their start, what was `inside` before them, and
        # the time of the passes inside them.
        self._passes: list[list[float]] = []
        # The latest that ended, one after the other: row, start, stop. A tuple for each would
        # keep Python's garbage collector busy.
        self._latest: deque[Any] = deque(maxlen=3 * max(kept, _INSIDE))
        # When what ended last started, and when something last began or ended.
        self._started = self._last = -inf

    def reset(self) -> None:
        """Forget all that ended; what still runs counts when it ends."""
        self.rows = {}
        self._latest.clear()

    def add(self, key: Key, start: float, stop: float) -> None:
        """Add an op or a rule that ended."""
        own, before = stop - start, self._last
        if self._started >= start:
            inside, before = self._look_back(start)
            own -= inside
        self._started, self._last = start, stop
        row = self.rows.get(key) or self.rows.setdefault(key, Row(key))
        row.calls += 1
        row.seconds += own
        row.preparation += start - before  # of a rule, which has a pass around it
        self.inside += own
        self._latest.extend((row, start, stop))

    def begin_pass(self, start: float) -> None:
        """Note that a pass begins."""
        self._passes.append([start, self.inside, 0.0])
        self.inside = 0.0
        self._last = start

    def end_pass(self, key: Key, stop: float) -> None:
        """Add the innermost pass, which ended."""
        start, outside, passes = self._passes.pop()
        seconds = stop - start
        self._started, self._last = start, stop
        row = self.rows.get(key) or self.rows.setdefault(key, Row(key))
        row.calls += 1
        row.seconds += seconds - passes
        row.preparation += seconds - self.inside
        self.inside = outside + seconds
        self._latest.extend((row, start, stop))
        if self._passes:
            self._passes[-1][2] += seconds

    def forget_pass(self) -> None:
        """Take the innermost pass, in which nothing ended, for none."""
        _, self.inside, _ = self._passes.pop()

    def latest(self, count: int) -> list[tuple[Row, float, float]]:
        """Return the latest that ended, the last one last."""
        fields = iter(list(self._latest)[-3 * count :] if count else ())
        return list(zip(fields, fields, fields, strict=True))

    def _look_back(self, start: float) -> tuple[float, float]:
        """Return the time of all that ended since ``start``, and when something was last before."""
        since = self._passes[-1][0] if self._passes else -inf
        inside, outermost = 0.0, inf
        fields = reversed(self._latest)
        for ended, began, _ in zip(fields, fields, fields, strict=True):
            if began < start:
                return inside, max(ended, since)
            if began < outermost:
                inside += ended - began
                outermost = began
        return inside, since
