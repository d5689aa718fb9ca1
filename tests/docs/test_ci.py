"""The workflows run commands that there are, on backends that there are."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKFLOWS = {path.name: path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")}
WORKFLOW = WORKFLOWS["ci.yml"]
RUN = (ROOT / ".ci" / "run").read_text()
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


def test_actions_are_pinned_to_commits():
    used = re.findall(r"uses: (\S+)(.*)", "".join(WORKFLOWS.values()) + PAGE)
    assert len(used) > 20
    for action, comment in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    assert len({action.partition("@")[0] for action, _ in used}) == len(set(used))


def test_scripts_are_there_and_are_those_of_the_machine():
    job = (ROOT / ".ci" / "job").read_text()
    scripts = set(re.findall(r"run: (\.ci/\w+)", WORKFLOW))
    assert scripts == {".ci/run", ".ci/backend", ".ci/stranger"}
    assert all((ROOT / script).stat().st_mode & 0o100 for script in scripts)
    assert ".ci/backend" in job
    assert ".ci/stranger" in job


def test_every_backend_that_needs_no_device_is_run():
    (listed,) = re.findall(r"backend: \[(.+)\]", WORKFLOW)
    own = set(listed.split(", "))
    assert set(jobs("backend")) == own
    assert own >= {"numpy", "strict", "torch", "jax", "dask"}


def test_every_strangers_backend_is_run():
    (listed,) = re.findall(r"library: \[(.+)\]", WORKFLOW)
    folders = {path.parent.name for path in (ROOT / "examples/backends").glob("*/pyproject.toml")}
    assert set(listed.split(", ")) == folders
    assert set(jobs("stranger")) == folders


def test_there_is_a_function_for_every_job():
    text = (ROOT / ".ci" / "job").read_text()
    functions = set(re.findall(r"^([\w-]+)\(\)", text, flags=re.MULTILINE))
    named = {job for job in jobs() if not job.startswith(("backend-", "stranger-"))}
    named |= {"backend", "stranger", "environment-test", "environment-libraries"}
    assert functions >= named


def jobs(kind=None):
    """Return the jobs of `.ci/run`, or those of a kind without it."""
    (listed,) = re.findall(r"^jobs=\((.+?)^\)", RUN, flags=re.DOTALL | re.MULTILINE)
    (in_turn,) = re.findall(r"^turns=\((.+)\)$", RUN, flags=re.MULTILINE)
    every = listed.split() + in_turn.replace('"', "").split()
    return (
        every if kind is None else [j.partition("-")[2] for j in every if j.startswith(f"{kind}-")]
    )
