"""The command ``agnograd certify``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import agnograd as ag
from agnograd.errors import AgnogradError
from agnograd.testing.gaps import read_gaps
from agnograd.testing.page import check_writable
from agnograd_certify import _report
from agnograd_certify._findings import CHECKS
from agnograd_certify._gaps import against, write_gaps

__all__ = ["certify"]

_file = click.Path(dir_okay=False, path_type=Path)
_readable = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


def _parts(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> list[str]:
    return [name.strip() for each in given for name in each.split(",") if name.strip()]


@click.command()
@click.argument("module")
@click.option("--calls", type=_readable, help="The calls, as TOML.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    callback=_parts,
    metavar="NAMES",
    help="Backends, with commas between.  [default: all with an installed library]",
)
@click.option(
    "--checks",
    multiple=True,
    callback=_parts,
    metavar="NAMES",
    help="Checks, with commas between.  [default: all]",
)
@click.option("--gaps", type=_file, help="Known gaps, with reasons.")
@click.option("--update-gaps", is_flag=True, help="Write the file of --gaps; reasons stay.")
@click.option("--html", type=_file, help="Write the certificate as a page.")
@click.option("--json", type=_file, help="Write it as JSON.")
@click.option("--badge", type=_file, help="Write a badge, as SVG or, named *.json, for shields.io.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=300.0,
    show_default=True,
    help="The most seconds for a call on a backend.",
)
def certify(
    module: str,
    calls: Path | None,
    backends: list[str],
    checks: list[str],
    gaps: Path | None,
    update_gaps: bool,
    timeout: float,
    **reports: Path | None,
) -> None:
    """Certify that MODULE is differentiable: each of its calls, on each backend.

    The exit status is 0 if nothing is bad but known gaps, and all known gaps are still bad.
    """
    from agnograd_certify._file import CallsError, read_calls
    from agnograd_certify._measure import chosen_checks
    from agnograd_certify._run import CallsRun

    if calls is None:
        raise click.UsageError(_no_calls(module))
    if update_gaps and gaps is None:
        raise click.UsageError("--update-gaps writes the file that --gaps names")
    for path in filter(None, (*reports.values(), gaps if update_gaps else None)):
        check_writable(path)
    try:
        names = chosen_checks(checks or CHECKS)
        known = _known(gaps, update_gaps)
        found = read_calls(calls, module)
        for name in backends:  # before a process begins
            ag.namespace(name)
        run = CallsRun(calls, module, backends or None, names, found.environment, timeout)
    except (ValueError, AgnogradError) as error:
        raise click.ClickException(str(error)) from error
    began, stopped = time.perf_counter(), False
    try:
        _watched(run, module)
    except CallsError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        stopped = True
    if update_gaps and gaps is not None and not stopped:
        known = _written(gaps, run.cells, known)
    told = _conclude(module, run.cells, names, time.perf_counter() - began, known, stopped, reports)
    if stopped:
        raise SystemExit(130)
    raise SystemExit(0 if told["certified"] else 1)


def _no_calls(module: str) -> str:
    from agnograd_certify._file import EXAMPLE

    return (
        f"--calls FILE says which calls of {module} are made. Such a file is TOML:\n\n{EXAMPLE}\n\n"
        f"    agnograd certify {module} --calls calls.toml --html certificate.html"
    )


def _known(gaps: Path | None, update: bool) -> list[Any]:
    """Return the known gaps; there need be no file of them yet if it is to be written."""
    if gaps is None or (update and not gaps.exists()):
        return []
    try:
        return list(read_gaps(gaps))
    except OSError as error:
        raise click.ClickException(
            f"{gaps} cannot be read: {error.strerror}; --update-gaps writes it"
        ) from error


def _written(gaps: Path, cells: list[dict[str, Any]], known: Sequence[Any]) -> list[Any]:
    """Write the known gaps, say what is new among them, and return them."""
    _print(against(known, cells).new)
    click.echo(f"{gaps}: {write_gaps(gaps, cells, known)} known gaps")
    return _known(gaps, update=True)


def _watched(run: Any, module: str) -> None:
    """Run, with a bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn(module), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[at]}")
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(module, total=None, at="")
        run(
            lambda done, total, cells: bar.update(
                task, completed=done, total=total, at=f"on {cells[0]['backend']}"
            )
        )


def _conclude(
    module: str,
    cells: list[dict[str, Any]],
    checks: Sequence[str],
    seconds: float,
    known: Sequence[Any],
    stopped: bool,
    reports: dict[str, Path | None],
) -> dict[str, Any]:
    """Write the reports, and print what is not right."""
    new, stale = against(known, cells)
    stale = [] if stopped else stale
    told = _report.report(module, cells, checks, seconds, stale, new, stopped)
    _print(new)
    for line in told["stale"]:
        click.echo(f"stale  {line}")
    figures = _report.summary(told, told["backends"])
    end = " (stopped)" if stopped else ""
    click.echo(f"{told['library']}: {figures}; {told['seconds']} s{end}")
    for path in _report.written(told, reports):
        click.echo(f"{path} is written")
    return told


def _print(cells: Sequence[dict[str, Any]]) -> None:
    """Print what is bad."""
    for (status, call, reason, where), found in _grouped(cells).items():
        click.echo(f"{status}  {call}  {found}\n    {reason}")
        if where:
            click.echo(f"    at {where}")


def _grouped(cells: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], str]:
    """Return what is the same on several backends, or in several checks, once, and where it is."""
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for cell in cells:
        same = tuple(cell[name] for name in ("status", "call", "reason", "where"))
        found.setdefault(same, {}).setdefault(cell["check"], []).append(cell["backend"])
    return {
        same: "; ".join(f"{check} on {', '.join(names)}" for check, names in by_check.items())
        for same, by_check in found.items()
    }
