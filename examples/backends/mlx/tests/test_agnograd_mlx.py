"""The backend as its users get it: by its name."""

import math

import agnograd as ag
import mlx.core as mx
import pytest
from agnograd.testing import plugin_contract


@pytest.fixture
def xp():
    return ag.namespace("mlx")


def test_first_and_second_derivatives(xp):
    points = [0.5, 1.0, 2.0]
    x = ag.Variable(mx.array(points))
    (first,) = ag.autodiff.grad(xp.sum(xp.sin(x) ** 2), [x], create_graph=True)
    (second,) = ag.autodiff.grad(xp.sum(first), [x])
    assert first.data.tolist() == pytest.approx([math.sin(2 * each) for each in points], rel=1e-5)
    expected = [2 * math.cos(2 * each) for each in points]
    assert second.data.tolist() == pytest.approx(expected, rel=1e-5)
    assert isinstance(first.data, mx.array)


def test_gradients_are_those_of_mlx(xp):
    def f(w, x, y):
        return xp.mean((xp.tanh(x @ w) - y) ** 2) + xp.max(w[1:])

    def same_in_mlx(w, x, y):
        return mx.mean((mx.tanh(x @ w) - y) ** 2) + mx.max(w[1:])

    w, x = mx.array([0.3, -0.2, 0.1]), mx.random.normal((4, 3), key=mx.random.key(0))
    arguments = w, x, mx.ones(4)
    found, expected = ag.grad(f)(*arguments), mx.grad(same_in_mlx)(*arguments)
    assert mx.allclose(found, expected, rtol=1e-5)


def test_writes_and_reads_are_recorded(xp):
    x = ag.Variable(xp.asarray([1.0, 2.0, 4.0]))
    y = x * 2.0
    y[0] = x[1]
    xp.sum(y[:2] ** 2).backward()
    assert x.grad.data.tolist() == [0.0, 20.0, 0.0]
    repeated = ag.grad(lambda x: xp.sum(x[xp.asarray([0, 0, 2])] ** 2))(x.data)
    assert repeated.tolist() == [4.0, 0.0, 8.0]


def test_nothing_is_computed_before_a_value_is_asked_for(xp):
    # An array that is not computed yet has no memory of its own.
    mx.synchronize()
    before = mx.get_active_memory()
    x = xp.ones((1000, 1000))
    gradient = ag.grad(lambda x: xp.sum(xp.sin(x)))(x.data)
    assert mx.get_active_memory() - before < 1_000_000
    assert gradient[0, 0].item() == pytest.approx(math.cos(1.0), rel=1e-5)


def test_indices_may_be_subtracted_from(xp):
    places = xp.searchsorted(xp.asarray([1.0, 2.0]), xp.asarray([0.0, 3.0]))
    assert (places - 1).data.tolist() == [-1, 1]
    assert (xp.argsort(xp.asarray([2.0, 1.0])) - 1).data.tolist() == [0, -1]


def test_empty_matrices_do_not_end_the_process(xp):
    assert xp.linalg.inv(xp.zeros((0, 0))).shape == (0, 0)
    assert xp.linalg.solve(xp.zeros((0, 0)), xp.zeros((0, 2))).shape == (0, 2)


def test_plugins_work_on_it():
    assert plugin_contract("timer", backends=["mlx"]) == ["mlx"]
