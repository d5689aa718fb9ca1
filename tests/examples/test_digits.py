"""The digits example, as a user runs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import agnograd as ag

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits.py"


def run(*arguments, check=True):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), *arguments],
        capture_output=True,
        text=True,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def accuracy(done):
    return float(re.search(r"test accuracy: ([\d.]+)%", done.stdout)[1])


def test_it_learns_to_read_digits():
    assert accuracy(run()) >= 97.0


@pytest.mark.slow
def test_one_epoch_with_hooks_and_a_plot(tmp_path):
    path = tmp_path / "loss.png"
    done = run("--epochs", "1", "--hooks", "nan,timer,memory", "--plot", str(path))
    assert accuracy(done) > 50.0
    assert re.search(r"^ *matmul +\d+ ", done.stdout, re.MULTILINE)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "1/1" in done.stderr


@pytest.mark.slow
def test_one_epoch_on_another_backend(backend):
    assert accuracy(run("--epochs", "1", "--backend", backend)) > 50.0
    assert accuracy(run("--epochs", "1", "--backend", backend, "--compile")) > 50.0


@pytest.mark.slow
def test_compiled_it_learns_the_same():
    said = [run("--epochs", "2", *given) for given in ((), ("--compile",))]
    losses = [re.findall(r"loss=([\d.]+)", each.stderr)[-1] for each in said]
    assert losses[0] == losses[1]
    assert accuracy(said[0]) == accuracy(said[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--backend", "nunpy"),
            f"no backend is named 'nunpy'; installed: {', '.join(ag.backends())}; "
            "did you mean 'numpy'?",
        ),
        (
            ("--hooks", "nam"),
            f"no plugin is named 'nam'; installed: {', '.join(ag.plugins())}; did you mean 'nan'?",
        ),
    ],
)
def test_unknown_names_are_answered_in_a_line(arguments, message):
    done = run(*arguments, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == message
