"""Gradient managers: what they record, and when their callbacks hear of a gradient."""

import gc
import threading
import weakref

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import GradientError, NoGradientError, UnsupportedArrayError
from agnograd.extend import hookimpl
from arrays import leaf, values


def plain(xp, numbers):
    return ag.Variable(xp.asarray(numbers, dtype=xp.float64).data, requires_grad=False)


def test_what_depends_on_attached_arrays_is_recorded_and_nothing_else(xp):
    w, other, untracked = plain(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0]), plain(xp, [5.0, 6.0])
    with ag.GradManager() as manager:
        manager.attach(w)
        assert (w * 2.0).requires_grad
        assert (w * other).requires_grad
        assert not (other * 2.0).requires_grad
        assert not (untracked * other).requires_grad
        assert not xp.concat([other, other]).requires_grad
        manager.backward(xp.sum(w * other * other))
    np.testing.assert_array_equal(values(w.grad), [9.0, 16.0])
    assert other.grad is None
    assert not w.requires_grad
    assert (other * 2.0).requires_grad


def test_gradients_add_up_over_passes_and_stay_after_the_block(xp):
    w = leaf(xp, [1.0, 2.0])
    for _ in range(2):
        with ag.GradManager() as manager:
            manager.attach([w])
            manager.backward(xp.sum(w * w))
    np.testing.assert_array_equal(values(w.grad), [4.0, 8.0])
    assert w.requires_grad


def test_one_manager_serves_a_loop(xp):
    params = {"w": plain(xp, [1.0, 2.0]), "b": plain(xp, 0.5)}
    manager = ag.GradManager()
    manager.attach(params)
    for step in range(1, 4):
        with manager:
            manager.backward(xp.sum(params["w"] * params["b"]))
        assert params["b"].grad.item() == 3.0 * step
    assert not params["w"].requires_grad


def test_an_intermediate_value_and_its_leaf(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x * 3.0
    with ag.GradManager() as manager:
        manager.attach(y)
        z = xp.sum(y * y)
        manager.backward(z)
    np.testing.assert_array_equal(values(y.grad), [6.0, 12.0])
    assert x.grad is None
    with ag.GradManager() as manager:
        manager.attach([x, y])
        manager.backward(xp.sum(x * y))
    np.testing.assert_array_equal(values(x.grad), values(y) + 3.0 * values(x))


def test_managers_nest(xp):
    a, b, c = plain(xp, 2.0), plain(xp, 3.0), leaf(xp, 5.0)
    with ag.GradManager() as outer:
        outer.attach(a)
        with ag.GradManager() as inner:
            inner.attach(b)
            y = a * b * c
            inner.backward(y, retain_graph=True)
            assert b.grad.item() == 10.0
            assert a.grad is None
        assert (a * 2.0).requires_grad
        assert not (b * 2.0).requires_grad
        outer.backward(y)
    assert a.grad.item() == 15.0
    assert c.grad is None


def test_a_second_derivative(xp):
    x = plain(xp, 3.0)
    with ag.GradManager() as outer:
        outer.attach(x)
        with ag.GradManager() as inner:
            inner.attach(x)
            inner.backward(x * x * x, create_graph=True)
        first = x.grad
        x.grad = None
        outer.backward(first * 1.0)
    assert first.item() == 27.0
    assert x.grad.item() == 18.0


def network(xp, depth):
    return [plain(xp, np.eye(2).tolist()) for _ in range(depth)]


def test_a_callback_comes_before_the_rules_of_earlier_layers_run(xp):
    weights = network(xp, 3)
    events = []

    class Rules:
        @hookimpl
        def backward_preprocess(self, op):
            events.append(op.name)

    def ready(variable, grad):
        events.append(next(i for i, w in enumerate(weights) if w is variable))
        assert grad.shape == variable.shape

    x = plain(xp, [[1.0, 2.0]])
    with ag.hooks(Rules()), ag.GradManager() as manager:
        manager.attach(weights, callback=ready)
        for w in weights:
            x = xp.sin(x @ w)
        manager.backward(xp.sum(x))
    assert events == ["sum", "sin", "matmul", 2, "sin", "matmul", 1, "sin", "matmul", 0]


def test_plugins_hear_of_a_leaf_as_early(xp):
    weights = [leaf(xp, 2.0) for _ in range(3)]
    events = []

    class Ready:
        @hookimpl
        def backward_preprocess(self, op):
            events.append(op.name)

        @hookimpl
        def gradient_ready(self, variable, grad):
            events.append(float(np.asarray(grad)))

    x = plain(xp, 3.0)
    with ag.hooks(Ready()):
        for w in weights:
            x = x * w
        x.backward()
    assert events == ["multiply", 12.0, "multiply", 12.0, "multiply", 12.0]


def test_a_gradient_that_is_used_twice_is_final_after_the_last_use(xp):
    w = plain(xp, 2.0)
    seen = []
    with ag.GradManager() as manager:
        manager.attach(w, callback=lambda variable, grad: seen.append(grad.item()))
        manager.backward(w * w * w)
    assert seen == [12.0]


def test_a_callback_may_replace_the_gradient(xp):
    w = plain(xp, [3.0, 4.0])
    with ag.GradManager() as manager:
        manager.attach(w, callback=lambda variable, grad: grad * 10.0)
        manager.attach(w, callback=lambda variable, grad: grad + 1.0)
        manager.backward(xp.sum(w))
    np.testing.assert_array_equal(values(w.grad), 11.0)
    with ag.GradManager() as manager:
        manager.attach(w, callback=lambda variable, grad: grad[:1])
        with pytest.raises(GradientError, match="hook returned a gradient of shape"):
            manager.backward(xp.sum(w))
    np.testing.assert_array_equal(values(w.grad), 11.0)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failing_callback_leaves_gradients_and_state_as_they_were(xp, error):
    weights = network(xp, 2)

    def failing(variable, grad):
        if variable is weights[0]:
            raise error("planted")

    def step():
        with ag.GradManager() as manager:
            manager.attach(weights, callback=failing)
            manager.backward(xp.sum(weights[1] @ weights[0]))

    with pytest.raises(error, match="planted"):
        step()
    assert [w.grad for w in weights] == [None, None]
    assert not any(w.requires_grad for w in weights)
    assert ag.is_grad_enabled()
    assert leaf(xp, 1.0).requires_grad


def test_the_block_lets_the_graph_go(xp):
    w = plain(xp, [1.0, 2.0])
    with ag.GradManager() as manager:
        manager.attach(w)
        y = xp.sin(w)
        loss = xp.sum(y)
        gone = weakref.ref(y)
        gc.disable()
        try:
            del y, loss
            assert gone() is None
        finally:
            gc.enable()
    with pytest.raises(NoGradientError, match="`with` block"):
        manager.backward(w)


def test_misuse_is_an_error_that_says_so(xp):
    w = plain(xp, [1.0, 2.0])
    manager = ag.GradManager()
    with pytest.raises(NoGradientError, match="attach takes Variables, not float"):
        manager.attach([1.0])
    with manager:
        with pytest.raises(RuntimeError, match="active already"), manager:
            pass
        with pytest.raises(UnsupportedArrayError, match="no gradient"):
            manager.attach(xp.asarray([1, 2]))
        with pytest.raises(NoGradientError, match="requires no gradient"):
            manager.backward(xp.sum(w))


def test_a_manager_is_invisible_in_other_threads(xp):
    w, other = plain(xp, 2.0), leaf(xp, 3.0)
    seen = []
    with ag.GradManager() as manager:
        manager.attach(w)
        thread = threading.Thread(target=lambda: seen.append((other * 2.0).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


def test_no_grad_inside_of_a_manager_records_nothing(xp):
    w = plain(xp, 2.0)
    with ag.GradManager() as manager:
        manager.attach(w)
        with ag.no_grad():
            assert not (w * 2.0).requires_grad
        assert (w * 2.0).requires_grad


def test_a_transformation_differentiates_by_what_is_constant_to_a_manager(xp):
    x, w = leaf(xp, 3.0), leaf(xp, 1.0)
    with ag.GradManager() as manager:
        manager.attach(w)
        for argument in (x, x * 1.0):
            found = ag.grad(lambda x: x * x)(argument)
            assert float(found) == 6.0
            assert not found.requires_grad


def test_transformations_inside_of_a_manager(xp):
    w, x = plain(xp, 2.0), xp.asarray(3.0, dtype=xp.float64).data
    with ag.GradManager() as manager:
        manager.attach(w)
        cube = lambda x: x * x * x * w  # noqa: E731
        assert ag.grad(cube)(xp.asarray(x)).item() == 54.0
        assert ag.grad(ag.grad(cube))(xp.asarray(x)).item() == 36.0
        assert ag.jvp(cube, xp.asarray(x), xp.ones_like(x))[1].item() == 54.0
        assert ag.jvp(ag.grad(cube), xp.asarray(x), xp.ones_like(x))[1].item() == 36.0
        assert float(ag.grad(lambda x: x * x)(x)) == 6.0
        manager.backward(ag.grad(cube)(xp.asarray(x)))
    assert w.grad.item() == 27.0
