"""What a run came to, as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agnograd._backends import backend_named
from agnograd._info import library_of, versions
from agnograd._registry import ops as known_ops
from agnograd.testing.conformance._checks import CHECKS, summary
from agnograd.testing.conformance._suite import Cell, Outcome, Selection, unsampled

__all__ = ["ReportError", "counts", "read", "report", "result"]

FORMAT = 1


class ReportError(ValueError):
    """A file is no report of the suite."""


def result(cell: Cell, outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    """Return what came of a check of an op in one precision, as plain data."""
    reasons = Counter(each.message for each in outcomes if each.status == "skipped")
    return {
        "op": cell.op,
        "check": cell.check,
        "dtype": cell.dtype,
        "seconds": round(seconds, 4),
        "passed": sum(each.status == "passed" for each in outcomes),
        "failed": [
            {key: value for key, value in each._asdict().items() if key != "status"}
            for each in outcomes
            if each.status == "failed"
        ],
        "gaps": [
            {"sample": each.sample, "error": each.error, "reason": each.message}
            for each in outcomes
            if each.status == "gap"
        ],
        "skipped": dict(sorted(reasons.items())),
    }


def report(
    selection: Selection, results: Iterable[dict[str, Any]], seconds: float
) -> dict[str, Any]:
    """Return a run as plain data, which ``json`` can write.

    Parameters
    ----------
    selection : Selection
        What was selected.
    results : iterable of dict
        What ``result`` gave, in any order.
    seconds : float
        How long the run took.
    """
    order = {name: place for place, name in enumerate(CHECKS)}
    ordered = sorted(results, key=lambda r: (r["op"], r["dtype"], order[r["check"]]))
    known = known_ops()
    library, devices = library_of(selection.backend)
    return {
        "format": FORMAT,
        "agnograd": version("agnograd"),
        "backend": selection.backend,
        "library": library,
        "devices": devices,
        "capabilities": backend_named(selection.backend).capabilities._asdict(),
        "versions": dict(versions()),
        "selection": {**selection._asdict()},
        "seconds": round(seconds, 2),
        "checks": {name: summary(check) for name, check in CHECKS.items()},
        "ops": {
            name: {"chapter": known[name].chapter, "distribution": known[name].distribution}
            for name in dict.fromkeys(each["op"] for each in ordered)
        },
        "unsampled": unsampled(),
        "results": ordered,
    }


def counts(results: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return how many samples passed, failed, are known gaps, and were skipped."""
    total = dict.fromkeys(("passed", "failed", "gaps", "skipped"), 0)
    for each in results:
        total["passed"] += each["passed"]
        total["failed"] += len(each["failed"])
        total["gaps"] += len(each["gaps"])
        total["skipped"] += sum(each["skipped"].values())
    return total


def read(path: Path) -> dict[str, Any]:
    """Return the report in a file.

    Raises
    ------
    ReportError
        If the file is none, or of another version's form.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReportError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ReportError(f"{path} is no report of `agnograd conformance --json`")
    return found
