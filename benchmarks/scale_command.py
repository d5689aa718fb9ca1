"""The command ``python -m benchmarks scale``: measured here, simulated, and extrapolated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks import report
from benchmarks.children import ONE_THREAD
from benchmarks.measuring import machine
from benchmarks.scale import LINKS, Link, Local, Nodes, Profile, buckets, simulate

__all__ = ["scale"]

NODES = (1, 2, 4, 8, 16, 32, 64)
SPEEDS = (1, 10)  # of a node, in that of a process here
PROGRAM = Path(__file__).with_name("scale_rank.py")
Columns = Mapping[str, Mapping[int, Mapping[str, float]]]


def measured(size: int, numbers: Sequence[int]) -> dict[str, Any]:
    """Return what rank 0 of some processes of this machine measures, each with one thread."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "found.json")
        start = [sys.executable, "-m", "agnograd_distributed", "-n", str(size), str(PROGRAM)]
        done = subprocess.run(
            [*start, *map(str, numbers), str(path)],
            env={**os.environ, **ONE_THREAD},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise click.ClickException(f"{size} processes failed: {done.stderr.strip()}")
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def model(found: Mapping[str, Any]) -> tuple[Profile, Local]:
    """Return the profile and the costs that some processes measured."""
    return Profile(*found["profile"]), Local(*found["costs"])


def here(runs: Mapping[int, Mapping[str, Any]]) -> Iterable[dict[str, float]]:
    """Yield what was measured and simulated for each number of processes, in seconds."""
    for size, found in runs.items():
        profile, costs = model(found)
        yield {
            "processes": size,
            "without": found["without"],
            "measured": found["with"],
            "overlapped": simulate(profile, costs).seconds,
            "not overlapped": simulate(profile, costs, overlap=False).seconds,
        }


def extrapolated(alone: Mapping[str, Any], links: Mapping[str, Link], speed: int) -> Columns:
    """Return what a step would take, by link and number of nodes, in seconds.

    ``alone`` is what one process measured; a node computes ``speed`` times as fast. Copies on the
    host take what they take here.
    """
    profile, host = model(alone)
    node = profile.faster(speed)
    without = node.other + node.backward
    found: dict[str, dict[int, dict[str, float]]] = {}
    for name, link in links.items():
        steps = {size: simulate(node, Nodes(size, link, host)) for size in NODES}
        found[name] = {
            size: {**each._asdict(), "efficiency": without / each.seconds}
            for size, each in steps.items()
        }
    return found


def links_given(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, Link]:
    """Return the links of ``MICROSECONDS,GBIT``; by default the typical ones."""
    found = {}
    for each in value:
        try:
            latency, speed = (float(number) for number in each.split(","))
            if min(latency, speed) <= 0:
                raise ValueError
        except ValueError:
            raise click.BadParameter(
                f"{each!r} is not two positive numbers such as 25,40: microseconds and Gbit/s"
            ) from None
        found[f"{latency:g} µs and {speed:g} Gbit/s"] = Link(latency / 1e6, speed * 1e9 / 8)
    return found or dict(LINKS)


def print_here(rows: Iterable[Mapping[str, float]]) -> None:
    """Print what was measured on this machine, beside the simulation, in milliseconds."""
    header = ["processes here, ms a step", "no communication", "AllReduce"]
    report.print_table(
        [*header, "simulated, overlapped", "simulated, not overlapped"],
        (
            [f"{row['processes']}", *(f"{1e3 * each:.1f}" for each in [*row.values()][1:])]
            for row in rows
        ),
    )


def print_extrapolated(speed: int, columns: Columns, nbytes: int) -> None:
    """Print what a step would take on nodes of a network, and how efficient it would be."""
    report.print_table(
        [f"nodes, {speed} times as fast" if speed > 1 else "nodes", "each sends, MiB", *columns],
        (
            [
                f"{size}",
                f"{2 * (size - 1) / size * nbytes / 2**20:.1f}",
                *(
                    f"{1e3 * found[size]['seconds']:.1f} ms, {found[size]['efficiency']:4.0%}"
                    for found in columns.values()
                ),
            ]
            for size in NODES
        ),
    )


@click.command()
@click.option("--width", default=1024, show_default=True, help="Of the network's layers.")
@click.option("--layers", default=8, show_default=True, help="How many the network has.")
@click.option("--batch", default=128, show_default=True, help="Examples of each process.")
@click.option("--rounds", default=7, show_default=True, help="How often each is timed, in turn.")
@click.option(
    "--link",
    "links",
    multiple=True,
    metavar="µs,Gbit/s",
    callback=links_given,
    help="The latency and bandwidth of a network, instead of typical ones.",
)
@click.option("--quick", is_flag=True, help="A small network, one round.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def scale(
    width: int,
    layers: int,
    batch: int,
    rounds: int,
    links: dict[str, Link],
    quick: bool,
    json_path: str | None,
) -> None:
    """Measure data parallelism on this machine, and extrapolate it to nodes of a network."""
    numbers = (16, 3, 4, 1) if quick else (width, layers, batch, rounds)
    runs = {size: measured(size, numbers) for size in ((1, 2) if quick else (1, 2, 4))}
    _, _, ready = runs[1]["profile"]
    nbytes = sum(each for _, each in ready)
    click.echo(
        f"{nbytes / 2**20:.1f} MiB of gradients in {len(buckets(ready))} buckets, "
        f"{os.cpu_count()} processors"
    )
    rows = list(here(runs))
    print_here(rows)
    columns = {speed: extrapolated(runs[1], links, speed) for speed in SPEEDS}
    for speed, each in columns.items():
        click.echo()
        print_extrapolated(speed, each, nbytes)
    if json_path:
        found = {"runs": runs, "here": rows, "extrapolated": columns, "machine": machine()}
        report.write_json(found, json_path)
