"""Reports of a run: a bar while it goes on, a summary, and files."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agnograd_conformance._items import selection_of
from agnograd_conformance._journal import Journal
from agnograd_conformance._page import page
from agnograd_conformance._report import counts, report

__all__ = ["Reporter"]


class Reporter:
    """Collects results, and reports them.

    Parameters
    ----------
    config : pytest.Config
        The options.
    total : int or None
        The number of items, if it is known.
    """

    def __init__(self, config: pytest.Config, total: int | None) -> None:
        self._config = config
        self._selection = selection_of(config)
        self._results: list[dict[str, Any]] = []
        self._failing = 0
        self._start = time.perf_counter()
        target = config.getoption("agnograd_json")
        self._journal = (
            None if target is None else Journal(Path(target), report(self._selection, [], 0.0))
        )
        self._bar: Any = None
        if sys.stdout.isatty() and config.get_verbosity() < 1:
            self._bar, self._task = _bar(self._selection.backend, total)

    @property
    def has_bar(self) -> bool:
        """Whether there is a bar: on a terminal, unless every item is to be listed."""
        return self._bar is not None

    def note(self, found: dict[str, Any]) -> None:
        """Note what came of an item."""
        self._results.append(found)
        if self._journal is not None:
            self._journal.note(found)
        self._failing += bool(found["failed"])
        if self._bar is not None:
            failing = f", {self._failing} fail" if self._failing else ""
            what = f"{found['op']}: {found['check']}{failing}"
            self._bar.update(self._task, advance=1, what=what)

    def runs(self, name: str, now: bool) -> None:
        """Note that an item runs now, or does not any more."""
        if self._journal is not None:
            (self._journal.start if now else self._journal.stop)(name)

    def finish(self, unfinished: str | None = None) -> None:
        """Take the bar away, and write the files; say why the run has not come to its end."""
        if self._bar is not None:
            self._bar.stop()
        if self._journal is not None:
            self._journal.close()
        seconds = time.perf_counter() - self._start
        self._report = report(self._selection, self._results, seconds, unfinished)
        target = self._config.getoption("agnograd_json")
        if target is not None:
            _write(target, json.dumps(self._report) + "\n")
        target = self._config.getoption("agnograd_html")
        if target is not None:
            _write(target, page([self._report]))

    def summarise(self, terminal: Any) -> None:
        """Print what was found by op and check, and the figures."""
        terminal.section("agnograd conformance")
        failed: dict[tuple[str, str], int] = {}
        for each in self._results:
            if each["failed"]:
                key = each["op"], each["check"]
                failed[key] = failed.get(key, 0) + len(each["failed"])
        for (op, check), number in sorted(failed.items()):
            terminal.line(f"{op}: {check} fails on {number} samples", red=True)
        if self._selection.explore:
            self._explored(terminal)
        for op in self._report["unsampled"]:
            terminal.line(f"{op}: not checked: it has a rule and no samples", yellow=True)
        total = counts(self._results)
        terminal.line(
            f"{self._report['library']}: {len(self._report['ops'])} ops; {total['passed']} checks "
            f"of samples passed, {total['failed']} failed, {total['gaps']} known gaps, "
            f"{total['skipped']} do not apply"
        )
        for name in ("json", "html"):
            target = self._config.getoption(f"agnograd_{name}")
            if target is not None:
                terminal.line(f"written: {target}")

    def _explored(self, terminal: Any) -> None:
        """Print the first failure of each cell that was explored, as a script."""
        for each in self._results:
            for found in each["failed"][:1]:
                terminal.line(f"\n{found['sample']} fails {each['check']}: {found['message']}")
                terminal.line(found["code"])


def _bar(backend: str, total: int | None) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn(backend),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}", markup=False),
        console=Console(file=sys.__stdout__),
        transient=True,
    )
    task = bar.add_task(backend, total=total, what="")
    bar.start()
    return bar, task


def _write(target: str, text: str) -> None:
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
