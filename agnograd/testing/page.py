"""Reports as one page that needs nothing else, and where they can be written."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

__all__ = ["check_writable", "filled"]


def filled(template: str, reports: Any) -> str:
    """Return a page with the style and the functions that pages share, and with its data.

    Parameters
    ----------
    template : str
        HTML with ``STYLE``, ``SCRIPT`` and ``REPORTS`` where they go.
    reports : object
        What JSON can say. Scripts must enter its text into the page as text, not as HTML.
    """
    folder = files(__package__)
    for place, name in (("STYLE", "page.css"), ("SCRIPT", "page.js")):
        template = template.replace(place, folder.joinpath(name).read_text(encoding="utf-8"), 1)
    # In a script element its end is special, and what begins a comment: both begin with this.
    data = json.dumps(reports, separators=(",", ":")).replace("<", "\\u003c")
    return template.replace("REPORTS", data, 1)


def check_writable(path: Path) -> None:
    """Raise if a report cannot be written to a path, before the run that it is of.

    Raises
    ------
    click.ClickException
        It has the operating system's reason.
    """
    there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise click.ClickException(f"no report can be written there: {error}") from error
