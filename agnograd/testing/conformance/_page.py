"""Reports as one page that needs nothing else: the matrix of ops and checks, with its failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

__all__ = ["page"]


def page(reports: Sequence[dict[str, Any]]) -> str:
    """Return a page of HTML on one report, or one that has a column for each of several.

    Parameters
    ----------
    reports : sequence of dict
        Reports as ``agnograd conformance --json`` writes them.
    """
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    # In a script element its end is special, and what begins a comment: both begin with this.
    data = json.dumps(list(reports), separators=(",", ":")).replace("<", "\\u003c")
    return template.replace("REPORTS", data, 1)
