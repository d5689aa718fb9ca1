"""The example of private training, as a user runs it."""

import importlib
import re

import pytest

from programs import EXAMPLES, refused, run


def facts(said):
    patterns = (
        r"([\d.]+)% of the gradients",
        r"privacy loss: ([\d.]+|inf)",
        r"accuracy: ([\d.]+)%",
    )
    return [float(re.search(pattern, said)[1]) for pattern in patterns]


@pytest.mark.slow
def test_it_learns_to_read_digits_in_private():
    clipped, epsilon, accuracy = facts(run("private_digits.py"))
    assert 10.0 < clipped < 90.0
    assert epsilon == pytest.approx(5.59, abs=0.01)
    assert accuracy >= 92.0


def test_the_privacy_loss_is_that_of_the_moments_accountant(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    epsilon = importlib.import_module("private_digits").epsilon
    # Abadi et al., section 5.2: 1.26 after 10,000 steps.
    assert epsilon(4.0, 10_000, rate=0.01, delta=1e-5) == pytest.approx(1.26, abs=0.005)


@pytest.mark.slow
def test_noise_is_the_price_of_privacy():
    _, epsilon, accuracy = facts(run("private_digits.py", "--epochs", "3", "--noise", "20"))
    assert epsilon < 0.2
    _, without, better = facts(run("private_digits.py", "--epochs", "3", "--noise", "0"))
    assert without == float("inf")
    assert better > accuracy + 5.0


@pytest.mark.slow
def test_clipping_bounds_the_gradients():
    clipped, *_ = facts(run("private_digits.py", "--epochs", "1", "--clip", "1000"))
    assert clipped == 0.0


@pytest.mark.slow
def test_one_epoch_on_another_backend(backend):
    assert facts(run("private_digits.py", "--epochs", "1", "--backend", backend))[2] > 50.0


@pytest.mark.slow
def test_it_does_the_same_again():
    assert run("private_digits.py", "--epochs", "1") == run("private_digits.py", "--epochs", "1")


@pytest.mark.slow
def test_what_cannot_run_is_answered_in_a_line():
    assert "no backend is named 'nunpy'" in refused("private_digits.py", "--backend", "nunpy")
    assert "--clip and --epochs must be positive" in refused("private_digits.py", "--clip", "0")
