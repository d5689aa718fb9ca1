"""The example of the Brusselator: what its end depends on."""

import re

import pytest

from programs import refused, run


def facts(said):
    mean = float(re.search(r"mean of u is ([\d.]+)", said)[1])
    return mean, [float(each) for each in re.findall(r"^by \w: +(-?[\d.]+)", said, re.MULTILINE)]


@pytest.mark.slow
def test_derivatives_are_those_of_differences(tmp_path):
    path = tmp_path / "brusselator.png"
    mean, by = facts(run("brusselator.py", "--points", "16", "--plot", str(path)))
    # By SciPy's Radau with rtol=1e-10, and differences of its solutions.
    assert mean == pytest.approx(0.568445, abs=2e-5)
    assert by == pytest.approx([1.376465, -0.283339, 6.3418], rel=1e-3)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow
def test_on_another_backend(backend):
    mean, by = facts(run("brusselator.py", "--points", "8", "--backend", backend, "--rtol", "1e-3"))
    assert 0.4 < mean < 0.8
    assert len(by) == 3


def test_a_line_has_points():
    assert "--points must be at least 2" in refused("brusselator.py", "--points", "1")
