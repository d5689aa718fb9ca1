"""The commands ``agnograd conformance`` and ``agnograd scoreboard``."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click

__all__ = ["conformance", "scoreboard"]

_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--backend", help="The backend to check.  [default: $AGNOGRAD_BACKEND, or numpy]")
@click.option("--ops", multiple=True, metavar="PATTERN", help="Ops to check, such as 'linalg.*'.")
@click.option("--checks", multiple=True, metavar="PATTERN", help="Checks to run.")
@click.option("--quick", is_flag=True, help="Two samples of each dtype of an op, in double.")
@click.option("--double", is_flag=True, help="Every sample, in double precision alone.")
@click.option("--gaps", type=_file, help="Known gaps of the library, with reasons.")
@click.option("--explore", type=int, metavar="N", help="Draw N new arrays a sample; not graded.")
@click.option("--json", "json_file", type=_file, help="Write a report as JSON.")
@click.option("--html", "html_file", type=_file, help="Write a report as a page.")
@click.option("-n", "processes", metavar="N", help="Processes, or auto: needs pytest-xdist.")
@click.option("--list", "listed", is_flag=True, help="List the checks, and run none.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def conformance(
    context: click.Context,
    backend: str | None,
    ops: tuple[str, ...],
    checks: tuple[str, ...],
    quick: bool,
    double: bool,
    gaps: Path | None,
    explore: int | None,
    json_file: Path | None,
    html_file: Path | None,
    processes: str | None,
    listed: bool,
    pytest_args: tuple[str, ...],
) -> None:
    """Check every op, derivative and hook on a backend; the exit status is pytest's.

    What follows `--` goes to pytest.
    """
    if listed:
        _list()
        return
    given = {
        "backend": backend,
        "gaps": gaps,
        "explore": explore,
        "json": json_file,
        "html": html_file,
    }
    options = [f"--agnograd-{name}={value}" for name, value in given.items() if value is not None]
    options += [f"--agnograd-ops={pattern}" for pattern in ops]
    options += [f"--agnograd-checks={pattern}" for pattern in checks]
    options += ["--agnograd-quick"] if quick else []
    options += ["--agnograd-double"] if double else []
    options += ["-n", processes] if processes is not None else []
    context.exit(_run([*options, *pytest_args]))


def _run(options: list[str]) -> int:
    """Run pytest in a process of its own, which has imported nothing yet."""
    if find_spec("pytest") is None:
        raise click.ClickException("the suite needs pytest: pip install 'agnograd[conformance]'")
    # Nothing of the project that one happens to stand in: neither its options nor its conftest.
    isolated = ["-c", os.devnull, "--rootdir", os.curdir, "--noconftest", "-p", "no:cacheprovider"]
    suite = ["--pyargs", "agnograd.testing.conformance"]
    return subprocess.call([sys.executable, "-m", "pytest", "-q", *isolated, *suite, *options])


def _list() -> None:
    from agnograd.testing.conformance._checks import CHECKS, summary

    width = max(map(len, CHECKS))
    for name, check in CHECKS.items():
        click.echo(f"{name:{width}}  {summary(check)}")


@click.command()
@click.argument("reports", nargs=-1, required=True, type=_file)
@click.option("--html", "html_file", type=_file, required=True, help="The page to write.")
def scoreboard(reports: tuple[Path, ...], html_file: Path) -> None:
    """Merge REPORTS of several backends, as JSON, into one page with a column for each."""
    from agnograd.testing.conformance._page import page
    from agnograd.testing.conformance._report import ReportError, read

    try:
        found = [read(path) for path in reports]
    except (ReportError, OSError) as error:
        raise click.ClickException(str(error)) from error
    backends = [each["backend"] for each in found]
    twice = next((name for name in backends if backends.count(name) > 1), None)
    if twice is not None:
        raise click.ClickException(f"two reports are of backend {twice!r}: give one of each")
    html_file.write_text(page(found), encoding="utf-8")
    click.echo(f"{html_file} is written")
