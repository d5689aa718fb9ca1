"""The benchmark of convolutional networks, as a user runs it, on small ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import agnograd as ag

EXAMPLE = Path(__file__).parents[2] / "examples" / "convnets.py"


def run(*arguments, check=True):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), *arguments],
        capture_output=True,
        text=True,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def loss(*arguments):
    """Run one iteration on a small network, and return its loss."""
    small = ("--small", "--batch", "1", "--warm-up", "0", "--iterations", "1")
    said = run(*small, *arguments).stdout
    assert re.search(r"^forward: +[\d.]+ ms\nbackward: +[\d.]+ ms\ntotal: +[\d.]+ ms$", said, re.M)
    return float(re.search(r"loss ([\d.]+)\n", said)[1])


@pytest.mark.parametrize("arch", ["alexnet", "overfeat", "vgga", "googlenet"])
def test_every_network_runs(arch):
    assert 1.0 < loss("--arch", arch) < 100.0


def test_every_backend_has_the_same_loss(backend):
    assert loss("--backend", backend) == pytest.approx(loss(), rel=1e-3)


def test_times_by_op():
    said = run("--small", "--batch", "1", "--iterations", "1", "--ops").stdout
    assert re.search(r"^ *nn\.conv2d +5 ", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--backend", "nunpy"),
            f"no backend is named 'nunpy'; installed: {', '.join(ag.backends())}; "
            "did you mean 'numpy'?",
        ),
        (("--batch", "0"), "--batch and --iterations must be positive, and --warm-up not negative"),
    ],
)
def test_what_cannot_run_is_answered_in_a_line(arguments, message):
    done = run(*arguments, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == message
