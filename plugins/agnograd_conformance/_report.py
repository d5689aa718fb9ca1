"""What a run came to, as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from agnograd import ops as known_ops
from agnograd.errors import AgnogradError
from agnograd.extend import backend_named, library_of, versions
from agnograd_conformance._checks import CHECKS, summary
from agnograd_conformance._suite import Cell, Outcome, Selection, unsampled

__all__ = ["ReportError", "counts", "read", "report", "result"]

FORMAT = 1


class ReportError(ValueError):
    """A file is not a report of the suite."""


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
    selection: Selection,
    results: Iterable[dict[str, Any]],
    seconds: float,
    unfinished: str | None = None,
) -> dict[str, Any]:
    """Return a run as plain data, which ``json`` can write; results may be in any order.

    ``unfinished`` is why it has not come to its end.
    """
    order = {name: place for place, name in enumerate(CHECKS)}
    ordered = sorted(results, key=lambda r: (r["op"], r["dtype"], order[r["check"]]))
    library, devices, capabilities = _library(selection.backend)
    return {
        "format": FORMAT,
        "agnograd": version("agnograd"),
        "backend": selection.backend,
        "library": library,
        "devices": devices,
        "capabilities": capabilities,
        "versions": dict(versions()),
        "selection": {**selection._asdict()},
        "seconds": round(seconds, 2),
        "checks": {name: summary(check) for name, check in CHECKS.items()},
        "ops": _ops(ordered),
        "unsampled": unsampled(),
        "results": ordered,
        "running": [],
        "finished": unfinished is None,
        **({} if unfinished is None else {"error": unfinished}),
    }


def _ops(results: Iterable[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return what is known of the ops that have results."""
    known = known_ops()
    return {
        name: {"chapter": known[name].chapter, "distribution": known[name].distribution}
        for name in dict.fromkeys(each["op"] for each in results)
    }


def _library(name: str) -> tuple[str, str, dict[str, Any]]:
    """Return a backend's library, its devices, and what it can do; nothing if there is none."""
    try:
        capabilities = backend_named(name).capabilities._asdict()
        return *library_of(name), capabilities
    except AgnogradError:  # the run has failed because of it, and says so
        return name, "", {}


def counts(results: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return how many samples passed, failed, are known gaps, and were skipped."""
    total = dict.fromkeys(("passed", "failed", "gaps", "skipped"), 0)
    for each in results:
        total["passed"] += each["passed"]
        total["failed"] += len(each["failed"])
        total["gaps"] += len(each["gaps"])
        total["skipped"] += sum(each["skipped"].values())
    return total


# What a page needs of a report, and of each result in it.
_PARTS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("backend", "library", "agnograd", "devices"), str),
    **dict.fromkeys(("capabilities", "versions", "selection", "checks", "ops"), dict),
    "seconds": (int, float),
    "unsampled": list,
    "results": list,
}
_RESULT: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("op", "check", "dtype"), str),
    **dict.fromkeys(("failed", "gaps"), list),
    "passed": int,
    "skipped": dict,
    "seconds": (int, float),
}


def _damaged(found: dict[str, Any]) -> str | None:
    """Return what is wrong with a report, if a page cannot be made of it."""
    for name, kind in _PARTS.items():
        if not isinstance(found.get(name), kind):
            return f"its {name!r} is missing, or of another kind"
    for number, each in enumerate(found["results"]):
        for name, kind in _RESULT.items():
            if not isinstance(each, dict) or not isinstance(each.get(name), kind):
                return f"{name!r} of result {number} is missing, or of another kind"
        if not all(isinstance(one, dict) for one in (*each["failed"], *each["gaps"])):
            return f"a failure or a gap of result {number} is of another kind"
        if not all(isinstance(count, int) for count in each["skipped"].values()):
            return f"'skipped' of result {number} has no counts"
    for name, facts in found["ops"].items():
        if not isinstance(facts, dict) or not isinstance(facts.get("chapter"), str):
            return f"the chapter of op {name!r} is missing, or of another kind"
    return None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def read(path: Path) -> dict[str, Any]:
    """Return the report in a file.

    Raises
    ------
    ReportError
        If the file is none, or of another version's form.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ReportError(f"{path} is not a report of `agnograd conformance --json`")
    wrong = _damaged(found)
    if wrong is not None:
        raise ReportError(f"{path} is a damaged report: {wrong}; run `agnograd conformance` again")
    if not found.get("finished", True):  # of a run that died: ops as they are known here
        found["ops"] |= _ops(each for each in found["results"] if each["op"] in known_ops())
    return found
