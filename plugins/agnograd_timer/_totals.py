"""Times, added up by kind, name and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agnograd.extend import Backend

__all__ = ["FIELDS", "Event", "Row", "as_tables", "elapsed", "events_of"]

Shapes = tuple[tuple[int, ...], ...]
Key = tuple[str, str, Shapes]


class Row:
    """What ops, rules or passes of one kind, name and shapes have taken together."""

    __slots__ = ("calls", "kind", "name", "preparation", "seconds", "shapes")

    def __init__(self, key: Key) -> None:
        self.kind, self.name, self.shapes = key
        self.calls = 0
        self.seconds = self.preparation = 0.0


# An op, a rule or a pass that ended: its row, its clock, the marks at its start and at its stop.
Event = tuple[Row, Backend | None, Any, Any]
FIELDS = 4


def events_of(flat: Iterable[Any]) -> Iterator[Event]:
    """Yield the events of a flat list."""
    fields = iter(flat)
    return zip(*[fields] * FIELDS, strict=True)


def elapsed(clock: Backend | None, start: Any, stop: Any) -> float:
    """Return the seconds between two marks of a backend's clock, or of the host's."""
    seconds: float = stop - start if clock is None else clock.elapsed(start, stop)
    return seconds


def as_tables(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Return rows, of which several may be of the same op and shapes, as plain data."""
    tables: dict[str, dict[str, Any]] = {
        "forward": {},
        "backward": {},
        "passes": {"calls": 0, "seconds": 0.0, "preparation": 0.0},
    }
    for row in rows:
        if row.kind == "passes":
            total = tables["passes"]
        else:
            total = tables[row.kind].setdefault(
                row.name, {"calls": 0, "seconds": 0.0, "shapes": {}}
            )
            shape = total["shapes"].setdefault(row.shapes, {"calls": 0, "seconds": 0.0})
            shape["calls"] += row.calls
            shape["seconds"] += row.seconds
        total["calls"] += row.calls
        total["seconds"] += row.seconds
        if row.kind != "forward":
            total["preparation"] = total.get("preparation", 0.0) + row.preparation
    return tables
