"""What was measured, as tables, JSON and charts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measuring import HAND, Comparison, Run
from benchmarks.workloads import workload_named

__all__ = ["chart", "print_comparison", "print_table", "ratios", "write_json"]


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, numbers on the right; into a pipe or a file no line is broken or cut."""
    console = Console()
    table = Table(box=None, pad_edge=False)
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    if not console.is_terminal:
        console = Console(width=Console(width=1000).measure(table).maximum)
    console.print(table, highlight=False)


def print_comparison(comparison: Comparison) -> None:
    """Print the ratios, who was left out, what failed, and which first calls took long."""
    reference = comparison.reference
    peers = [name for name in comparison.implementations if name != reference]
    who = f"by {reference}"
    compiling = [name for name in peers if comparison.implementations[name]["compiles"]]
    rows = []
    for workload, runs in comparison.runs.items():
        cells = [_cell(runs.get(name), name in compiling) for name in peers]
        rows.append([workload, _milliseconds(runs[reference].seconds), *cells])
    print_table(["workload", f"{who}, ms", *peers], rows)
    print()
    for workload in comparison.runs:
        print(f"{workload}: {workload_named(workload).describe(comparison.sizes)}")
    print()
    versions = (f"{name} {comparison.implementations[name]['version']}" for name in peers)
    numpy = comparison.implementations[reference]["numpy"]
    print(f"Times over the time {who}, NumPy {numpy}; {', '.join(versions)}.")
    for name in peers:
        if (other := comparison.implementations[name]["numpy"]) != numpy:
            print(f"{name} runs with NumPy {other}, whose own functions may be faster or slower.")
    if comparison.sizes == "small":
        print("Small sizes: all that counts is that gradients agree.")
    if compiling:
        print(
            f"In brackets, the seconds of the first call, which compiles: {', '.join(compiling)}."
        )
    for workload, runs in comparison.runs.items():
        for name, run in runs.items():
            if (
                name not in compiling
                and run.first
                and run.first > 10 * max(0.1, run.seconds or 0.0)
            ):
                print(f"The first call of {workload} by {name} took {run.first:.1f} s.")
    for line in (*comparison.left_out, *comparison.failures):
        print(line)


def ratios(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Return each workload's ratios to the time by hand, those of what was timed."""
    return {
        workload: {
            name: run.ratio for name, run in runs.items() if name != HAND and run.ratio is not None
        }
        for workload, runs in comparison.runs.items()
    }


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data, with the medians."""
    data = asdict(comparison)
    for workload, runs in comparison.runs.items():
        for name, run in runs.items():
            data["runs"][workload][name]["seconds"] = run.seconds
    titles = {name: workload_named(name).describe(comparison.sizes) for name in comparison.runs}
    return {**data, "titles": titles}


def write_json(data: Any, path: str | Path) -> None:
    """Write plain data to a file."""
    Path(path).write_text(json.dumps(data, indent=1) + "\n")


def chart(comparison: Comparison, path: str | Path) -> None:
    """Draw the ratios as bars, on a logarithmic axis, into a PNG file."""
    from matplotlib.figure import Figure

    found = ratios(comparison)
    names = [name for name in comparison.implementations if name != HAND]
    thickness = 0.8 / len(names)
    figure = Figure(figsize=(8, 0.6 + len(found) * (0.3 + 0.12 * len(names))), layout="constrained")
    axes = figure.subplots()
    for i, name in enumerate(names):
        bars = [(j, found[each][name]) for j, each in enumerate(found) if name in found[each]]
        places = [j + (i - (len(names) - 1) / 2) * thickness for j, _ in bars]
        version = comparison.implementations[name]["version"]
        lengths = [ratio - 1.0 for _, ratio in bars]
        axes.barh(places, lengths, thickness, left=1.0, label=f"{name} {version}")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(found)), list(found))
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set(xscale="log", xlabel="time over that of the derivative by hand in NumPy")
    axes.legend()
    figure.savefig(path, format="png", dpi=150)


def _cell(run: Run | None, first: bool) -> str:
    if run is None or run.failed:
        return "failed"
    if run.lacks:
        return f"no {run.lacks}"
    ratio = "-" if run.ratio is None else f"{run.ratio:.2f}"
    return f"{ratio} ({run.first:.2f})" if first else ratio


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3g}"
