"""Bytes as a table and as a chart."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

__all__ = ["as_text", "chart", "table"]


def table(facts: dict[str, Any]) -> Table:
    """Return a table of rich: what held most at the peak first."""
    from rich.filesize import decimal
    from rich.table import Table
    from rich.text import Text

    made = Table("op", "value", box=None, pad_edge=False)
    for column in ("at peak", "saved in all", "values"):
        made.add_column(column, justify="right")
    made.add_column("line")
    at_peak, saved = facts["at_peak"], facts["saved"]
    nothing = {"values": 0, "bytes": 0}
    holders = {**saved, **at_peak}
    for holder in sorted(holders, key=lambda each: -at_peak.get(each, 0)):
        row = saved.get(holder, nothing)
        sizes = decimal(at_peak.get(holder, 0)), decimal(row["bytes"])
        row_of = holder.op, holder.name, *sizes, str(row["values"]), holder.location or ""
        made.add_row(*map(Text, row_of))  # square brackets in them are not markup
    made.add_row("peak", "", decimal(facts["peak"]), style="bold")
    made.add_row("now", "", decimal(facts["held"]), style="bold")
    for backend, figures in facts["device"].items():
        for name, size in figures.items():
            made.add_row(Text(f"{backend}: {name}"), "", decimal(size))
    return made


def as_text(made: Table) -> str:
    """Return a table as plain text; no line is broken, however narrow the terminal."""
    from rich.console import Console

    width = Console(width=1000).measure(made).maximum
    console = Console(file=StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(made, markup=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def chart(facts: dict[str, Any], top: int = 10) -> Figure:
    """Return the curve over time, above bars of what held most at the peak."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plot() needs matplotlib, which is not installed: pip install matplotlib"
        ) from error
    figure = Figure(layout="constrained", figsize=(7, 7))
    over_time, at_peak = figure.subplots(2)
    seconds, sizes = zip(*facts["timeline"], strict=True)
    over_time.step(seconds, [size / 1e6 for size in sizes], where="post")
    over_time.axhline(facts["peak"] / 1e6, linestyle=":", color="gray")
    over_time.set(xlabel="seconds", ylabel="MB", title="Saved by graphs; dotted: the peak")
    holders = sorted(facts["at_peak"].items(), key=lambda pair: -pair[1])[:top]
    labels = [_label(holder) for holder, _ in holders]
    at_peak.barh(range(len(holders)), [size / 1e6 for _, size in holders])
    at_peak.set_yticks(range(len(holders)), labels)
    at_peak.invert_yaxis()
    at_peak.set(xlabel="MB at the peak")
    return figure


def _label(holder: Any) -> str:
    line = (holder.location or "").rpartition(" in ")[0].replace("\\", "/").rpartition("/")[2]
    return f"{holder.op} {holder.name}\n{line}".strip()
