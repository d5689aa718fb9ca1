"""Every Python block of README, CONTRIBUTING and docs runs, and every doctest holds."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import agnograd
import agnograd_nan
import agnograd_numpy
import agnograd_strict
import agnograd_timer

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
    if "```python\n" in page.read_text()
]
PACKAGES = (agnograd, agnograd_nan, agnograd_numpy, agnograd_strict, agnograd_timer)
MODULES = [
    name
    for package in PACKAGES
    for name in (
        package.__name__,
        *(info.name for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".")),
    )
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_from_top_to_bottom(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    scope = {"__name__": "page"}
    for block in BLOCK.finditer(text):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(page), "exec"), scope)


@pytest.mark.parametrize("name", MODULES)
def test_doctests_hold(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not failed


def test_there_are_pages_and_doctests():
    assert len(PAGES) >= 6
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert sum(bool(t.examples) for n in MODULES for t in finder.find(importlib.import_module(n)))


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")) + sorted(ROOT.glob("*.md")))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target
