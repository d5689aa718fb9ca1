"""The example on a cluster of processes, each with less memory than the array takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask's cluster: pip install 'agnograd[cluster]'")
EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster.py"


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), *arguments], capture_output=True, text=True
    )


def test_it_fits_what_no_worker_could_hold():
    sizes = ["--memory", "256 MiB", "--size", "288 MiB", "--chunk", "8 MiB"]
    done = run(*sizes, "--steps", "3")
    assert done.returncode == 0, done.stderr
    assert "288.00 MiB in 36 chunks; 2 workers of 256.00 MiB" in done.stdout
    losses = [float(number) for number in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)
    error = re.search(r"largest error of a coefficient: ([\d.]+)", done.stdout)
    assert float(error[1]) < 0.02


def test_an_array_that_fits_is_no_example():
    done = run("--size", "1 MiB", "--chunk", "1 MiB")
    assert done.returncode == 1
    assert "larger than a worker's limit" in done.stderr
