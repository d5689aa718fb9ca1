"""Commands of ``python -m benchmarks`` that measure what a call, or a graph, costs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import click

from benchmarks import report

__all__ = ["COSTS"]


def print_costs(
    title: str, measure: Callable[..., dict[str, dict[str, float]]], quick: bool, path: str | None
) -> None:
    """Measure what calls of ops cost, in microseconds, by op and kind; print and write it."""
    found = measure(rounds=3, count=20) if quick else measure(rounds=21, count=1000)
    kinds = list(next(iter(found.values())))
    rows = ([op, *(f"{each[kind]:.2f}" for kind in kinds)] for op, each in found.items())
    report.print_table([title, *kinds], rows)
    if path:
        report.write_json({"microseconds": found}, path)


@click.command()
@click.option("--quick", is_flag=True, help="Few calls.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def overhead(quick: bool, json_path: str | None) -> None:
    """Measure what one op costs on a small array, in microseconds."""
    from benchmarks.overhead import overhead

    print_costs("op, 3x3 float64, µs", overhead, quick, json_path)


@click.command()
@click.option("--quick", is_flag=True, help="Few calls.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def engines(quick: bool, json_path: str | None) -> None:
    """Measure what calls of ops cost in PyTorch, in microseconds."""
    from benchmarks.engines import engines

    print_costs("op, 8 float64, µs", engines, quick, json_path)


@click.command()
@click.option("--quick", is_flag=True, help="Few calls.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def hooks(quick: bool, json_path: str | None) -> None:
    """Measure what active plugins add to an op, in microseconds."""
    from benchmarks.hooks import hooks

    found = hooks(rounds=2, count=10) if quick else hooks(rounds=15, count=1000)
    without = sum(found["none"])
    rows = (
        [name, f"{forward:.2f}", f"{backward:.2f}", f"{forward + backward - without:.2f}"]
        for name, (forward, backward) in found.items()
    )
    report.print_table(["active, µs an op", "forward", "backward", "added to both"], rows)
    if json_path:
        report.write_json({"microseconds": found}, json_path)


@click.command()
@click.option("--quick", is_flag=True, help="Small graphs.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def growth(quick: bool, json_path: str | None) -> None:
    """Measure an op's time as the graph grows deeper and wider, in microseconds."""
    from benchmarks.growth import growth

    counts = (10, 100) if quick else (10**3, 10**4, 10**5, 10**6)
    found = growth(counts, rounds=2 if quick else 3)
    rows = (
        [name, *(f"{forward:.2f} + {backward:.2f}" for forward, backward in each.values())]
        for name, each in found.items()
    )
    report.print_table(["µs an op, forward + backward", *(f"{n:,}" for n in counts)], rows)
    if json_path:
        report.write_json({"microseconds": found}, json_path)


@click.command()
@click.option("--rounds", default=15, show_default=True, help="How often each graph is built.")
@click.option("--quick", is_flag=True, help="Few chunks, one round.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def lazy(rounds: int, quick: bool, json_path: str | None) -> None:
    """Count the tasks of passes over 1,000 chunks of Dask, and time the making of the graphs."""
    from benchmarks.lazy import lazy

    if importlib.util.find_spec("dask") is None:
        raise click.UsageError("lazy needs Dask: pip install 'agnograd[dask]'")
    chunks = 20 if quick else 1000
    found = lazy(chunks, 1 if quick else rounds)
    header = ["tasks: forward", "and gradients", "ratio", "optimised", "layers", "ms", "ms a layer"]
    rows = (
        [
            name,
            *(f"{each[kind]:,}" for kind in ("forward", "both")),
            f"{each['both'] / each['forward']:.2f}",
            *(f"{each[kind]:,}" for kind in ("optimised", "layers")),
            *(f"{each[kind]:.2f}" for kind in ("milliseconds", "a layer")),
        ]
        for name, each in found.items()
    )
    report.print_table([f"{chunks:,} chunks", *header], rows)
    if json_path:
        report.write_json({"programs": found}, json_path)


@click.command()
@click.option("--rounds", default=5, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="Few numbers, one round.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def random(rounds: int, quick: bool, json_path: str | None) -> None:
    """Time 10⁷ random numbers of a key, and of NumPy's own generator."""
    from benchmarks.draws import draws

    count = 10**4 if quick else 10**7
    found = draws(count, 1 if quick else rounds)
    rows = (
        [name, *(f"{each[kind]:.3f}" for kind in ("generator", "agnograd")), f"{each['ratio']:.2f}"]
        for name, each in found.items()
    )
    report.print_table([f"{count:,} numbers", "NumPy, s", "agnograd, s", "ratio"], rows)
    if json_path:
        report.write_json({"draws": found}, json_path)


@click.command()
@click.option("--rounds", default=101, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="A small size, one round.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def least(rounds: int, quick: bool, json_path: str | None) -> None:
    """Measure what recording nodes in Python takes, in times by hand."""
    from benchmarks.least import PROMISES, least

    found = least(1, "small") if quick else least(rounds)
    said = {"none": "a tape that promises nothing"} | PROMISES
    rows = ([said.get(name, name), f"{ratio:.2f}"] for name, ratio in found.items())
    report.print_table(["index: and one promise more", "times by hand"], rows)
    if json_path:
        report.write_json({"ratios": found}, json_path)


COSTS = (engines, growth, hooks, lazy, least, overhead, random)
