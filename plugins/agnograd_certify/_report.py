"""A certificate as data: what was found, the verdict, and the badge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from agnograd.errors import AgnogradError
from agnograd.extend import library_of, versions
from agnograd.testing.page import page, write
from agnograd_certify._findings import CHECKS, STATUSES, Finding

__all__ = ["cell", "report", "summary", "verdict", "written"]

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

    ``stale`` is what a file of known gaps says too much, and ``new`` what it does not say.
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
        "stale": list(map(str, stale)),
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


def summary(found: dict[str, Any], backends: Iterable[str]) -> str:
    """Return the figures of a certificate in one line."""
    return (
        f"{found['right']} of {found['total']} calls are differentiable on {', '.join(backends)}; "
        f"{found['new']} new findings, {found['known']} known gaps, {len(found['stale'])} stale"
    )


def written(found: dict[str, Any], paths: Mapping[str, Path | None]) -> Iterator[Path]:
    """Write a certificate as a page, JSON and a badge where a path is given; yield these paths.

    A badge is an SVG picture, or what shields.io makes one of if its name ends in .json.
    """
    for kind, path in paths.items():
        if path is None:
            continue
        if kind == "html":
            text = page("agnograd_certify", found)
        elif kind == "json":
            text = json.dumps(found, indent=1) + "\n"
        else:
            text = _badge(found, path.suffix == ".json")
        write(path, text)
        yield path


def _badge(found: dict[str, Any], as_json: bool) -> str:
    right, total = found["right"], found["total"]
    share = right / total if total else 0.0
    colour = "#2e7d32" if total and right == total else "#b58100" if share >= 0.5 else "#b3261e"
    label, message = "differentiable", f"{right}/{total}"
    if not as_json:
        return _svg(label, message, colour)
    told = {"schemaVersion": 1, "label": label, "message": message, "color": colour}
    return json.dumps(told) + "\n"


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
