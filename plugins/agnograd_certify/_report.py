"""A certificate as data: what was found, the verdict, and the badge."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from agnograd.errors import AgnogradError
from agnograd.extend import library_of, versions
from agnograd.testing.page import filled
from agnograd_certify._findings import CHECKS, STATUSES, Finding

__all__ = ["badge", "cell", "page", "report", "verdict", "write", "write_badge"]

FORMAT = 1


def cell(call: str, backend: str, check: str, found: Finding) -> dict[str, Any]:
    """Return what a check came to, as plain data."""
    return {"call": call, "backend": backend, "check": check, "bad": found.bad, **asdict(found)}


def verdict(cells: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Return how many calls are differentiable, of how many.

    A call is differentiable if its gradient is right on every backend whose plain arrays the
    library takes there. Calls that are piecewise constant, or not smooth where they were made,
    do not count.
    """
    by_call: dict[str, set[str]] = {}
    for each in cells:
        if each["check"] == "gradient":
            by_call.setdefault(each["call"], set()).add(each["status"])
    counted = [found - {"unsupported"} for found in by_call.values()]
    counted = [found for found in counted if not found <= {"no gradient", "not smooth"}]
    return sum(found == {"right"} for found in counted), len(counted)


def report(
    library: str,
    cells: Sequence[dict[str, Any]],
    checks: Sequence[str],
    seconds: float,
    stale: Sequence[Any] = (),
    new: Sequence[dict[str, Any]] = (),
    stopped: bool = False,
) -> dict[str, Any]:
    """Return a certificate as plain data, which ``json`` can write.

    Parameters
    ----------
    library : str
        The module that is certified.
    cells : sequence of dict
        What was found, as ``cell`` returns it.
    checks : sequence of str
        The checks that were made.
    seconds : float
        How long it took.
    stale, new : sequence
        What a file of known gaps says too much, and what it does not say.
    stopped : bool
        Whether the run was stopped before its end.
    """
    backends = list(dict.fromkeys(each["backend"] for each in cells))
    right, total = verdict(cells)
    return {
        "format": FORMAT,
        "library": library,
        "version": _version(library),
        "right": right,
        "total": total,
        "certified": not (new or stale or stopped) and bool(cells),
        "stopped": stopped,
        "new": len(new),
        "known": sum("gap" in each for each in cells),
        "stale": [f"{gap.error.__name__} {gap.pattern}" for gap in stale],
        "counts": dict(Counter(each["status"] for each in cells)),
        "backends": {name: _library(name) for name in backends},
        "checks": {name: CHECKS[name] for name in checks},
        "statuses": STATUSES,
        "versions": dict(versions()),
        "seconds": round(seconds, 1),
        "cells": list(cells),
    }


def _version(library: str) -> str:
    root = library.partition(".")[0]
    for name in packages_distributions().get(root, [root]):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return library


def _library(name: str) -> str:
    try:
        return library_of(name)[0]
    except AgnogradError:
        return name


def page(found: dict[str, Any]) -> str:
    """Return a certificate as one page of HTML that needs nothing else."""
    return filled(files(__package__).joinpath("page.html").read_text(encoding="utf-8"), found)


def write(path: Path, text: str) -> None:
    """Write a file whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def badge(found: dict[str, Any]) -> tuple[str, str]:
    """Return what a badge says, and its colour."""
    right, total = found["right"], found["total"]
    share = right / total if total else 0.0
    colour = "#2e7d32" if total and right == total else "#b58100" if share >= 0.5 else "#b3261e"
    return f"{right}/{total}", colour


def write_badge(path: Path, found: dict[str, Any]) -> None:
    """Write a badge: an SVG picture, or what shields.io makes one of if the name ends in .json."""
    message, colour = badge(found)
    if path.suffix == ".json":
        told = {"schemaVersion": 1, "label": "differentiable", "message": message, "color": colour}
        write(path, json.dumps(told) + "\n")
    else:
        write(path, _svg("differentiable", message, colour))


def _svg(label: str, message: str, colour: str) -> str:
    left, right = 7 * len(label) + 10, 7 * len(message) + 12
    label, message = escape(label), escape(message)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" \
aria-label="{label}: {message}">
<title>{label}: {message}</title>
<clipPath id="round"><rect width="{left + right}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)">
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{left / 2}" y="14" textLength="{left - 12}">{label}</text>
<text x="{left + right / 2}" y="14" textLength="{right - 12}">{message}</text>
</g>
</svg>
"""
