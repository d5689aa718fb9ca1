"""Reports as one page that needs nothing else: the matrix of ops and checks, with its failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

__all__ = ["filled", "page"]


def page(reports: Sequence[dict[str, Any]]) -> str:
    """Return a page of HTML on one report, or one that has a column for each of several.

    Parameters
    ----------
    reports : sequence of dict
        Reports as ``agnograd conformance --json`` writes them.
    """
    return filled(_text("page.html"), list(reports))


def filled(template: str, reports: Any) -> str:
    """Return a page with the style and the functions that pages share, and with its data.

    Parameters
    ----------
    template : str
        HTML with ``STYLE``, ``SCRIPT`` and ``REPORTS`` where they go.
    reports : object
        What JSON can say. Scripts must enter its text into the page as text, not as HTML.
    """
    for place, name in (("STYLE", "page.css"), ("SCRIPT", "page.js")):
        template = template.replace(place, _text(name), 1)
    # In a script element its end is special, and what begins a comment: both begin with this.
    data = json.dumps(reports, separators=(",", ":")).replace("<", "\\u003c")
    return template.replace("REPORTS", data, 1)


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
