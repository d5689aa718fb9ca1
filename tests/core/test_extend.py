"""What authors of rules, backends and plugins import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import agnograd as ag
import agnograd.extend.arguments
import agnograd.extend.entry_points
import agnograd.extend.members
import agnograd.extend.transforms
from agnograd import extend


def test_what_few_need_is_loaded_when_it_is_asked_for():
    code = """
import sys
import agnograd.extend

few = {"agnograd.testing._samples", "agnograd._plugins.bridges", "agnograd._plugins.keywords"}
assert not few & set(sys.modules)
assert dir(agnograd.extend) == sorted(agnograd.extend.__all__)
from agnograd.extend import *
assert few <= set(sys.modules)
assert all(name in globals() for name in agnograd.extend.__all__)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_name_that_there_is_not_is_an_error():
    with pytest.raises(AttributeError, match=r"'agnograd\.extend' has no attribute 'Smaple'"):
        extend.Smaple  # noqa: B018


def test_operands_become_arrays_that_meet(xp):
    x = xp.asarray([1.5, 2.5], dtype=xp.float64)
    for given in ([x, 0.1, [1.0, 2.0]], [0.1, x.data, 3]):
        found = extend.operands(xp, given)
        assert all(isinstance(each, ag.Variable) for each in found)
        assert all(each.dtype == xp.float64 and each.device == x.device for each in found[:2])
        assert 0.1 in [each.item() for each in found if not each.shape]
    variable = ag.Variable(x.data, requires_grad=True)
    assert extend.operands(xp, [variable, 2])[0] is variable


def test_plugins_need_what_transformations_are_written_with():
    modules = extend.arguments, extend.entry_points, extend.members, extend.transforms
    names = {(module.__name__, name) for module in modules for name in module.__all__}
    for path in (Path(__file__).parents[2] / "plugins").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names -= {(node.module, each.name) for each in node.names}
    assert not names
