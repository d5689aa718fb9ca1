"""The pytest plugin: the options of the suite, its collection and its reports.

``pytest --pyargs agnograd.testing.conformance --agnograd-backend=NAME`` runs the suite.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agnograd_conformance._reporter import Reporter

__all__: list[str] = []

FOLDER = Path(__file__).parent
# The suite itself, and all of agnograd, is imported when it is asked for: every run of pytest in
# an environment with agnograd loads this module.


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("agnograd", "agnograd's conformance suite")
    add = group.addoption
    flag = functools.partial(add, action="store_true")
    add(
        "--agnograd-backend",
        metavar="NAME",
        help="the backend to check (default: $AGNOGRAD_BACKEND, or numpy)",
    )
    add(
        "--agnograd-ops",
        metavar="PATTERN",
        action="append",
        help="check only these ops: a name, or a pattern such as 'linalg.*'; may be repeated",
    )
    add(
        "--agnograd-checks",
        metavar="PATTERN",
        action="append",
        help="run only these checks; may be repeated",
    )
    flag("--agnograd-quick", help="two samples of each dtype of an op, in double precision")
    flag("--agnograd-double", help="every sample, only in double precision")
    add(
        "--agnograd-few",
        metavar="PATTERN",
        action="append",
        help="checks that take only the samples of --agnograd-quick; may be repeated",
    )
    add(
        "--agnograd-lowering",
        metavar="NAME",
        default="auto",
        help="how compiled programs run in the check `compiled` (default: auto)",
    )
    add("--agnograd-gaps", metavar="FILE", help="known gaps of the library, with reasons")
    add(
        "--agnograd-explore",
        metavar="N",
        type=int,
        default=0,
        help="draw N new arrays for each sample, at random; what fails is printed, not graded",
    )
    add("--agnograd-json", metavar="FILE", help="write a report as JSON")
    add("--agnograd-html", metavar="FILE", help="write a report as a page")


def pytest_configure(config: pytest.Config) -> None:
    """Listen to results, where they come together."""
    if not hasattr(config, "workerinput"):  # pytest-xdist's workers report to one process
        config.pluginmanager.register(_Listener(config), "agnograd-conformance")


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the suite where its own folder is asked for."""
    if path != FOLDER:
        return None
    from agnograd_conformance._items import Suite

    suite: Suite = Suite.from_parent(parent, path=path)
    return suite


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Send what came of an item along with pytest's own report."""
    report = yield
    found = getattr(item, "result", None)
    if report.when == "call" and isinstance(found, dict):
        report.agnograd = found
    return report


class _Listener:
    """Passes results on to a reporter, which is made for the first one."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reporter: Reporter | None = None
        self._error: str | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why the suite cannot begin: the report says so."""
        text = str(report.longrepr) if report.failed else ""
        if text.startswith("agnograd conformance: "):
            self._error = text
            if any(self._config.getoption(f"agnograd_{kind}") for kind in ("json", "html")):
                self._begin(0)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin, if there is anything of the suite to run."""
        total = sum(
            type(item).__module__ == "agnograd_conformance._items" for item in session.items
        )
        if total:
            self._begin(total)

    def _begin(self, total: int | None) -> Reporter:
        from agnograd_conformance._reporter import Reporter

        if self._reporter is None:
            self._reporter = Reporter(self._config, total)
        return self._reporter

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note what runs."""
        if self._reporter is not None:
            self._reporter.runs(nodeid, True)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note what does not run any more."""
        if self._reporter is not None:
            self._reporter.runs(nodeid, False)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a result."""
        found = getattr(report, "agnograd", None)
        if found is not None:
            self._begin(None).note(found)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Leave the terminal to the progress bar, if there is one."""
        if self._reporter is None or not self._reporter.has_bar or not hasattr(report, "agnograd"):
            return None
        return report.outcome, "", ""

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the files that were asked for, also when the run was stopped."""
        if self._reporter is None:
            return
        stopped = session.shouldstop or session.shouldfail
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            stopped = stopped or f"pytest ended with exit status {int(exitstatus)}"
        self._reporter.finish(self._error or (str(stopped) if stopped else None))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the summary."""
        if self._reporter is not None:
            self._reporter.summarise(terminalreporter)
