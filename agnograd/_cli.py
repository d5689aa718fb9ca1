"""The command ``agnograd``: what is installed, and what is known of every op."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table

from agnograd._backends import backends as backend_names
from agnograd._discovery import BACKENDS, installed, origin
from agnograd._plugins import plugins as known_plugins
from agnograd._registry import ops as known_ops

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agnograd")
def main() -> None:
    """Differentiate array-API code: backends, plugins and ops that are installed."""


@main.command()
def backends() -> None:
    """List the installed backends; none of them is imported."""
    entries = installed(BACKENDS)
    _print(("backend", "distribution"), ((name, origin(entries[name])) for name in backend_names()))


@main.command()
def plugins() -> None:
    """List the installed hook plugins; none of them is imported."""
    _print(
        ("plugin", "distribution", "object", "found"),
        (
            (each.name, each.distribution, each.target, "yes" if each.importable else "no")
            for each in known_plugins().values()
        ),
    )


@main.command()
@click.option("--missing", is_flag=True, help="Only ops whose derivative rule is missing.")
def ops(missing: bool) -> None:
    """List every op: its chapter, and whether it has a rule, no gradient by nature, or lacks one.

    With --missing the exit status is 1 if there is such an op.
    """
    chosen = [op for op in known_ops().values() if op.status == "missing" or not missing]
    _print(("op", "chapter", "derivative", "distribution"), chosen)
    counts = dict.fromkeys(("rule", "no gradient", "missing"), 0)
    for op in known_ops().values():
        counts[op.status] += 1
    click.echo(", ".join(f"{count} {status}" for status, count in counts.items()))
    if missing and chosen:
        raise SystemExit(1)


def _print(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; into a pipe or a file without colours, and no line is broken or cut."""
    console = Console()
    table = Table(*header, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    if not console.is_terminal:
        console = Console(width=console.measure(table).maximum)
    console.print(table)
