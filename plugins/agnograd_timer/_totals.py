"""Times of many events, added up."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from agnograd.extend import Backend

__all__ = ["Event", "Row", "Totals", "elapsed", "events_of"]

Shapes = tuple[tuple[int, ...], ...]
Key = tuple[str, str, Shapes]


class Row:
    """What ops, rules or passes of one kind, name and shapes have taken together."""

    __slots__ = ("calls", "kind", "name", "preparation", "seconds", "shapes")

    def __init__(self, key: Key) -> None:
        self.kind, self.name, self.shapes = key
        self.calls = 0
        self.seconds = self.preparation = 0.0


# An op, a rule or a pass that ended: its row; the marks before it, at its start and at its stop;
# their clock; its number, that of what it ran in, and its thread. Lists of events are flat, one
# after the other: a tuple for each would keep Python's garbage collector busy.
Event = tuple[Row, Any, Any, Any, Backend | None, int, int, int]
_FIELDS = 8


def events_of(flat: Iterable[Any]) -> Iterator[Event]:
    """Yield the events of a flat list."""
    fields = iter(flat)
    return zip(*[fields] * _FIELDS, strict=True)


def elapsed(clock: Backend | None, start: Any, stop: Any) -> float:
    """Return the seconds between two marks of a backend's clock, or of the host's."""
    seconds: float = stop - start if clock is None else clock.elapsed(start, stop)
    return seconds


class Totals:
    """Calls and seconds by kind, name and shapes, and the latest events one by one."""

    def __init__(self, kept: int) -> None:
        self.rows: dict[Key, Row] = {}
        self.latest: deque[Any] = deque(maxlen=kept * _FIELDS)  # flat
        # By the number of what still runs: the time of all, and of passes alone, inside of it.
        self.inside: dict[int, tuple[float, float]] = {}

    def add(self, flat: list[Any]) -> None:
        """Add events, in the order in which they ended."""
        self.latest.extend(flat)
        inside = self.inside
        for row, before, start, stop, clock, number, outer, _ in events_of(flat):
            seconds = stop - start if clock is None else elapsed(clock, start, stop)
            children, passes = inside.pop(number, (0.0, 0.0))
            if row.kind == "passes":
                own, preparation, passes = seconds - passes, seconds - children, seconds
            else:
                own = seconds - children
                preparation = 0.0 if before is None else elapsed(clock, before, start)
            if outer:
                all_inside, passes_inside = inside.get(outer, (0.0, 0.0))
                inside[outer] = all_inside + seconds, passes_inside + passes
            row.calls += 1
            row.seconds += own
            row.preparation += preparation

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the totals as plain data."""
        tables: dict[str, dict[str, Any]] = {
            "forward": {},
            "backward": {},
            "passes": {"calls": 0, "seconds": 0.0, "preparation": 0.0},
        }
        for row in self.rows.values():
            if row.kind == "passes":
                total = tables["passes"]
            else:
                empty = {"calls": 0, "seconds": 0.0, "shapes": {}}
                total = tables[row.kind].setdefault(row.name, empty)
                total["shapes"][row.shapes] = {"calls": row.calls, "seconds": row.seconds}
            total["calls"] += row.calls
            total["seconds"] += row.seconds
            if row.kind != "forward":
                total["preparation"] = total.get("preparation", 0.0) + row.preparation
        return tables
