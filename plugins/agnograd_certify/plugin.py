"""The pytest plugin: ``pytest --differentiable`` certifies the calls that tests declare.

Without this option it does nothing, and imports nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

__all__: list[str] = []

MARKER = "differentiable: certifies that a call is differentiable; see --differentiable"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("differentiable", "certificates of differentiability")
    group.addoption(
        "--differentiable",
        action="store_true",
        help="also certify the calls that tests declare with agnograd_certify.differentiable",
    )
    for name, metavar, text in (
        (
            "backend",
            "NAMES",
            "backends, with commas between (default: all that are installed)",
        ),
        ("checks", "NAMES", "checks, with commas between (default: all)"),
        ("gaps", "FILE", "known gaps, with reasons"),
        ("html", "FILE", "write the certificate as a page"),
        ("json", "FILE", "write it as JSON"),
        ("badge", "FILE", "write a badge"),
    ):
        group.addoption(f"--differentiable-{name}", metavar=metavar, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and listen to results where they come together."""
    config.addinivalue_line("markers", MARKER)
    if config.getoption("differentiable"):
        from agnograd_certify._items import Certificate, Settings

        settings = config.stash[SETTINGS] = Settings(config)
        if not hasattr(config, "workerinput"):  # pytest-xdist's workers report to one process
            config.pluginmanager.register(Certificate(settings), "agnograd-certify")


SETTINGS: pytest.StashKey[Any] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Generator[None, Any, Any]:
    """Collect the calls of tables, and of decorated tests, beside what pytest collects."""
    found = yield
    if not collector.config.getoption("differentiable"):
        return found
    more = collector.config.stash[SETTINGS].items(collector, name, obj)
    if not more:
        return found
    usual = [] if found is None else found if isinstance(found, list) else [found]
    return [*usual, *more]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Send what came of a call along with pytest's own report."""
    report = yield
    found = getattr(item, "certified", None)
    if report.when == "call" and isinstance(found, dict):
        report.agnograd_certify = found
    return report
