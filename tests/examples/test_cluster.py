"""The example on a cluster of processes, all of which have less memory than the array takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask's cluster: pip install 'agnograd[cluster]'")
EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster.py"


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments], capture_output=True, text=True
    )


def found(done):
    assert done.returncode == 0, done.stderr
    losses = [float(number) for number in re.findall(r"loss ([\d.]+)", done.stdout)]
    error = re.search(r"largest error of a coefficient: ([\d.]+)", done.stdout)
    spilled = re.search(r"spilled: ([\d.]+ \w+);", done.stdout)
    return losses, float(error[1]), spilled[1]


def test_it_fits_what_all_workers_together_could_not_hold_and_spills_nothing():
    sizes = ["--workers", "1", "--memory", "256 MiB", "--size", "1 GiB", "--chunk", "8 MiB"]
    done = run(*sizes, "--steps", "1", "--rate", "2.6")
    losses, error, spilled = found(done)
    assert "1.00 GiB in 128 chunks; 1 workers of 256.00 MiB" in done.stdout
    assert len(losses) == 1
    assert error < 0.2
    assert spilled == "0 B"


@pytest.mark.slow
def test_it_converges():
    sizes = ["--memory", "256 MiB", "--size", "600 MiB", "--chunk", "8 MiB"]
    losses, error, spilled = found(run(*sizes, "--steps", "6", "--rate", "1.0"))
    assert losses == sorted(losses, reverse=True)
    assert error < 0.2
    assert spilled == "0 B"


def test_an_array_that_fits_is_no_example():
    done = run("--size", "1 MiB", "--chunk", "1 MiB")
    assert done.returncode == 1
    assert "larger than all workers' memory" in done.stderr
