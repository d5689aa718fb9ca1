"""How gradients that arrive at one value are added up."""

import numpy as np
import pytest

import agnograd as ag
from tests.helpers.large import drawn
from tests.helpers.memory import peak_of

xp = ag.namespace("numpy")


@pytest.mark.accelerated
@pytest.mark.usual_switches
def test_a_loop_of_products_needs_one_array_for_their_gradient():
    x, many = ag.Variable(drawn(0)), [drawn(i) for i in range(1, 3)] * 10
    loss = sum(xp.sum(x * c) for c in many)
    peak = peak_of(loss.backward)
    np.testing.assert_allclose(x.grad.data, 10 * (many[0] + many[1]), rtol=1e-12)
    assert peak < 1.4 * x.data.nbytes  # the first product becomes the sum


def test_nobody_elses_array_is_changed():
    x, kept, held = ag.Variable(drawn(0)), [], drawn(7)

    class Gives(ag.Function):
        """A function whose gradient is an array that it keeps."""

        def forward(self, xp, x):
            return xp.sum(x)

        def backward(self, xp, g):
            kept.append(held)
            return held

    y = Gives()(x) + xp.sum(x * held) + Gives()(x) + xp.sum(xp.sin(x))
    before = held.copy()
    y.backward()
    np.testing.assert_array_equal(held, before)
    np.testing.assert_allclose(x.grad.data, 3 * held + np.cos(x.data), rtol=1e-12)


def test_gradients_that_are_retained_or_seen_stay_as_they_were():
    x = ag.Variable(drawn(0))
    y = x * 1.0
    seen = []
    y.register_hook(seen.append)
    y.retain_grad()
    total = xp.sum(y * 3.0) + xp.sum(y * 4.0) + xp.sum(y * drawn(1)) + xp.sum(x * drawn(2))
    (total + xp.sum(x * drawn(3))).backward()
    expected = 7.0 + drawn(1)
    np.testing.assert_allclose(y.grad.data, expected, rtol=1e-12)
    np.testing.assert_allclose(seen[0].data, expected, rtol=1e-12)
    np.testing.assert_allclose(x.grad.data, expected + drawn(2) + drawn(3), rtol=1e-12)


def test_two_values_that_share_a_gradient():
    x, y = ag.Variable(drawn(0)), ag.Variable(drawn(1))
    total = xp.sum((x + y) * drawn(2)) + xp.sum(x * drawn(3)) + xp.sum(x * drawn(4))
    (total + xp.sum(y * drawn(5))).backward()
    np.testing.assert_allclose(x.grad.data, drawn(2) + drawn(3) + drawn(4), rtol=1e-12)
    np.testing.assert_allclose(y.grad.data, drawn(2) + drawn(5), rtol=1e-12)


@pytest.mark.accelerated
def test_only_what_leaves_zeros_is_looked_through_for_nan(monkeypatch):
    backend, looked = xp.empty(0)._domain.backend, []
    monkeypatch.setattr(backend, "has_nan", lambda x: bool(looked.append(1)))
    x = np.asarray([1.0, 0.5, 2.0])

    def of_two(x):
        return xp.sum(xp.sin(x * 2.0)[1:] * xp.sin(x * 2.0)[:-1])

    def of_one(x):
        y = xp.sin(x * 2.0)
        return xp.sum(y[1:] * y[:-1])

    expected = ag.grad(of_two)(x)
    assert len(looked) == 4  # the sine and the product before each slice
    np.testing.assert_allclose(ag.grad(of_one)(x), expected)
    assert len(looked) == 4
