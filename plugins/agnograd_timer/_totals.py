"""Times of many events, added up."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from agnograd.extend import Backend

__all__ = ["Event", "Totals", "elapsed"]

Shapes = tuple[tuple[int, ...], ...]
# An op, a rule or a pass that ended: its kind, name and shapes; the marks before it, at its start
# and at its stop, and their clock; its number, that of what it ran in, and its thread.
Event = tuple[str, str, Shapes, Any, Any, Any, Backend | None, int, int, int]


def elapsed(clock: Backend | None, start: Any, stop: Any) -> float:
    """Return the seconds between two marks of a backend's clock, or of the host's."""
    seconds: float = stop - start if clock is None else clock.elapsed(start, stop)
    return seconds


class Totals:
    """Calls and seconds by kind, op and shapes, and the latest events one by one."""

    def __init__(self, kept: int) -> None:
        self.rows: dict[tuple[str, str, Shapes], list[Any]] = {}
        self.events: deque[Event] = deque(maxlen=kept)
        # By the number of what still runs: the time of all, and of passes alone, inside of it.
        self.inside: dict[int, tuple[float, float]] = {}

    def add(self, events: Sequence[Event]) -> None:
        """Add events, in the order in which they ended."""
        self.events.extend(events)
        rows, inside = self.rows, self.inside
        for kind, name, shapes, before, start, stop, clock, number, outer, _ in events:
            seconds = stop - start if clock is None else elapsed(clock, start, stop)
            children, passes = inside.pop(number, (0.0, 0.0))
            if kind == "passes":
                own, preparation, passes = seconds - passes, seconds - children, seconds
            else:
                own = seconds - children
                preparation = 0.0 if before is None else elapsed(clock, before, start)
            if outer:
                all_inside, passes_inside = inside.get(outer, (0.0, 0.0))
                inside[outer] = all_inside + seconds, passes_inside + passes
            row = rows.get((kind, name, shapes))
            if row is None:
                row = rows[kind, name, shapes] = [0, 0.0, 0.0]
            row[0] += 1
            row[1] += own
            row[2] += preparation

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the totals as plain data."""
        tables: dict[str, dict[str, Any]] = {
            "forward": {},
            "backward": {},
            "passes": {"calls": 0, "seconds": 0.0, "preparation": 0.0},
        }
        for (kind, name, shapes), (calls, seconds, preparation) in self.rows.items():
            if kind == "passes":
                row = tables["passes"]
            else:
                row = tables[kind].setdefault(name, {"calls": 0, "seconds": 0.0, "shapes": {}})
                row["shapes"][shapes] = {"calls": calls, "seconds": seconds}
            row["calls"] += calls
            row["seconds"] += seconds
            if kind != "forward":
                row["preparation"] = row.get("preparation", 0.0) + preparation
        return tables
