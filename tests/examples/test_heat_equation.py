"""The example of an inverse problem on a divided plate: the gradient, and the same numbers."""

import re

import pytest

import ranks
from programs import EXAMPLES, refused, run, run_on

NAME = "heat_equation.py"
SMALL = ("--points", "12", "--iterations", "5", "--width", "3")
DIFFERENCE = f"""
    sys.path.insert(0, {str(EXAMPLES)!r})
    from heat_equation import Plate

    xp, points = ag.namespace("numpy"), 7
    rng = np.random.default_rng(1)
    for again in (False, True):
        plate = Plate(xp, comm, points, width=2, again=again, seed=0)
        at, along = rng.normal(0.0, 0.3, (2, points**2))
        value, gradient = plate.objective(at)
        step = 1e-5
        above, below = (plate.objective(at + each * along)[0] for each in (step, -step))
        tell(
            value=value,
            gradient=gradient.tolist(),
            by=float(gradient @ along),
            differences=(above - below) / (2.0 * step),
        )
"""


def facts(said):
    """Return the iterations, the passes, and what was minimised and the error, before and after."""
    counts = re.search(r"^(\d+) iterations, (\d+) passes", said, re.M).groups()
    pairs = re.findall(r"^(?:objective|error of log k): +([\d.]+) -> ([\d.]+)", said, re.M)
    (before, after), (start, end) = [[float(each) for each in pair] for pair in pairs]
    return [int(each) for each in counts], [before, after, start, end]


@pytest.fixture(scope="module")
def by_one():
    return facts(run(NAME, *SMALL))


def test_the_field_is_found(by_one):
    (iterations, _), (before, after, start, end) = by_one
    assert iterations == 5
    assert after < 0.02 * before
    assert (start, end < 0.4) == (1.0, True)


@pytest.mark.parametrize(
    ("size", "by"),
    [(2, "local"), (2, "mpi"), pytest.param(3, "local", marks=pytest.mark.slow)],
)
def test_any_number_of_processes_finds_the_same(by_one, size, by):
    said = run_on(size, NAME, *SMALL, by=by)
    assert f"{size} ranks" in said
    counts, numbers = facts(said)
    assert counts == by_one[0]
    assert numbers == pytest.approx(by_one[1], abs=2e-6)  # the sixth decimal may be rounded


@pytest.mark.slow
def test_the_gradient_goes_through_all_steps_and_exchanges(tmp_path):
    """On stripes of different lengths, with and without checkpoints."""
    first, *others = (ranks.run(tmp_path / f"{size}", size, DIFFERENCE) for size in (1, 2, 3))
    for told in (first, *others):
        for rank in told:
            assert rank == told[0]  # bit for bit
            for found in rank:
                assert found["by"] == pytest.approx(found["differences"], rel=1e-6)
    for told in others:
        for found, expected in zip(told[0], first[0], strict=True):
            assert found["value"] == pytest.approx(expected["value"], rel=1e-9)
            assert found["gradient"] == pytest.approx(expected["gradient"], rel=1e-6, abs=1e-9)


@pytest.mark.slow
def test_with_checkpoints_and_a_figure(by_one, tmp_path):
    path = tmp_path / "heat.png"
    counts, numbers = facts(run(NAME, *SMALL, "--checkpoint", "--plot", str(path)))
    assert counts == by_one[0]
    assert numbers == pytest.approx(by_one[1], abs=2e-6)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow
def test_another_backend_finds_the_same(by_one, backend):
    if backend == "dask":
        pytest.skip("Dask makes a task of each op: too many for a loop of small steps")
    counts, numbers = facts(run_on(2, NAME, *SMALL, "--backend", backend))
    assert counts == by_one[0]
    assert numbers == pytest.approx(by_one[1], abs=2e-6)


@pytest.mark.slow
def test_on_a_finer_grid_the_field_is_near_the_truth():
    _, (_, after, _, error) = facts(run(NAME))
    assert after < 1.5
    assert error < 0.1


def test_arguments_are_looked_at_first():
    assert "no backend is named 'nunpy'" in refused(NAME, "--backend", "nunpy")
    assert "--points must be 4 or more" in refused(NAME, "--points", "3")
    assert "--width and --iterations must be positive" in refused(NAME, "--width", "0")
