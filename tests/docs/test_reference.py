"""The reference has every public name; what else may be broken is found by building the site."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from agnograd._plugins.entry_points import PLUGINS, installed

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
LISTED = re.compile(
    r"^\.\. (?:auto)?(?:class|data|decorator|exception|function):: (\w+)", re.MULTILINE
)


@pytest.mark.parametrize(
    "module",
    [
        *("agnograd", "agnograd.extend", "agnograd.extend.arguments"),
        *("agnograd.extend.entry_points", "agnograd.extend.members", "agnograd.extend.transforms"),
        *("agnograd_compile.lowering", "agnograd_engines"),
    ],
)
def test_a_page_that_is_sorted_by_topic_lists_what_there_is(module):
    name = module.rpartition(".")[2].removeprefix("agnograd_")
    page = (REFERENCE / f"{name}.md").read_text()
    listed = LISTED.findall(page)
    found = importlib.import_module(module)
    submodules = {name for name in found.__all__ if inspect.ismodule(getattr(found, name))}
    assert len(listed) == len(set(listed))
    assert set(listed) == set(found.__all__) - submodules
    assert all(f"[`ag.{name}`]({name}.md)" in page for name in submodules)


def test_every_built_in_plugin_is_there():
    page = (REFERENCE / "plugins.md").read_text()
    built_in = {
        entry.value.partition(":")[0]
        for entry in installed(PLUGINS).values()
        if entry.distribution == "agnograd"
    }
    assert set(re.findall(r"automodule:: (\w+)", page)) == built_in
