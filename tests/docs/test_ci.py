"""The workflows run commands that there are, on backends that there are."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
PAGE = (ROOT / "docs" / "ci.md").read_text()
PROGRAM = Path(sys.executable).with_name("agnograd")


def test_commands_have_the_options_that_are_given():
    helped = {}
    for command in re.findall(r"run: agnograd (.+)", WORKFLOW + PAGE):
        name = command.split()[0]
        if name not in helped:
            helped[name] = subprocess.run(
                [PROGRAM, name, "--help"], capture_output=True, text=True, check=True
            ).stdout
        options = re.findall(r" (--?[a-z]+)", command)
        assert options
        for option in options:
            assert f"{option} " in helped[name]
    assert set(helped) == {"conformance", "scoreboard"}


def test_scripts_are_there_and_are_those_of_the_machine():
    run = (ROOT / ".ci" / "run").read_text()
    scripts = set(re.findall(r"run: (\.ci/\w+)", WORKFLOW))
    assert scripts == {".ci/run", ".ci/backend"}
    assert all((ROOT / script).stat().st_mode & 0o100 for script in scripts)
    assert ".ci/backend" in run


def test_every_backend_that_needs_no_device_is_run():
    (listed,) = re.findall(r"backend: \[(.+)\]", WORKFLOW)
    own = set(listed.split(", "))
    run = (ROOT / ".ci" / "run").read_text()
    assert all(name in run for name in own)
    assert own >= {"numpy", "strict", "torch", "jax", "dask"}
