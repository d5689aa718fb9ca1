"""Times, added up by kind, name and shapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnograd.errors import ArgumentError
from agnograd.extend import Backend

__all__ = ["Event", "Key", "Row", "as_tables"]

Shapes = tuple[tuple[int, ...], ...]
Key = tuple[str, str, Shapes]


class Row:
    """What ops, rules or passes of one kind, name and shapes have taken together."""

    __slots__ = ("calls", "kind", "name", "preparation", "seconds", "shapes")

    def __init__(self, key: Key) -> None:
        self.kind, self.name, self.shapes = key
        self.calls = 0
        self.seconds = self.preparation = 0.0


# What ended, for traces: its row, its clock, its start and stop in seconds, and its thread.
Event = tuple[Row, Backend | None, float, float, int]


def as_tables(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Return rows, of which several may be of the same op and shapes, as plain data.

    Raises
    ------
    ArgumentError
        If one is not a row.
    """
    tables: dict[str, dict[str, Any]] = {
        "forward": {},
        "backward": {},
        "passes": {"calls": 0, "seconds": 0.0, "preparation": 0.0},
    }
    for row in rows if isinstance(rows, Iterable) else [rows]:
        if not isinstance(row, Row):
            raise ArgumentError(
                f"as_tables takes the rows that a Timer has measured, not {row!r}: call to_dict() "
                "of the Timer"
            )
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
