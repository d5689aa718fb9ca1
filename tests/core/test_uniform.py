"""Cotangents that are one number for all elements stay one, and give what arrays would give."""

import random
import tracemalloc

import numpy as np
import pytest

import agnograd as ag
from agnograd._codegen.deferring import compile_op
from agnograd._engine.run import Pass
from agnograd.errors import FreedGraphError
from agnograd.extend import OpSet, hookimpl
from calls import calls
from tests.helpers.large import (
    ELEMENTWISE,
    OF_NUMBERS,
    SHAPE,
    carried_as_numbers,
    case_of,
    drawn,
    gradients,
    has_large_arrays,
    op_by_op,
)
from tests.helpers.memory import peak_of
from tests.helpers.packing import Packing

pytestmark = [pytest.mark.accelerated, has_large_arrays]

xp = ag.namespace("numpy")
DOMAIN = xp.asarray(0.0)._domain
NUMBERS = [1.0 + i / 50 for i in range(50)]


@pytest.fixture
def carried(monkeypatch):
    return carried_as_numbers(monkeypatch)


def fan_out(x):
    return sum(xp.sum(x * c) for c in NUMBERS)


def gradient(f, *xs):
    """Return the gradients of leaves by a pass over all of them."""
    leaves = [ag.Variable(x) for x in xs]
    f(*leaves).backward()
    return [None if leaf.grad is None else leaf.grad.data for leaf in leaves]


def made_by(loss, monkeypatch):
    """Return how many bytes each visit of a node takes at most, beyond what is there before."""
    made, visit = [], Pass.visit

    def measured(self, node, g):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            return visit(self, node, g)
        finally:
            made.append(tracemalloc.get_traced_memory()[1] - before)

    monkeypatch.setattr(Pass, "visit", measured)
    tracemalloc.start()
    try:
        loss.backward()
    finally:
        tracemalloc.stop()
    return made


def test_a_fan_out_by_numbers_makes_no_array_but_the_gradient(monkeypatch, carried):
    x = ag.Variable(drawn(0))
    fan_out(x).backward()  # whatever is compiled, is
    carried.clear()
    made = made_by(fan_out(x), monkeypatch)
    assert carried == ["multiply"] * 50
    assert max(made) < 10_000  # not even the blocks of one
    whole = x.data.nbytes
    assert peak_of(fan_out(ag.Variable(x.data)).backward) < 1.01 * whole  # the one that x gets
    assert peak_of(ag.grad(fan_out), x.data) < 2.01 * whole  # with a product, forward


def test_the_gradient_is_that_of_arrays_to_the_last_bit():
    expected = op_by_op(DOMAIN, ag.grad(fan_out), drawn(0))
    np.testing.assert_array_equal(ag.grad(fan_out)(drawn(0)), expected)
    assert expected[0, 0] == pytest.approx(sum(NUMBERS))


PROGRAMS = {
    "products and quotients": lambda x, y: xp.sum(2.0 * x / 3.0 * y * 0.5),
    "both inputs": lambda x, y: xp.sum(x * 2.0 - y * 3.0) + xp.sum(x - y),
    "negatives": lambda x, y: xp.sum(-(-x * 2.0)) + xp.mean(-y) - xp.sum(x),
    "views": lambda x, y: xp.sum(xp.reshape((x * 2.0).T, (-1,)) * 0.5) + xp.sum(xp.flip(y) * 2.0),
    "axes": lambda x, y: (
        xp.sum(xp.squeeze(x[None] * 2.0, axis=0) + xp.permute_dims(y, (1, 0)).T) * 3.0
    ),
    "sums of sums": lambda x, y: xp.sum(xp.sum(x * 2.0, axis=1)) + xp.mean(xp.sum(y, axis=0)),
    "rows": lambda x, y: xp.sum(x * 3.0 - y[0, :] * 2.0) + xp.sum((y[:, :1] - x) * 0.5),
    "broadcast": lambda x, y: xp.sum(xp.broadcast_to(x[None], (2, *SHAPE)) * 2.0) + xp.sum(y / 4.0),
    "casts": lambda x, y: xp.sum(xp.astype(x * 2.0, xp.float32) * 0.1) + xp.sum(y * np.float32(3)),
    "numbers of arrays": lambda x, y: xp.sum(x * xp.asarray(2.0) * np.float64(1.5) + y * y[0, 0]),
    "then arrays": lambda x, y: xp.sum(xp.sin(x) * y * 0.5) * 2.0 + xp.sum(xp.exp(y * 0.1) * 3.0),
    "beside arrays": lambda x, y: xp.sum(x * y + x * 2.0) + xp.sum(x * 3.0) + xp.sum(x * y),
    "masks": lambda x, y: xp.sum(xp.where(x > 1.0, x * 2.0, 0.5) * 3.0) + xp.sum(y * 3.0),
    "a chain": lambda x, y: xp.sum(x * 2.0 * 0.9 * 0.8 * 0.7 * 0.6 + 1.0) - 1.5 * xp.sum(1.0 - y),
}


OF_REAL_NUMBERS = {"casts", "masks"}


@pytest.mark.parametrize(
    ("program", "dtype"),
    [
        *((program, dtype) for program in PROGRAMS for dtype in ("float32", "float64")),
        *((program, "complex128") for program in sorted(PROGRAMS.keys() - OF_REAL_NUMBERS)),
    ],
)
def test_gradients_are_those_of_arrays(program, dtype, carried):
    xs = drawn(0, dtype), drawn(1, dtype)

    def f(x, y):
        total = PROGRAMS[program](x, y)
        return xp.real(total) + 0.5 * xp.imag(total) if dtype == "complex128" else total

    found = gradient(f, *xs)
    assert carried
    expected = op_by_op(DOMAIN, gradient, f, *xs)
    for each, other, x in zip(found, expected, xs, strict=True):
        assert each.dtype == other.dtype == x.dtype
        assert each.shape == SHAPE
        np.testing.assert_allclose(each, other, rtol=1e-6 if dtype == "float32" else 1e-13)


def test_casts_and_what_is_broadcast_in_a_row_need_no_array(monkeypatch, carried):
    x = ag.Variable(drawn(0))

    def loss():
        y = xp.expand_dims(xp.astype(x * 2.0, xp.float32), axis=0)
        z = xp.broadcast_to(xp.astype(x, xp.float32), (2, *SHAPE))
        return xp.sum(z) + xp.sum(y - np.ones((3, 1, 1), np.float32))

    loss().backward()
    carried.clear()
    assert max(made_by(loss(), monkeypatch)) < 10_000
    assert carried == ["subtract", "broadcast_to", "astype", "astype", "multiply"]
    np.testing.assert_array_equal(x.grad.data, np.full(SHAPE, 16.0))


def test_a_half_is_added_up_where_its_number_times_their_count_overflows():
    x = ag.Variable(np.zeros((1, 2), np.float16))
    xp.sum(xp.broadcast_to(x, (100_000, 2)) * 1e-3).backward()
    np.testing.assert_allclose(x.grad.data, np.full((1, 2), 100.0), rtol=1e-2)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_every_op_with_a_rule_that_names_no_array(name, monkeypatch):
    cases = [case_of(sample, DOMAIN) for sample in ELEMENTWISE[name]]
    expected = [op_by_op(DOMAIN, gradients, case, True, True) for case in cases]
    monkeypatch.setattr(DOMAIN, "large", 1)
    for case, each in zip(cases, expected, strict=True):
        for found, g in zip(gradients(case, True, True), each, strict=True):
            np.testing.assert_allclose(found, g, rtol=1e-12, atol=1e-12)


UNARY = (
    *(lambda x: x * 2.0, lambda x: 0.5 * x, lambda x: x / 4.0, lambda x: -x, lambda x: x + 1.0),
    *(lambda x: xp.flip(x), lambda x: x.T.T, lambda x: xp.reshape(xp.reshape(x, (-1,)), SHAPE)),
    *(lambda x: 3.0 - x, lambda x: xp.astype(xp.astype(x, xp.float32), xp.float64)),
)
BINARY = (xp.add, xp.subtract, lambda x, y: x * 2.0 - y[:1, :], lambda x, y: x + xp.mean(y))
ARRAYS = (xp.sin, lambda x: xp.where(x > 1, x, 0.5), lambda x: x * drawn(9), lambda x: x * x)


@pytest.mark.parametrize("seed", range(20))
def test_graphs_of_any_shape(seed):
    def program(*leaves):
        draw, values = random.Random(seed), list(leaves)
        for _ in range(12):
            kind = draw.choice((UNARY, UNARY, UNARY, BINARY, BINARY, ARRAYS))
            arguments = draw.sample(values, 2) if kind is BINARY else [draw.choice(values)]
            values.append(draw.choice(kind)(*arguments))
        return sum(xp.sum(value) * 0.5 for value in draw.sample(values, 6))

    xs = [drawn(i) for i in range(3)]
    expected = op_by_op(DOMAIN, gradient, program, *xs)
    for found, other in zip(gradient(program, *xs), expected, strict=True):
        assert (found is None) is (other is None)
        if found is not None:
            np.testing.assert_allclose(found, other, rtol=1e-6, atol=1e-6)


def test_gradients_are_the_users_own():
    x, y = ag.Variable(drawn(0)), ag.Variable(drawn(1))
    loss = xp.sum((x - y) * 2.0)
    loss.backward(retain_graph=True)
    for leaf in (x, y):
        raw = leaf.grad.data
        assert raw.flags.writeable
        assert raw.flags.c_contiguous
        assert raw.strides == leaf.data.strides
    assert not np.shares_memory(x.grad.data, y.grad.data)
    x.grad.data[0, 0] = 7.0
    assert x.grad.data[0, 1] == 2.0
    loss.backward()  # it is added to what is there
    assert (x.grad.data[0, 0], x.grad.data[0, 1], y.grad.data[0, 0]) == (9.0, 4.0, -4.0)
    with pytest.raises(FreedGraphError, match="'sum'"):
        loss.backward()


def test_hooks_and_retained_gradients_see_arrays(carried):
    x = ag.Variable(drawn(0))
    y = x * 2.0
    z = y * 3.0
    seen = []
    z.register_hook(seen.append)
    y.register_hook(lambda g: g * xp.astype(y > 2.0, xp.float64))
    y.retain_grad()
    xp.sum(z * 5.0).backward()
    assert carried == ["multiply", "multiply"]  # and then it is no longer one number
    np.testing.assert_array_equal(seen[0].data, np.full(SHAPE, 5.0))
    np.testing.assert_array_equal(y.grad.data, 15.0 * (y.data > 2.0))
    np.testing.assert_array_equal(x.grad.data, 30.0 * (y.data > 2.0))
    assert y.grad.data.flags.writeable


def test_a_pass_that_plugins_observe_goes_op_by_op(carried):
    class Looks:
        """Looks at what each rule gives."""

        def __init__(self):
            self.seen = []

        @hookimpl
        def backward_postprocess(self, op, grad_inputs):
            self.seen += [
                grad for grad in grad_inputs if op.name == "multiply" and grad is not None
            ]

    looks = Looks()
    with ag.hooks(looks):
        (g,) = gradient(fan_out, drawn(0))
    assert carried == []
    assert all(type(each) is np.ndarray and each.shape == SHAPE for each in looks.seen)
    assert all(each.flags.writeable and each.flags.c_contiguous for each in looks.seen)
    assert len(looks.seen) == 50
    np.testing.assert_array_equal(g, ag.grad(fan_out)(drawn(0)))


def test_values_that_a_plugin_packed_are_restored_by_it(carried):
    x, c = ag.Variable(drawn(0)), drawn(1)
    with ag.hooks(Packing()):
        y = x * c
        z = y * 2.0
    xp.sum(z * 3.0).backward()
    np.testing.assert_array_equal(x.grad.data, 6.0 * c)
    assert carried == ["multiply"]


def test_recorded_passes_and_other_leaves_in_the_process(carried):
    x, other = ag.Variable(drawn(0)), ag.Variable(drawn(1))
    loss = xp.sum(x * other * 2.0) + xp.sum(x * 3.0)
    (g,) = ag.autodiff.grad(loss, [x], create_graph=True)
    assert carried == []
    (second,) = ag.autodiff.grad(xp.sum(g), [other])
    np.testing.assert_array_equal(second.data, np.full(SHAPE, 2.0))
    carried.clear()
    (g,) = ag.autodiff.grad(loss, [x])
    assert carried == ["multiply", "multiply"]
    np.testing.assert_array_equal(g.data, 2.0 * other.data + 3.0)


@pytest.mark.parametrize("factor", [np.inf, -np.inf, np.nan, 0.0, 1e308])
def test_numbers_that_are_not_finite_and_masks(factor):
    x = drawn(0)

    def f(x):
        kept = xp.where(x > 1.0, x, 0.0)
        return xp.sum(kept * factor) + xp.sum(xp.where(x > 1.2, x * factor, 0.0) * 10.0)

    with np.errstate(all="ignore"):
        expected = op_by_op(DOMAIN, gradient, f, x)
        np.testing.assert_array_equal(gradient(f, x), expected)


@pytest.mark.parametrize("kind", ["elementwise", "linear"])
def test_what_is_declared_counts_and_no_name(kind, carried):
    ops, name = OpSet("mine"), f"scaled_{kind}"
    rules = {
        "elementwise": lambda factor: factor,
        "linear": lambda g, factor: g * factor,  # nobody knows what it does with a number
    }
    getattr(ops, kind)(
        f"{name}(x, /, factor)",
        x=rules[kind],
        forward=lambda x, factor: x * factor,
        options=("factor",),
    )
    scaled = compile_op(ops.ops[name], DOMAIN, lambda x, factor: x * factor)
    (g,) = gradient(lambda x: sum(xp.sum(scaled(x, c)) for c in NUMBERS), drawn(0))
    assert carried == [name] * (50 if kind == "elementwise" else 0)
    np.testing.assert_allclose(g, np.full(SHAPE, sum(NUMBERS)), rtol=1e-13)


def test_rules_that_name_shapes_see_all_elements(carried):
    ops = OpSet("mine")
    ops.elementwise(
        "share_of(x, /)", forward=lambda x: x / x.size, x=lambda x_shape: 1.0 / x_shape[0]
    )
    share_of = compile_op(ops.ops["share_of"], DOMAIN, lambda x: x / x.shape[0])
    (g,) = gradient(lambda x: xp.sum(share_of(x) * 2.0), drawn(0))
    assert carried == ["multiply"]
    np.testing.assert_allclose(g, np.full(SHAPE, 2.0 / SHAPE[0]), rtol=1e-15)


def test_an_error_names_its_op_and_leaves_gradients_alone(monkeypatch):
    x = ag.Variable(drawn(0))
    y = xp.negative(x)
    loss = xp.sum(y * 2.0) + xp.sum(x * 3.0)

    def fails(g, node, xp=None):
        raise ZeroDivisionError("in a rule")

    monkeypatch.setattr(y._node[2].compiled, "backward", fails)
    with pytest.raises(ZeroDivisionError) as caught:
        loss.backward(retain_graph=True)
    assert caught.value.__notes__ == ["agnograd: in the backward pass, at op 'negative'"]
    assert x.grad is None
    monkeypatch.undo()
    loss.backward()
    np.testing.assert_array_equal(x.grad.data, np.ones(SHAPE))


def test_calls_of_a_long_chain_are_as_many_for_each_op():
    x = ag.Variable(drawn(0))

    def chain(n):
        y = x
        for _ in range(n):
            y = y * 1.0
        return xp.sum(y)

    def calls_of(n):
        return calls(chain(n).backward)

    calls_of(2)
    assert calls_of(40) - calls_of(20) <= 20 * 45
