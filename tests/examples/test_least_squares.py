"""The example of a curve fit: NIST's certified values, by both of NIST's starts."""

import re

import pytest

from programs import run


def facts(said, name):
    numbers = re.search(rf"^{name} +(\d+) +(\d+) +([\d.]+) +([\d.]+)$", said, re.MULTILINE)
    return [float(number) for number in numbers.groups()]


@pytest.mark.parametrize("start", ["far", "near"])
def test_exact_jacobians_find_more_digits_with_fewer_evaluations(backend, start, tmp_path):
    path = tmp_path / "fit.png"
    said = run("least_squares.py", "--backend", backend, "--start", start, "--plot", str(path))
    exact, differences = facts(said, "ag.jacobian"), facts(said, "finite differences")
    assert exact[2] > 7.0
    assert exact[3] > 6.5
    assert 4 * exact[0] < differences[0]
    assert float(re.search(r"^b2 +([\d.]+)", said, re.MULTILINE)[1]) == pytest.approx(1491.079253)
    assert float(re.search(r"^b2.* ±\s*([\d.]+)", said, re.M)[1]) == pytest.approx(39.571156)
    assert "standard deviation of the residuals: 13.7146007" in said
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
