"""Calls that tests declare, as pytest's items, and the certificate of a run of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agnograd as ag
from agnograd.errors import AgnogradError
from agnograd.testing.gaps import Gap, GapError, read_gaps
from agnograd_certify import _report
from agnograd_certify._calls import Differentiable
from agnograd_certify._findings import CHECKS
from agnograd_certify._gaps import against, cell_name, gap_of
from agnograd_certify._measure import Measured, available, chosen_checks

__all__ = ["Certificate", "DifferentiableItem", "Settings"]


class Settings:
    """What the options say, and the calls that were found."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        try:
            self.checks = chosen_checks(self._names("checks") or CHECKS)
            path = self.path("gaps")
            self.gaps: list[Gap] = [] if path is None else read_gaps(path)
            self.backends = self._names("backend") or available()
            for name in self.backends:
                ag.namespace(name)
        except (AgnogradError, GapError, OSError) as error:
            raise pytest.UsageError(f"--differentiable: {error}") from error
        self._calls: dict[str, Differentiable] = {}

    def _names(self, option: str) -> list[str]:
        given = self._config.getoption(f"differentiable_{option}") or ""
        return [each.strip() for each in given.split(",") if each.strip()]

    def path(self, option: str) -> Path | None:
        """Return the file that an option names."""
        given = self._config.getoption(f"differentiable_{option}")
        return None if given is None else Path(given)

    def items(self, collector: Any, name: str, obj: object) -> list[pytest.Item]:
        """Return an item for each call that an object declares, on each backend."""
        return [
            DifferentiableItem.from_parent(
                collector,
                name=f"{name}::{title}[{backend}]",
                call=call,
                title=title,
                backend=backend,
                settings=self,
            )
            for title, call in map(self._titled, _declared(obj))
            for backend in self.backends
        ]

    def _titled(self, call: Differentiable) -> tuple[str, Differentiable]:
        """Return a call's name, with a number if another call has it, too."""
        title, number = call.name, 1
        while self._calls.setdefault(title, call) is not call:
            number += 1
            title = f"{call.name} #{number}"
        return title, call


def _declared(obj: object) -> Iterator[Differentiable]:
    if isinstance(obj, Differentiable):
        yield obj
    elif isinstance(obj, list | tuple):
        if obj and all(isinstance(each, Differentiable) for each in obj):
            yield from obj
    elif callable(obj) and not isinstance(obj, type):
        found = getattr(obj, "_agnograd_differentiable", ())
        if isinstance(found, tuple):
            yield from found


class NotDifferentiable(Exception):  # noqa: N818 - a finding
    """What is bad of a call on a backend, and not a known gap."""


def _told(cell: dict[str, Any]) -> str:
    where = f"\n    at {cell['where']}" if cell["where"] else ""
    return f"{cell['status']}  {cell_name(cell)}\n    {cell['reason']}{where}"


class DifferentiableItem(pytest.Item):
    """All checks of a call on a backend."""

    def __init__(
        self,
        *,
        call: Differentiable,
        title: str,
        backend: str,
        settings: Settings,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._call, self._title, self._backend, self._settings = call, title, backend, settings
        self.certified: dict[str, Any] | None = None
        self.add_marker("differentiable")

    def runtest(self) -> None:
        """Measure, and fail for what is bad."""
        call, settings = self._call, self._settings
        if not hasattr(call, "_measured"):  # its differences serve all backends
            call._measured = Measured(call)  # type: ignore[attr-defined]
        found = call._measured.on(self._backend, settings.checks)  # type: ignore[attr-defined]
        cells = [
            _report.cell(self._title, self._backend, check, each) for check, each in found.items()
        ]
        self.certified = {"library": call.theirs[0], "cells": cells}
        bad = [cell for cell in cells if cell["bad"] and gap_of(settings.gaps, cell) is None]
        if bad:
            raise NotDifferentiable("\n".join(map(_told, bad)))
        gradient = found["gradient"]
        if gradient.status == "unsupported":
            pytest.skip(f"plain arrays of {self._backend} are not supported: {gradient.reason}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Return what is bad, and for any other exception its traceback."""
        if isinstance(excinfo.value, NotDifferentiable):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the call is declared."""
        return self.path, None, self.name


class Certificate:
    """What a run came to: a plugin of pytest's that collects results, and writes and says them."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._cells = settings, list[dict[str, Any]]()
        self._libraries: dict[str, None] = {}
        self._began = time.perf_counter()
        self._told: dict[str, Any] = {}
        self._written: list[Path] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note what came of a call."""
        found = getattr(report, "agnograd_certify", None)
        if found is not None:
            self._cells += found["cells"]
            self._libraries[found["library"]] = None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files; known gaps that are none any more fail the run."""
        settings, seconds = self._settings, time.perf_counter() - self._began
        new, stale = against(settings.gaps, self._cells, whole=False)
        library = ", ".join(self._libraries)
        found = _report.report(library, self._cells, settings.checks, seconds, stale, new)
        self._told = found
        paths = {kind: settings.path(kind) for kind in ("html", "json", "badge")}
        self._written = [*_report.written(found, paths)]
        if stale and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the figures."""
        if not self._told:
            return
        terminalreporter.section("differentiable")
        for line in self._told["stale"]:
            terminalreporter.line(f"stale  {line}", red=True)
        terminalreporter.line(_report.summary(self._told, self._settings.backends))
        for path in self._written:
            terminalreporter.line(f"written: {path}")
