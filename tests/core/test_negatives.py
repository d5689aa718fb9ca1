"""Large products of an array and its negative keep the array alone, and nothing else changes."""

import gc

import numpy as np
import pytest

import agnograd as ag
from agnograd._codegen.deferring import compile_op
from agnograd._plugins.backends import backend_named
from agnograd.extend import OpSet
from tests.helpers.large import has_large_arrays

pytestmark = has_large_arrays
LARGE = backend_named("numpy").large
xp = ag.namespace("numpy")


@pytest.fixture
def raw():
    return np.random.default_rng(1).standard_normal(LARGE)


def kept(variable):
    """Return how many arrays of a product's node are its own."""
    (node,) = (each for each in [variable.node] if each.op.name == "multiply")
    return len({id(value) for value in node._edge[3 : node.op.first] if type(value) is np.ndarray})


def gradients(f, raw):
    x = ag.Variable(raw.copy())
    f(x).backward()
    return x.grad.data


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("size", [LARGE - 1, LARGE])
@pytest.mark.accelerated
def test_the_negative_is_not_kept_and_comes_back(raw, turned, size):
    raw = raw[:size].copy()
    x = ag.Variable(raw)
    product = x * -x if turned else -x * x
    assert kept(product) == (2 if size < LARGE else 1)
    saved = product.node.saved
    np.testing.assert_array_equal(saved["x2" if turned else "x1"], -raw)
    np.testing.assert_array_equal(saved["x1" if turned else "x2"], raw)
    assert set(product.node.inputs[1 if turned else 0].saved) == set()
    (product * 0.5).backward(np.ones(size), retain_graph=True)
    product.backward(np.ones(size))
    np.testing.assert_allclose(x.grad.data, -3.0 * raw)
    with pytest.raises(ag.errors.FreedGraphError):
        product.backward(np.ones(size))


def test_every_order_and_mode(raw):
    def f(x):
        return xp.sum(xp.exp(-x * x))

    e = np.exp(-raw * raw)
    np.testing.assert_allclose(ag.grad(f)(raw), -2 * raw * e)
    second = ag.grad(lambda x: xp.sum(ag.grad(f)(x)))(raw)
    np.testing.assert_allclose(second, (4 * raw * raw - 2) * e, atol=1e-12)
    _, tangent = ag.jvp(lambda x: xp.exp(-x * x), (raw,), (np.ones(LARGE),))
    np.testing.assert_allclose(tangent, -2 * raw * e)
    checkpointed = ag.checkpoint(lambda x: xp.exp(-x * x))
    np.testing.assert_allclose(ag.grad(lambda x: xp.sum(checkpointed(x)))(raw), -2 * raw * e)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_write_between_them_is_seen(raw, recorded):
    x = ag.Variable(raw)
    y = x * 1.0
    z = -y
    with ag.set_grad_enabled(recorded):
        y[0] = 5.0
    assert kept(z * y) == 2
    xp.sum(z * y).backward()
    expected = -2 * raw
    expected[0] = -5.0 if recorded else -raw[0] - 5.0
    np.testing.assert_allclose(x.grad.data, expected)


@pytest.mark.accelerated
def test_what_is_not_kept_may_be_freed(raw):
    x = ag.Variable(raw)
    y = xp.exp(x)
    z = -(y + 1.0)
    gc.collect()
    reference = z.node._edge[3]
    assert reference() is None
    other = y + 1.0
    assert kept(z * other) == 2
    np.testing.assert_allclose(
        gradients(lambda x: xp.sum(-(xp.exp(x) + 1.0) * (xp.exp(x) + 1.0)), raw),
        -2 * (np.exp(raw) + 1) * np.exp(raw),
    )


def test_what_hooks_look_at_is_kept_as_rules_name_it(raw):
    class Packing:
        @ag.extend.hookimpl
        def save_value(self, op, name, value):
            seen.append((op.name, name, type(value)))

    seen = []
    x = ag.Variable(raw)
    with ag.hooks(Packing()):
        product = -x * x
    assert seen == [("multiply", "x2", np.ndarray), ("multiply", "x1", np.ndarray)]
    xp.sum(product).backward()
    np.testing.assert_allclose(x.grad.data, -2 * raw)


def test_hooks_of_the_pass_see_the_inputs(raw):
    class Looking:
        @ag.extend.hookimpl
        def backward_preprocess(self, op, inputs):
            if op.name == "multiply":
                seen.extend(inputs)

    seen = []
    x = ag.Variable(raw)
    product = -x * x
    with ag.hooks(Looking()):
        xp.sum(product).backward()
    np.testing.assert_array_equal(seen[0], -raw)
    np.testing.assert_array_equal(seen[1], raw)


def test_gradients_that_have_arrived_take_the_products(raw):
    weights = [np.full(LARGE, float(i)) for i in range(1, 5)]

    def f(x):
        return sum(xp.sum(-x * x * w + x * w) for w in weights)

    np.testing.assert_allclose(gradients(f, raw), sum((1 - 2 * raw) * w for w in weights))


@pytest.mark.parametrize("negation", [False, True])
@pytest.mark.accelerated
def test_only_what_is_declared_a_negation_is_taken_for_one(raw, negation):
    # Both have the derivative -1.
    ops = OpSet("mine")
    forward = (lambda x: -x) if negation else (lambda x: 1.0 - x)
    ops.elementwise("turn(x, /)", x=-1, forward=forward, negation=negation)
    x = ag.Variable(raw.copy())
    product = compile_op(ops.ops["turn"], x._domain, forward)(x) * x
    assert kept(product) == (1 if negation else 2)
    product.backward(np.ones(LARGE))
    np.testing.assert_allclose(x.grad.data, (0.0 if negation else 1.0) - 2.0 * raw)
