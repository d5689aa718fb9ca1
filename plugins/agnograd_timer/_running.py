"""What runs in a thread, and the marks in time at its start and at its stop."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agnograd.extend import Backend

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Local", "Running", "clock_of"]

# The marks before something, at its start and at its stop; their clock; its number, and that of
# what it ran in.
Times = tuple[Any, Any, Any, Backend | None, int, int]


def clock_of(op: Call) -> Backend | None:
    """Return the backend of an op if it has a clock of its own; None for the host's."""
    backend = op.backend
    return None if type(backend).mark is Backend.mark else backend


class Running:
    """What runs in one thread, the innermost last, and when the last of them began or ended."""

    __slots__ = ("clock", "last", "spans", "thread")

    def __init__(self) -> None:
        # Of each: what it is known by, its number, the marks before it and at its start, its clock.
        self.spans: list[tuple[object, int, Any, Any, Backend | None]] = []
        self.last: Any = None
        self.clock: Backend | None = None  # of that last mark
        self.thread = threading.get_ident()

    def start(self, key: object, number: int, clock: Backend | None) -> None:
        """Note that something starts."""
        before = self.last if self.clock is clock else None
        self.clock = clock
        self.last = start = perf_counter() if clock is None else clock.mark()
        self.spans.append((key, number, before, start, clock))

    def on_device(self, clock: Backend) -> None:
        """Give the pass that runs a device's clock: it knows none before its first op."""
        if self.spans and isinstance(self.spans[-1][0], tuple) and self.spans[-1][4] is None:
            key, number, *_ = self.spans[-1]
            self.last, self.clock = clock.mark(), clock
            self.spans[-1] = key, number, None, self.last, clock

    def stop(self, key: object) -> Times | None:
        """Note that something stopped; return its times, or None if it never started."""
        spans = self.spans
        if not spans or spans[-1][0] is not key:
            if not any(span[0] is key for span in spans):
                return None  # another plugin's hook failed before
            while spans[-1][0] is not key:
                spans.pop()  # it never ended: another plugin's hook failed
        _, number, before, start, clock = spans[-1]
        self.last = stop = perf_counter() if clock is None else clock.mark()
        self.clock = clock
        spans.pop()
        return before, start, stop, clock, number, spans[-1][1] if spans else 0


class Local(threading.local):
    """One thread's ``Running``."""

    def __init__(self) -> None:
        self.running = Running()
