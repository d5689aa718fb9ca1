"""The example with SciPy's minimisers, on three digits: every solver finds the one minimum."""

import re

import pytest

from programs import refused, run

SMALL = ("--classes", "3", "--images", "60")
ROW = r"^{}, {} +(\d+) +(\d+) +([\d.]+) +([\d.e+-]+) +([\d.e+-]+)$"


def row(said, method, derivatives):
    found = re.search(ROW.format(method, derivatives), said, re.MULTILINE)
    return [float(number) for number in found.groups()]


@pytest.mark.slow
def test_exact_derivatives_find_the_same_minimum_with_fewer_calls(backend):
    said = run("minimize.py", *SMALL, "--backend", backend)
    differences = row(said, "L-BFGS-B", "finite differences")
    exact = [row(said, name, "exact") for name in ("L-BFGS-B", "Newton-CG", "trust-krylov")]
    for _, calls, loss, slope, apart in exact:
        assert 100 * calls < differences[1]
        assert loss == pytest.approx(differences[2], abs=1e-7)
        assert slope < 1e-6
        assert apart < 1e-3
    assert float(re.search(r"^([\d.]+)% of 477 other images", said, re.MULTILINE)[1]) > 95.0


@pytest.mark.slow
def test_compiled_the_solvers_do_the_same():
    as_it_is, compiled = (run("minimize.py", *SMALL, *given) for given in ((), ("--compile",)))
    for name in ("L-BFGS-B", "Newton-CG", "trust-krylov"):
        one, other = (row(said, name, "exact") for said in (as_it_is, compiled))
        assert other[2] == pytest.approx(one[2], abs=1e-10)
        assert other[3] < 1e-6


@pytest.mark.slow
def test_the_figure(tmp_path):
    path = tmp_path / "minimize.png"
    run("minimize.py", *SMALL, "--plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow
def test_arguments_are_looked_at_first():
    assert "no backend is named 'nunpy'" in refused("minimize.py", "--backend", "nunpy")
    assert "--classes must be from 2 to 10" in refused("minimize.py", "--classes", "1")


@pytest.mark.slow
def test_what_cannot_run_is_answered_in_a_line(tmp_path):
    said = refused("minimize.py", "--classes", "2", "--images", "360")
    assert "--images must leave some of all 360 images" in said
    said = refused("minimize.py", *SMALL, "--plot", str(tmp_path / "minimize.unknown"))
    assert said.startswith("--plot: ")
