"""The command ``agnograd``: what is installed, what is known of every op, and a start for more."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

import click

from agnograd._cli.scaffold import create
from agnograd._hooks.activation import process_plugins
from agnograd._ops.op import Status
from agnograd._plugins.entry_points import (
    BACKENDS,
    COMMANDS,
    PLUGINS,
    PROTOCOLS,
    conflicts,
    every,
    installed,
    load,
    origin,
)
from agnograd._plugins.hook_plugins import plugins as known_plugins
from agnograd._plugins.info import backend_rows, versions
from agnograd._plugins.op_sets import ops as known_ops
from agnograd.errors import PluginError

_WIDE = 10_000  # characters, which no table needs


def _fail(why: str) -> None:
    raise click.ClickException(why)


class _Commands(click.Group):
    """Commands, and those of plugins: the group of entry points ``agnograd.commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *installed(COMMANDS)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in installed(COMMANDS):
            return own
        try:
            return load(installed(COMMANDS)[cmd_name], click.Command)
        except PluginError as error:
            # It says why it cannot be loaded; all others work.
            return click.Command(cmd_name, callback=partial(_fail, str(error)), help=str(error))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agnograd")
def main() -> None:
    """Differentiate array-API code: what is installed, and a start for what is not."""


@main.command()
def info() -> None:
    """Print versions, backends with their libraries and devices, and active plugins.

    The libraries that are installed are imported.
    """
    _print(("", "version"), versions())
    click.echo()
    _print(("backend", "distribution", "library", "lowerings", "devices"), backend_rows())
    click.echo()
    if process_plugins:
        known = installed(PLUGINS)
        _print(
            ("plugin", "distribution", "activated by", "state"),
            (
                (name, origin(known[name]) if name in known else "", "AGNOGRAD_PLUGINS", state)
                for name, state in process_plugins.items()
            ),
        )
    else:
        click.echo("No plugin is active: AGNOGRAD_PLUGINS names none.")


@main.command()
def backends() -> None:
    """List the installed backends; none of them is imported."""
    rows = ((name, origin(entry)) for name, entry in installed(BACKENDS).items())
    _print(("backend", "distribution"), rows)
    _print_conflicts(BACKENDS)


@main.command()
def plugins() -> None:
    """List the installed hook plugins; none of them is imported."""
    rows = ((*facts, "yes" if found else "no") for *facts, found in known_plugins().values())
    _print(("plugin", "distribution", "object", "found"), rows)
    _print_conflicts(PLUGINS)


@main.command()
def protocols() -> None:
    """List what answers for other libraries' functions; none of it is imported."""
    rows = ((each.name, origin(each), each.value) for each in every(PROTOCOLS))
    _print(("protocol", "distribution", "object"), rows)


@main.command()
@click.option("--missing", is_flag=True, help="Only ops whose derivative rule is missing.")
def ops(missing: bool) -> None:
    """List every op: its chapter, and whether it has a rule, no gradient by nature, or lacks one.

    The column batch says how vmap computes it: by a rule, as a program of other ops, or by a loop
    over members. With --missing the exit status is 1 if there is such an op.
    """
    known = known_ops().values()
    chosen = [op for op in known if op.status == "missing" or not missing]
    _print(("op", "chapter", "derivative", "batch", "distribution"), chosen)
    counts = Counter(op.status for op in known)
    click.echo(", ".join(f"{counts[each]} {each}" for each in get_args(Status)))
    if missing and chosen:
        raise SystemExit(1)


def _new(kind: str, what: str) -> click.Command:
    """Return the command that writes a new distribution of a kind."""

    @main.command(
        f"new-{kind}", help=f"Write a distribution NAME with {what}, and tests that pass."
    )
    @click.argument("name")
    @click.option(
        "--into",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=".",
        help="Where to make the folder; here by default.",
    )
    def new(name: str, into: Path, **options: str) -> None:
        folder = create(kind, name, into, **options)
        click.echo(f"{folder} is written. Install it, and run its tests:")
        click.echo(f"    cd {shlex.quote(str(folder))} && pip install -e '.[test]' && pytest")

    return new


_new("plugin", "a hook plugin")
_new("ops", "an op and its derivative")
click.option(
    "--library",
    default="array_api_strict",
    show_default=True,
    help="The module that is an array library's namespace.",
)(_new("backend", "a backend for an array library"))


def _print_conflicts(group: str) -> None:
    for each in conflicts(group).values():
        click.echo(f"Note: {each}.")


def _print(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; into a pipe or a file without colours, and no line is broken or cut."""
    from rich.console import Console  # which takes long, and the suite has no table
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(*header, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # square brackets in them are not markup
    if not console.is_terminal:
        console = Console(width=Console(width=_WIDE).measure(table).maximum)
    console.print(table)
