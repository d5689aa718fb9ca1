"""The command that counts what fires; CI counts it in more programs."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("agnograd_c", reason="the plugin c is not installed")
pytest.importorskip("jax", reason="its lowering is counted, too: pip install 'agnograd[jax]'")

pytestmark = pytest.mark.usual_switches  # the sides that programs take


def test_programs_fire_most_rewrites():
    found = subprocess.run(
        [sys.executable, "-m", "tests.programs.coverage", "--programs=24", "--least=0.04"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 1, found.stderr  # 24 programs are too few for all
    *table, summary, _ = found.stdout.splitlines()
    counts = [int(line.split()[0]) for line in table[1:]]
    assert len(counts) > 300, summary
    assert sum(count > 0 for count in counts) > 0.75 * len(counts)
