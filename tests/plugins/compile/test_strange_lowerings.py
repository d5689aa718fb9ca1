"""Lowerings of other distributions, which do not do what lowerings do."""

import os
import subprocess
import sys

import pytest

MODULE = """
from agnograd_compile.lowering import Lowering, straight


class Strange(Lowering):
    preference = {preference}

    def lower(self, program):
        {body}


strange = Strange()
"""
PROGRAM = """
import warnings
import numpy as np
import agnograd as ag
xp = ag.namespace("numpy")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        print(ag.compile(lambda x: xp.exp(x) * 2.0{options})(np.zeros(2)).tolist())
    except ag.errors.AgnogradError as error:
        print(type(error).__name__, error)
print(*[each.message for each in caught])
"""


def run(folder, preference, body, options=""):
    (folder / "others.py").write_text(MODULE.format(preference=preference, body=body))
    info = folder / "others-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("[agnograd.lowerings]\nnumpy.strange = others:strange\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(options=options)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )
    return done.stdout


def test_a_sound_one_is_taken(tmp_path):
    body = "return lambda arrays: [each * 0.0 for each in straight(program)(arrays)]"
    assert run(tmp_path, 99, body) == "[0.0, 0.0]\n\n"


@pytest.mark.parametrize("preference", ["'high'", "None", "True", "2.5"])
def test_a_wrong_preference_leaves_it_out_and_names_it(tmp_path, preference):
    said = run(tmp_path, preference, "raise ValueError")
    assert said.startswith("[2.0, 2.0]\n")
    assert f"numpy.strange of others 1.5 has preference {preference}, which must be" in said


@pytest.mark.parametrize("options", ["", ", lowering='strange'"])
def test_one_that_fails_is_named(tmp_path, options):
    said = run(tmp_path, 99, "return program.no_such_thing", options)
    assert said.startswith("PluginError the lowering numpy.strange (others.Strange) fails: ")
    assert "AttributeError: 'TracedProgram' object has no attribute 'no_such_thing'" in said
    assert 'lowering="plain"' in said


def test_another_one_can_be_had(tmp_path):
    said = run(tmp_path, 99, "raise ValueError", ", lowering='plain'")
    assert said == "[2.0, 2.0]\n\n"
