"""The page of a report: the matrix of ops and checks, with its failures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from agnograd.testing.page import filled

__all__ = ["page"]


def page(reports: Sequence[dict[str, Any]]) -> str:
    """Return a page of HTML on one report, or one that has a column for each of several.

    Parameters
    ----------
    reports : sequence of dict
        Reports as ``agnograd conformance --json`` writes them.
    """
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return filled(template, list(reports))
