"""The example of optimal control: the pendulum is up, within the limits."""

import re

import pytest

from programs import refused, run


def number(pattern, said):
    return float(re.search(pattern, said)[1])


def test_the_pendulum_is_up(backend, tmp_path):
    path = tmp_path / "swing_up.png"
    said = run("swing_up.py", "--intervals", "40", "--backend", backend, "--plot", str(path))
    assert "480 entries of 80 x 123" in said
    assert number(r"effort ([\d.]+)", said) == pytest.approx(1.442, abs=0.01)
    assert number(r"torque is ([\d.]+)", said) == pytest.approx(0.5, abs=1e-3)
    assert number(r"ends at ([\d.]+)", said) == pytest.approx(3.1416, abs=2e-3)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow
def test_more_torque_takes_less_effort():
    said = run("swing_up.py", "--limit", "5")
    assert number(r"effort ([\d.]+)", said) < 1.35
    assert number(r"torque is ([\d.]+)", said) > 0.55


@pytest.mark.slow
def test_where_there_is_no_movement_it_says_so():
    assert "no movement was found" in refused("swing_up.py", "--limit", "0.05")


def test_arguments_are_looked_at_first():
    assert "--intervals must be 10 or more" in refused("swing_up.py", "--intervals", "3")
