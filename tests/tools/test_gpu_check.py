"""The check on a GPU, as far as it goes without one; a whole run of it takes minutes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "gpu_check.sh"


def run(*arguments):
    # Its environment names this Python, which has what the script looks for.
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"},
    )


def test_its_syntax():
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)


def test_a_dry_run_says_what_would_run():
    done = run("--backend", "numpy", "--dry-run")
    assert done.returncode == 0, done.stderr
    commands = [line for line in done.stdout.splitlines() if line.startswith("+ ")]
    assert len(commands) == 10  # everything is installed already
    assert all(re.search("--(agnograd-)?backend[ =]numpy", command) for command in commands)
    named = {word for line in commands for word in line.split() if word.startswith("tests/")}
    assert {"tests/plugins", "tests/core/test_moving.py"} <= named
    assert all((ROOT / path.partition("::")[0]).exists() for path in named)


def test_it_runs_what_is_checked_on_every_backend():
    checked = named_in((ROOT / ".ci" / "backend").read_text())
    for word in ("tests/backends", "tests/plugins"):  # there is more than the backend's own
        checked = {each for each in checked if not each.startswith(word)} | {word}
    out = run("--backend", "torch", "--dry-run").stdout
    assert all(word in out for word in checked), checked


def named_in(text):
    """Return the tests and examples that a script names."""
    return {each for each in re.findall(r"(?:tests|examples)/[\w/:.]+", text) if "gaps" not in each}


def test_every_backend_has_the_tests_that_it_names():
    done = run("--dry-run")
    assert "tests/backends/test_cupy.py" in done.stdout
    assert (ROOT / "tests" / "backends" / "test_cupy.py").exists()


@pytest.mark.parametrize("arguments", [["--bakcend", "cupy"], ["--backend"]])
def test_unknown_options_are_answered(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr
