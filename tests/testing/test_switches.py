"""Switches: where they are listed, and how the environment sets them."""

import importlib
import os
import subprocess
import sys
from collections import Counter

import pytest

from agnograd._util.switches import MODE, mode_of
from agnograd.testing import Switch, with_switches
from agnograd.testing import switches as of_every_module


def switches():
    """Return those of agnograd: other tests may have defined more."""
    return [each for each in of_every_module() if each.module.startswith("agnograd")]


def python(code, mode):
    environment = {**os.environ, "AGNOGRAD_SWITCHES": mode}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )


def values(mode, *modules):
    """Return all switches and their values in a process that imports some modules first."""
    code = "".join(f"import {module}; " for module in modules)
    code += (
        "import agnograd.testing as t; print({(s.module, s.name): s.value for s in t.switches()})"
    )
    done = python(code, mode)
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


def test_a_switch_is_a_plain_number_of_its_module():
    found = switches()
    assert len(found) > 100
    for each in found:
        assert getattr(importlib.import_module(each.module), each.name) == each.value, each
        assert type(each.value) is type(each.default) is type(each.least) is type(each.most), each
        assert each.least <= each.default <= each.most, each
        assert each.least < each.most, each


def test_names_tell_switches_apart():
    assert not {name for name, n in Counter(each.name for each in switches()).items() if n > 1}


def test_switches_of_modules_that_nothing_imports_are_listed():
    found = {each.name: each for each in switches()}
    few = found["FEW_PASSES"]
    assert few[:5] == ("FEW_PASSES", "agnograd._transforms.jacobian", 16, 0, 2**62)
    assert {"LARGE_ARRAY", "C_ARRAYS", "HALF_WINDOW", "SPARSE_ELEMENTS"} <= set(found)


def test_a_mode_sets_all_to_their_least_or_most():
    found = {(each.module, each.name): each for each in switches()}
    for side in ("least", "most"):
        assert values(side) == {key: getattr(each, side) for key, each in found.items()}


@pytest.mark.slow
def test_what_is_drawn_depends_on_the_seed_and_not_on_the_order_of_imports():
    found = {(each.module, each.name): each for each in switches()}
    drawn = values("random:1")
    assert drawn == values("1", "agnograd_numpy._blocks", "agnograd_sparse._colouring")
    assert all(found[key].least <= value <= found[key].most for key, value in drawn.items())
    other = values("random:2")
    assert sum(other[key] != value for key, value in drawn.items()) > 20
    between = [k for k, v in drawn.items() if v not in (found[k].least, found[k].most)]
    assert len(between) > 20


@pytest.mark.slow
def test_single_switches_are_set_by_name():
    few = ("agnograd._transforms.jacobian", "FEW_PASSES")
    assert values("FEW_PASSES=3")[few] == 3
    found = values("least, FEW_PASSES=3")
    assert (found[few], found["agnograd_compile._compiled", "PROGRAMS"]) == (3, 1)


@pytest.mark.parametrize("text", ["fewest", "random:", "random:x", "least,most", "FEW=many", "1.5"])
def test_a_mode_without_meaning_raises(text):
    with pytest.raises(ValueError, match="AGNOGRAD_SWITCHES="):
        mode_of(text)
    done = python("import agnograd; agnograd.namespace('numpy')", text)
    assert done.returncode == 1
    assert "ValueError: AGNOGRAD_SWITCHES=" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FEW_PASSES=-1", "FEW_PASSES is at least 0 and at most"),
        ("FEW_PASS=1", "no switch has the name FEW_PASS"),
    ],
)
def test_a_number_that_a_switch_cannot_have_raises(text, message):
    done = python("import agnograd.testing as t; t.switches()", text)
    assert done.returncode == 1
    assert message in done.stderr


def test_numbers_are_the_defaults_without_the_variable():
    done = values("")
    assert {(each.module, each.name): each.default for each in switches()} == done


def test_the_mode_is_what_the_variable_says():
    assert mode_of(os.environ.get("AGNOGRAD_SWITCHES", "")) == MODE
    assert isinstance(switches()[0], Switch)


def test_the_environment_of_a_process_with_switches():
    found = with_switches("least,FEW_PASSES=4")
    assert found == {**os.environ, "AGNOGRAD_SWITCHES": "least,FEW_PASSES=4"}
    with pytest.raises(ValueError, match="'leest' is not 'least', 'most', 'random:SEED'"):
        with_switches("leest")


def test_jacobians_are_the_same_in_each_mode():
    code = """
import agnograd as ag, numpy as np
xp = ag.namespace('numpy')
f = ag.compile(lambda x: xp.sum(x[1:] * x[:-1]) * xp.tanh(x))
print(*np.round(ag.jacobian(f)(np.linspace(1.0, 2.0, 20)).ravel(), 9))
"""
    outputs = {python(code, mode).stdout for mode in ("", "least", "most", "random:5")}
    assert len(outputs) == 1
    assert outputs != {""}
