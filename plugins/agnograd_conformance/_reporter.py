"""Reports of a run: a bar while it goes on, a summary, and files."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agnograd.testing.page import page, write
from agnograd_conformance._items import selection_of
from agnograd_conformance._journal import Journal
from agnograd_conformance._report import counts, report

__all__ = ["Reporter"]


class Reporter:
    """A plugin of pytest's that collects results, and reports them.

    ``total`` is the number of items, if it is known. There is a bar on a terminal, unless every
    item is to be listed. ``error`` is why the suite cannot begin.
    """

    def __init__(self, config: pytest.Config, total: int | None) -> None:
        self._selection = selection_of(config)
        self._results: list[dict[str, Any]] = []
        self._failing = 0
        self._start = time.perf_counter()
        self.error: str | None = None
        targets = {kind: config.getoption(f"agnograd_{kind}") for kind in ("json", "html")}
        self._targets = {kind: Path(path) for kind, path in targets.items() if path is not None}
        self._journal: Journal | None = None
        if "json" in self._targets:
            self._journal = Journal(self._targets["json"], report(self._selection, [], 0.0))
        self._bar: Any = None
        if sys.stdout.isatty() and config.get_verbosity() < 1:
            self._bar, self._task = _bar(self._selection.backend, total)

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

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note what runs."""
        if self._journal is not None:
            self._journal.start(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note what does not run any more."""
        if self._journal is not None:
            self._journal.stop(nodeid)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Leave the terminal to the progress bar, if there is one."""
        if self._bar is None or not hasattr(report, "agnograd"):
            return None
        return report.outcome, "", ""

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Take the bar away, and write the files, also when the run was stopped."""
        stopped = self.error or session.shouldstop or session.shouldfail
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            stopped = stopped or f"pytest ended with exit status {int(exitstatus)}"
        if self._bar is not None:
            self._bar.stop()
        if self._journal is not None:
            self._journal.close()
        seconds, unfinished = time.perf_counter() - self._start, str(stopped) if stopped else None
        self._report = report(self._selection, self._results, seconds, unfinished)
        if "json" in self._targets:
            write(self._targets["json"], json.dumps(self._report) + "\n")
        if "html" in self._targets:
            write(self._targets["html"], page("agnograd_conformance", [self._report]))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what was found by op and check, and the figures."""
        terminal = terminalreporter
        terminal.section("agnograd conformance")
        failed: Counter[tuple[str, str]] = Counter()
        for each in self._results:
            failed[each["op"], each["check"]] += len(each["failed"])
        for (op, check), number in sorted((+failed).items()):
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
        for path in self._targets.values():
            terminal.line(f"written: {path}")

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
