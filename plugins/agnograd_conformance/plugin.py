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
    add = functools.partial(group.addoption, metavar="NAME")
    add("--agnograd-backend", help="the backend to check (default: $AGNOGRAD_BACKEND, or numpy)")
    add(
        "--agnograd-lowering",
        default="auto",
        help="how compiled programs run in the check `compiled` (default: auto)",
    )
    for name, text in (
        ("ops", "check only these ops: a name, or a pattern such as 'linalg.*'"),
        ("checks", "run only these checks"),
        ("few", "checks that take only the samples of --agnograd-quick"),
    ):
        text += "; may be repeated"
        add(f"--agnograd-{name}", metavar="PATTERN", action="append", default=[], help=text)
    for name, text in (
        ("quick", "two samples of each dtype of an op, in double precision"),
        ("double", "every sample, only in double precision"),
    ):
        group.addoption(f"--agnograd-{name}", action="store_true", help=text)
    for name, text in (
        ("gaps", "known gaps of the library, with reasons"),
        ("json", "write a report as JSON"),
        ("html", "write a report as a page"),
    ):
        add(f"--agnograd-{name}", metavar="FILE", help=text)
    text = "draw N new arrays for each sample, at random; what fails is printed, not graded"
    add("--agnograd-explore", metavar="N", type=int, default=0, help=text)


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
    """Makes a reporter when there is something to report, and registers it as a plugin."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reporter: Reporter | None = None

    def _begin(self, total: int | None) -> Reporter:
        from agnograd_conformance._reporter import Reporter

        if self._reporter is None:
            self._reporter = Reporter(self._config, total)
            self._config.pluginmanager.register(self._reporter, "agnograd-conformance-reporter")
        return self._reporter

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why the suite cannot begin: the report says so."""
        text = str(report.longrepr) if report.failed else ""
        if text.startswith("agnograd conformance: ") and any(
            self._config.getoption(f"agnograd_{kind}") for kind in ("json", "html")
        ):
            self._begin(0).error = text

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin, if there is anything of the suite to run."""
        total = sum(
            type(item).__module__ == "agnograd_conformance._items" for item in session.items
        )
        if total:
            self._begin(total)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a result; in pytest-xdist's main process the first one makes the reporter."""
        found = getattr(report, "agnograd", None)
        if found is not None:
            self._begin(None).note(found)
