"""The example of Bratu's problem: its temperature, and no solution where there is none."""

import re

import pytest

from programs import refused, run


def highest(said):
    return float(re.search(r"([\d.]+) is the highest", said)[1])


def test_the_temperature_is_that_of_finer_grids(backend, tmp_path):
    path = tmp_path / "bratu.png"
    said = run("bratu.py", "--points", "25", "--backend", backend, "--plot", str(path))
    assert "3,025 entries of 625 x 625, 5 passes" in said
    assert highest(said) == pytest.approx(0.797, abs=3e-3)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert int(re.findall(r"step (\d+)", said)[-1]) <= 5


def test_where_there_is_no_solution_it_says_so():
    assert "no solution" in refused("bratu.py", "--points", "9", "--strength", "8")


def test_a_grid_has_points():
    assert "--points must be at least 2" in refused("bratu.py", "--points", "1")
