"""The commands ``agnograd conformance`` and ``agnograd scoreboard``."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from agnograd.testing import with_switches
from agnograd.testing.page import check_writable, page, write

__all__ = ["conformance", "scoreboard"]

_file = click.Path(dir_okay=False, path_type=Path)
_readable = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.command()
@click.option("--backend", help="The backend to check.  [default: $AGNOGRAD_BACKEND, or numpy]")
@click.option("--ops", multiple=True, metavar="PATTERN", help="Ops to check, such as 'linalg.*'.")
@click.option("--checks", multiple=True, metavar="PATTERN", help="Checks to run.")
@click.option("--quick", is_flag=True, help="Two samples of each dtype of an op, in double.")
@click.option("--double", is_flag=True, help="Every sample, only in double precision.")
@click.option(
    "--few", multiple=True, metavar="PATTERN", help="Checks that take only the samples of --quick."
)
@click.option("--lowering", metavar="NAME", help="How compiled programs run.  [default: auto]")
@click.option(
    "--switches",
    metavar="MODE",
    help="least, most or random:SEED: the numbers at which the way of computing changes.",
)
@click.option("--gaps", type=_readable, help="Known gaps of the library, with reasons.")
@click.option(
    "--explore", type=click.IntRange(1), metavar="N", help="Draw N new arrays a sample; not graded."
)
@click.option("--json", type=_file, help="Write a report as JSON.")
@click.option("--html", type=_file, help="Write a report as a page.")
@click.option("-n", "processes", metavar="N", help="Processes, or auto: needs pytest-xdist.")
@click.option("--list", "listed", is_flag=True, help="List the checks, and run none.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def conformance(
    processes: str | None,
    listed: bool,
    switches: str | None,
    pytest_args: tuple[str, ...],
    **given: Any,
) -> None:
    """Check every op, derivative and hook on a backend; the exit status is pytest's.

    What follows `--` goes to pytest.
    """
    if listed:
        _list()
        return
    for path in filter(None, (given["json"], given["html"])):
        check_writable(path)
    options = [] if processes is None else ["-n", processes]
    for name, value in given.items():
        if value is True:
            options.append(f"--agnograd-{name}")
        elif value not in (None, False):
            values = value if isinstance(value, tuple) else (value,)
            options += [f"--agnograd-{name}={each}" for each in values]
    status = _run([*options, *pytest_args], switches)
    if status < 0:  # the library, most likely, has taken the process down
        status = _died(-status, given["json"])
    raise SystemExit(status)


def _run(options: list[str], switches: str | None) -> int:
    """Run pytest in a process of its own, which has imported nothing yet."""
    try:
        environment = None if switches is None else with_switches(switches)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if find_spec("pytest") is None:
        raise click.ClickException("the suite needs pytest: pip install 'agnograd[conformance]'")
    # No options or conftest of the project one stands in, and no plugin that takes a second to end.
    isolated = ["-c", os.devnull, "--rootdir", os.curdir, "--noconftest", "-p", "no:cacheprovider"]
    suite = ["-p", "no:hypothesispytest", "--pyargs", "agnograd_conformance"]
    return subprocess.call(
        [sys.executable, "-m", "pytest", "-q", *isolated, *suite, *options], env=environment
    )


def _died(number: int, report: Path | None) -> int:
    """Say that a signal ended the run, and where what it found is; return the shell's status."""
    import signal

    name = signal.Signals(number).name
    click.echo(f"the run was ended by {name}, which is most likely the library's fault", err=True)
    told = "with --json FILE what is found, and what runs, is there to read"
    if report is not None:
        told = (
            f"{report} says what was found, and what was running; `agnograd scoreboard {report} "
            "--html FILE` makes a page of it"
        )
    click.echo(told, err=True)
    return 128 + number


def _list() -> None:
    from agnograd_conformance._checks import CHECKS, summary

    width = max(map(len, CHECKS))
    for name, check in CHECKS.items():
        click.echo(f"{name:{width}}  {summary(check)}")


@click.command()
@click.argument("reports", nargs=-1, required=True, type=_readable)
@click.option("--html", type=_file, required=True, help="The page to write.")
def scoreboard(reports: tuple[Path, ...], html: Path) -> None:
    """Merge REPORTS of several backends, as JSON, into one page with a column for each."""
    from agnograd_conformance._report import ReportError, read

    try:
        found = [read(path) for path in reports]
    except (ReportError, OSError) as error:
        raise click.ClickException(str(error)) from error
    backends = [each["backend"] for each in found]
    twice = next((name for name in backends if backends.count(name) > 1), None)
    if twice is not None:
        raise click.ClickException(f"two reports are of backend {twice!r}: give one of each")
    try:
        write(html, page("agnograd_conformance", found))
    except OSError as error:
        raise click.ClickException(f"{html} cannot be written: {error}") from error
    click.echo(f"{html} is written")
