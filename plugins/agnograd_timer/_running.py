"""What runs in a thread, and what the ops, rules and passes that ended there have taken."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agnograd.extend import Backend
from agnograd_timer._totals import FIELDS, Row, elapsed

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Running", "clock_of"]

# A span is something that runs: a list of what it is known by, its clock (a backend, or None for
# the host's), the marks before it and at its start, the seconds of all and of passes alone inside
# of it, the span that it runs in, and whether those seconds are known later.
KEY, CLOCK, BEFORE, START, INSIDE, PASSES, OUTER, LATER = range(8)

# How many ended spans may wait for a device.
_MANY = 10_000


def clock_of(op: Call) -> Backend | None:
    """Return the backend of an op if it has a clock of its own; None for the host's."""
    backend = op.backend
    return None if type(backend).mark is Backend.mark else backend


class Running:
    """One thread's spans, the innermost last, and what those that ended have taken.

    Attributes
    ----------
    rows, late : dict
        What all of a kind, name and shapes have taken together: those that were added up at once,
        and those that waited.
    latest : deque
        The latest events, one after the other: row, clock, marks at start and stop. A tuple for
        each would keep Python's garbage collector busy.
    waiting : deque
        Those whose marks are a device's, or that had such inside of them, in the order in which
        they ended. They are added up later, as that may wait for the device: when someone asks,
        perhaps in another thread, or when there are many.
    """

    def __init__(self, kept: int) -> None:
        self.thread = threading.get_ident()
        self.spans: list[list[Any]] = []
        self.last: Any = None  # when something last began or ended
        self.clock: Backend | None = None  # of that mark
        self.rows: dict[Any, Row] = {}
        self.late: dict[Any, Row] = {}
        self.latest: deque[Any] = deque(maxlen=FIELDS * kept)
        self.waiting: deque[tuple[Row, list[Any], Any]] = deque()
        self.settling = threading.Lock()

    def start(self, key: object, clock: Backend | None) -> None:
        """Note that something starts."""
        outer = self.spans[-1] if self.spans else None
        before = self.last if self.clock is clock else None
        self.clock = clock
        self.last = start = perf_counter() if clock is None else clock.mark()
        self.spans.append([key, clock, before, start, 0.0, 0.0, outer, False])

    def on_device(self, clock: Backend) -> None:
        """Give the pass that runs a device's clock: it knows none before its first op."""
        if self.spans and isinstance(self.spans[-1][KEY], tuple) and self.spans[-1][CLOCK] is None:
            self.last, self.clock = clock.mark(), clock
            self.spans[-1][CLOCK : START + 1] = clock, None, self.last

    def stop(self, key: object, kind: str, name: str, arrays: Iterable[Any]) -> None:
        """Note that something stopped."""
        spans = self.spans
        if not spans or spans[-1][KEY] is not key:
            if not any(span[KEY] is key for span in spans):
                return  # another plugin's hook failed before it started
            while spans[-1][KEY] is not key:
                spans.pop()  # it never ended: another plugin's hook failed
        span = spans[-1]
        _, clock, before, start, _, _, outer, later = span
        self.last = stop = perf_counter() if clock is None else clock.mark()
        self.clock = clock
        spans.pop()
        which = kind, name, tuple([getattr(array, "shape", ()) for array in arrays])
        at_once = clock is None and not later
        rows = self.rows if at_once else self.late
        row = rows.get(which) or rows.setdefault(which, Row(which))
        self.latest.extend((row, clock, start, stop))
        if at_once:
            _add(row, span, stop - start, 0.0 if before is None else start - before)
            return
        self.waiting.append((row, span, stop))
        if outer is not None:
            outer[LATER] = True
        if len(self.waiting) > _MANY:
            self.settle()

    def settle(self) -> None:
        """Add up what waits for a device."""
        with self.settling:
            while self.waiting:
                row, span, stop = self.waiting.popleft()
                _, clock, before, start, *_ = span
                preparation = 0.0 if before is None else elapsed(clock, before, start)
                _add(row, span, elapsed(clock, start, stop), preparation)

    def reset(self) -> None:
        """Forget all that ended."""
        self.rows, self.late = {}, {}
        self.waiting.clear()
        self.latest.clear()


def _add(row: Row, span: list[Any], seconds: float, preparation: float) -> None:
    """Add the seconds of a span that are its own to its row, and all to the one around it."""
    _, _, _, _, inside, passes, outer, _ = span
    row.calls += 1
    if row.kind == "passes":
        row.seconds += seconds - passes
        row.preparation += seconds - inside
        passes = seconds
    else:
        row.seconds += seconds - inside
        row.preparation += preparation
    if outer is not None:
        outer[INSIDE] += seconds
        outer[PASSES] += passes
