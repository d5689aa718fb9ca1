"""The example of a simulation that is fitted through time: the truth is found again."""

import re

import pytest

from programs import refused, run

SMALL = ("--positions", "20")
ROW = re.compile(r"^\S.* +(-?[\d.]+) +(-?[\d.]+) +([\d.]+) +(-?[\d.]+)$", re.MULTILINE)


def rows(said):
    found = [[float(number) for number in row.groups()] for row in ROW.finditer(said)]
    assert len(found) == 5
    return found


@pytest.mark.slow
def test_what_was_simulated_is_found_within_its_errors(backend):
    for guess, fit, error, truth in rows(run("orbit.py", *SMALL, "--backend", backend)):
        assert abs(fit - truth) < 4.0 * error
        assert abs(fit - truth) < abs(guess - truth)


@pytest.mark.slow
def test_checkpoints_find_the_same_with_less_memory(tmp_path):
    path = tmp_path / "orbit.png"
    whole = run("orbit.py", *SMALL)
    parts = run("orbit.py", *SMALL, "--checkpoint", "20", "--plot", str(path))
    for one, other in zip(rows(whole), rows(parts), strict=True):
        assert one == pytest.approx(other, abs=2e-4)
    kept = [float(re.search(r"keeps ([\d.]+) kB", said)[1]) for said in (whole, parts)]
    assert 5 * kept[1] < kept[0]
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow
def test_compiled_it_finds_the_same():
    as_it_is, compiled = (rows(run("orbit.py", *SMALL, *given)) for given in ((), ("--compile",)))
    for one, other in zip(as_it_is, compiled, strict=True):
        assert one == pytest.approx(other, abs=2e-4)


def test_too_few_positions_are_refused():
    assert "--positions must be 12 or more" in refused("orbit.py", "--positions", "3")
