"""The example of data parallelism: however many processes share a batch, the steps are the same."""

import importlib
import random
import re

import pytest

import agnograd as ag
from programs import EXAMPLES, refused, run, run_on

NAME, FEW = "data_parallel.py", ("--epochs", "2")


def facts(said):
    """Return the losses of the epochs, the accuracy, and how many ranks and passes there were."""
    losses = [float(each) for each in re.findall(r"^epoch \d+: loss ([\d.]+)$", said, re.M)]
    (accuracy,) = re.findall(r"^test accuracy: ([\d.]+)%$", said, re.M)  # of one rank only
    ranks, passes = re.search(r"^ranks: (\d+); (\d+) passes sent", said, re.M).groups()
    return losses, float(accuracy), (int(ranks), int(passes))


@pytest.fixture(scope="module")
def by_one():
    losses, accuracy, counts = facts(run(NAME, *FEW))
    assert counts == (1, 180)  # 1,438 images in batches of 16: the last one of 14
    assert losses[1] < 0.5 * losses[0]
    assert accuracy > 80.0
    return losses, accuracy


@pytest.mark.parametrize(
    ("size", "by"),
    [(2, "local"), (2, "mpi"), pytest.param(3, "local", marks=pytest.mark.slow)],
)
def test_any_number_of_processes_takes_the_steps_of_one(by_one, size, by):
    losses, accuracy, counts = facts(run_on(size, NAME, *FEW, by=by))
    assert counts == (size, 180)
    assert losses == pytest.approx(by_one[0], rel=1e-4)  # of float32
    assert accuracy == pytest.approx(by_one[1], abs=0.3)  # an image is 0.28 %


def test_parts_of_any_length_add_up(xp, monkeypatch):
    """Also one without images, where there are more ranks than images."""
    monkeypatch.syspath_prepend(EXAMPLES)
    example = importlib.import_module("data_parallel")
    start = example.initial_parameters(xp, random.Random(0))
    layers = [{name: ag.Variable(each) for name, each in layer.items()} for layer in start]
    weight = layers[0]["weight"]
    images = xp.reshape(xp.sin(xp.arange(192, dtype=xp.float32)), (3, 64))
    targets = xp.eye(3, 10, dtype=xp.float32)

    def value(part):
        found = example.loss_of_part(xp, layers, images[part, :], targets[part, :], 3)
        found.backward()
        return found.item()

    whole = value(slice(0, 3))
    expected, weight.grad = weight.grad, None
    parts = [value(slice(*part)) for part in ((0, 2), (2, 2), (2, 3))]
    assert parts[1] == 0.0
    assert sum(parts) == pytest.approx(whole, rel=1e-6)
    assert xp.max(xp.abs(expected)).item() > 1e-3
    assert xp.max(xp.abs(weight.grad - expected)).item() < 1e-7


def test_it_takes_the_steps_of_the_example_of_one_process(by_one):
    accuracy = re.search(r"test accuracy: ([\d.]+)%", run("digits.py", *FEW))[1]
    assert float(accuracy) == pytest.approx(by_one[1], abs=0.3)


@pytest.mark.slow
def test_it_learns_to_read_digits():
    assert facts(run_on(2, NAME))[1] >= 97.0


@pytest.mark.slow
def test_another_backend_takes_the_same_steps(by_one, backend):
    if backend == "dask":
        pytest.skip("Dask makes a task of each op: too many for a network as small as this")
    losses, accuracy, _ = facts(run_on(2, NAME, *FEW, "--backend", backend))
    assert losses == pytest.approx(by_one[0], rel=1e-3)
    assert accuracy == pytest.approx(by_one[1], abs=0.6)


def test_what_cannot_run_is_answered_in_a_line():
    assert "no backend is named 'nunpy'" in refused(NAME, "--backend", "nunpy")
