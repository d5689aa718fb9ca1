"""Reports as one page that needs nothing else, and how they are written."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

__all__ = ["check_writable", "page", "write"]


def page(package: str, reports: Any) -> str:
    """Return the page of a package with the style and the functions that pages share, and its data.

    Parameters
    ----------
    package : str
        A package with a file ``page.html``: HTML with ``STYLE``, ``SCRIPT`` and ``REPORTS`` where
        they go.
    reports : object
        What JSON can say. Scripts must enter its text into the page as text, not as HTML.
    """
    text = files(package).joinpath("page.html").read_text(encoding="utf-8")
    folder = files(__package__)
    for place, name in (("STYLE", "page.css"), ("SCRIPT", "page.js")):
        text = text.replace(place, folder.joinpath(name).read_text(encoding="utf-8"), 1)
    # In a script element its end is special, and what begins a comment: both begin with this.
    data = json.dumps(reports, separators=(",", ":")).replace("<", "\\u003c")
    return text.replace("REPORTS", data, 1)


def write(path: Path, text: str) -> None:
    """Write a file whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    path = path.resolve()  # a link stays one
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


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
