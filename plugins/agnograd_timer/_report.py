"""Times as a table, as a chart, and as a file for trace viewers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agnograd_timer._totals import Event

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

__all__ = ["as_table", "as_text", "chart", "write_trace"]


_HEADER = ["op", "calls", "total ms", "mean us", "share", "preparation ms"]


def _rows(tables: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the rows of the table, the longest totals first; those of a kind are indented."""
    ops = ("forward", "backward")
    everything = sum(row["seconds"] for kind in ops for row in tables[kind].values())
    for kind in ops:
        yield [kind, "", "", "", "", ""]
        rows = tables[kind]
        for name in sorted(rows, key=lambda name: -rows[name]["seconds"]):
            share = rows[name]["seconds"] / everything if everything else 0.0
            yield [f"  {name}", *_figures(rows[name], f"{share:.1%}")]
    yield ["passes", *_figures(tables["passes"], "")]


def _figures(row: dict[str, Any], share: str) -> list[str]:
    mean = row["seconds"] / row["calls"] if row["calls"] else 0.0
    around = f"{row['preparation'] * 1e3:.3f}" if "preparation" in row else ""
    return [str(row["calls"]), f"{row['seconds'] * 1e3:.3f}", f"{mean * 1e6:.2f}", share, around]


def as_table(tables: dict[str, dict[str, Any]]) -> Table:
    """Return a table of rich."""
    from rich.table import Table
    from rich.text import Text

    made = Table(_HEADER[0], box=None, pad_edge=False)
    for column in _HEADER[1:]:
        made.add_column(column, justify="right")
    for name, *figures in _rows(tables):
        made.add_row(Text(name), *figures, style=None if name.startswith(" ") else "bold")
    return made


def as_text(tables: dict[str, dict[str, Any]]) -> str:
    """Return the table as plain text.

    To import rich for it would take longer than many programs that are timed.
    """
    rows = [_HEADER, *_rows(tables)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        [name.ljust(widths[0]), *map(str.rjust, figures, widths[1:])] for name, *figures in rows
    )
    return "\n".join("  ".join(line).rstrip() for line in lines)


def write_trace(
    path: str | os.PathLike[str],
    events: Sequence[Event],
    others: Mapping[str, Sequence[tuple[str, float, float]]],
) -> None:
    """Write events in the Trace Event Format: each clock is a process of its own.

    ``others`` are events by the host's clock that were not timed here, by the name of their line.
    """
    clocks = list(dict.fromkeys(clock for _, clock, *_ in events))
    names = ["host" if clock is None else clock.name for clock in clocks]
    rows: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": f"agnograd, {name}"}}
        for pid, name in enumerate(names)
    ]
    # What ended first did not begin first.
    first = {c: min(start for _, clock, start, *_ in events if clock is c) for c in clocks}
    rows += [
        {
            **_span(
                row.name, "pass" if row.kind == "passes" else row.kind, start, stop, first[clock]
            ),
            "pid": clocks.index(clock),
            "tid": thread,
            "args": {"shapes": str(tuple(map(tuple, row.shapes)))},
        }
        for row, clock, start, stop, thread in events
    ]
    host = clocks.index(None) if None in clocks else len(clocks)
    begin = first.get(None, min((e[1] for each in others.values() for e in each), default=0.0))
    for line, (name, theirs) in enumerate(others.items()):
        place = {"pid": host, "tid": line}
        rows.append({"name": "thread_name", "ph": "M", **place, "args": {"name": name}})
        rows += [_span(what, name, start, stop, begin) | place for what, start, stop in theirs]
    text = json.dumps({"traceEvents": rows, "displayTimeUnit": "ms"})
    Path(path).write_text(text, encoding="utf-8")


def _span(name: str, kind: str, start: float, stop: float, begin: float) -> dict[str, Any]:
    microseconds = {"ts": (start - begin) * 1e6, "dur": (stop - start) * 1e6}
    return {"name": name, "cat": kind, "ph": "X", **microseconds}


def chart(tables: dict[str, dict[str, Any]], top: int) -> Figure:
    """Return horizontal bars, forward and backward end to end, the longest on top."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plot() needs matplotlib, which is not installed: pip install matplotlib"
        ) from error
    kinds = ("forward", "backward")
    times = {
        name: [tables[kind].get(name, {"seconds": 0.0})["seconds"] * 1e3 for kind in kinds]
        for name in {**tables["forward"], **tables["backward"]}
    }
    names = sorted(times, key=lambda name: -sum(times[name]))[:top]
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    left = [0.0] * len(names)
    for index, kind in enumerate(kinds):
        widths = [times[name][index] for name in names]
        axes.barh(names, widths, left=left, label=kind)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set(xlabel="milliseconds", title="Time by op")
    axes.legend()
    return figure
