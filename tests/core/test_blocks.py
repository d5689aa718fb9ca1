"""Large cotangents in blocks through element-wise ops: as op by op, with fewer arrays."""

import random

import numpy as np
import pytest

import agnograd as ag
from agnograd._codegen.deferring import compile_op
from agnograd._engine import blocks
from agnograd._engine.run import Pass
from agnograd._graph.nodes import OP
from agnograd.errors import FreedGraphError
from agnograd.extend import OpSet, hookimpl
from tests.helpers.large import (
    ELEMENTWISE,
    carried_as_numbers,
    case_of,
    drawn,
    gradients,
    has_large_arrays,
    in_blocks_of_one,
    op_by_op,
)
from tests.helpers.memory import peak_of

pytestmark = [pytest.mark.accelerated, has_large_arrays]

xp = ag.namespace("numpy")
DOMAIN = xp.asarray(0.0)._domain


@pytest.fixture
def runs(monkeypatch):
    """Return a list that gets the names of the ops that are run in blocks."""
    found, step = [], blocks._Step.run

    def run(self, arrived, owned, part, ones):
        if part.start == 0:
            found.append(self.node[OP].name)
        return step(self, arrived, owned, part, ones)

    monkeypatch.setattr(blocks._Step, "run", run)
    return found


@pytest.fixture
def carried(monkeypatch):
    return carried_as_numbers(monkeypatch)


@pytest.mark.usual_switches
@pytest.mark.parametrize(("size", "expected"), [(2**15, ["sin", "sin"]), (2**15 - 1, [])])
def test_arrays_of_a_quarter_of_a_mebibyte_go_in_blocks(size, expected, runs):
    x = ag.Variable(np.linspace(0.0, 1.0, size))
    xp.sum(xp.sin(xp.sin(x))).backward()
    assert runs == expected


def test_a_large_gradient_takes_the_step_of_a_product_of_matrices(monkeypatch):
    visits, visit = [], Pass.visit
    monkeypatch.setattr(Pass, "visit", lambda *args: visits.append(1) or visit(*args))
    x, matrix = ag.Variable(np.ones((400, 400))), np.eye(400)
    xp.sum((x @ matrix @ matrix) * 2.0).backward()
    assert not visits


def over(x, many):
    return sum(xp.sum((x * c) * x) for c in many)


PROGRAMS = {
    "constants": lambda x, many: sum(xp.sum(x * c) for c in many),
    "scalars": lambda x, many: sum(xp.sum(0.5 * x * c) + xp.sum(x * 0.25) for c in many),
    "functions": lambda x, many: sum(xp.sum(xp.exp(x * 0.1) / c + xp.sin(x)) for c in many),
    "transposed": lambda x, many: over(x.T, [c.T for c in many]),
    "both inputs": lambda x, many: sum(xp.sum(x * x * c) for c in many),
    "rows": lambda x, many: sum(xp.sum(xp.sin(x * c[0, :]) * c) for c in many),
    "negatives": lambda x, many: sum(xp.sum(xp.exp(-x * x) * c) for c in many),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_small_parts(program, order, dtype, runs):
    x, many = drawn(0, dtype, order), [drawn(i, dtype, order) for i in range(1, 5)]

    def f(x, many):
        total = PROGRAMS[program](x, many)
        return xp.real(total) + 0.5 * xp.imag(total) if dtype == "complex128" else total

    whole = ag.grad(f)(x, many)
    # Blocks are of arrays in row-major order; what is not is added up in the usual way.
    assert runs or order == ("C" if program == "transposed" else "F")
    assert whole.dtype == x.dtype
    runs.clear()
    parts = [
        op_by_op(DOMAIN, ag.grad(f), x[:, columns], [c[:, columns] for c in many])
        for columns in (slice(0, 100), slice(100, 200), slice(200, 400), slice(400, None))
    ]
    assert len(parts[0]) == 500
    np.testing.assert_allclose(whole, np.concat(parts, axis=1), rtol=1e-5)


@pytest.mark.parametrize("summed", [False, True], ids=["multiplied", "summed"])
@pytest.mark.parametrize("name", [name for name, samples in ELEMENTWISE.items() if samples])
def test_every_element_wise_op(name, summed, runs, carried, monkeypatch):
    cases = [case_of(sample, DOMAIN) for sample in ELEMENTWISE[name]]
    expected = [op_by_op(DOMAIN, gradients, case, summed) for case in cases]
    in_blocks_of_one(DOMAIN, monkeypatch)
    for case, each in zip(cases, expected, strict=True):
        for found, g in zip(gradients(case, summed), each, strict=True):
            np.testing.assert_allclose(found, g, rtol=1e-12, atol=1e-12)
    assert name in runs or name in carried or len(cases[0].op.arrays) > 2


UNARY = (xp.sin, xp.tanh, xp.negative, lambda x: 0.5 * x, lambda x: -x * x, xp.square)
BINARY = (xp.add, xp.subtract, xp.multiply, lambda x, y: x / (2.0 + y * y))
OTHER = (lambda x: x[::-1, :], lambda x: xp.flip(x, axis=1), lambda x: xp.where(x > 1, x, 0.5))


def program_of(seed):
    """Return a program of random ops of whatever came before, and how many inputs it has."""
    draw = random.Random(seed)

    def program(*leaves):
        values = list(leaves)
        for _ in range(12):
            kind = draw.choice((UNARY, UNARY, BINARY, BINARY, BINARY, OTHER))
            arguments = draw.sample(values, 2) if kind is BINARY else [draw.choice(values)]
            values.append(draw.choice(kind)(*arguments))
        return xp.sum(values[-1] * values[-3]) + xp.sum(values[-2])

    return program


@pytest.mark.parametrize("seed", range(40))
def test_graphs_of_any_shape(seed):
    xs = [drawn(i) - 1.0 for i in range(3)]

    def program():
        leaves = [ag.Variable(x) for x in xs]
        program_of(seed)(*leaves).backward()
        return [None if leaf.grad is None else leaf.grad.data for leaf in leaves]

    for found, expected in zip(program(), op_by_op(DOMAIN, program), strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_one_stretch_goes_from_a_sum_to_the_leaves(runs):
    x, c = ag.Variable(drawn(0)), drawn(1)
    y = xp.exp(-x * x) * 0.5 + xp.sin(x)
    xp.sum(xp.tanh(y) * c).backward()
    names = ["multiply", "tanh", "add", "sin", "multiply", "exp", "multiply", "negative"]
    assert runs == names


@pytest.mark.parametrize(
    "cut", [xp.sum, lambda x: x[:, ::-1], lambda x: xp.astype(xp.astype(x, xp.float32), x.dtype)]
)
def test_a_stretch_ends_at_other_ops(cut, runs):
    x = ag.Variable(drawn(0))
    y = xp.sin(xp.sin(x) * 2.0)
    xp.sum(xp.sin(xp.sin(cut(y) * y))).backward()
    assert runs.count("sin") == 4
    np.testing.assert_allclose(
        x.grad.data, op_by_op(DOMAIN, ag.grad(lambda x: xp.sum(
            xp.sin(xp.sin(cut(xp.sin(xp.sin(x) * 2.0)) * xp.sin(xp.sin(x) * 2.0)))
        )), drawn(0)), rtol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_the_gradient_of_a_sum_is_multiplied_with_nothing_real(dtype, monkeypatch):
    x, c = ag.Variable(drawn(0, dtype)), drawn(1, dtype)
    products = [x * c for _ in range(3)]
    total = sum(xp.sum(product) for product in products)
    op, multiplied = products[0]._node[OP], []

    def counted(holder, name):
        function = getattr(holder, name)

        def multiplies(*arguments):
            multiplied.append(1)
            return function(*arguments)

        monkeypatch.setattr(holder, name, multiplies)

    counted(op.compiled, "backward")
    counted(op, "step")  # of what is not made in blocks
    xp.real(total).backward()
    np.testing.assert_allclose(x.grad.data, 3.0 * c.conj(), rtol=1e-6)
    # What arrives first is no sum, and not made in blocks.
    assert (len(multiplied) == 1) == (dtype != "complex128")


def test_a_derivative_of_another_shape_or_dtype_is_multiplied_with_the_ones():
    x = ag.Variable(drawn(0, "float32"))
    for factor in (2.0, np.float64(2.0), np.asarray(2.0), drawn(1, "float64"), drawn(1)[0, :]):
        x.grad = None
        (xp.sum(x * factor) + xp.sum(x * factor)).backward()
        assert (x.grad.shape, x.grad.dtype) == (x.shape, np.float32)
        expected = np.broadcast_to(2.0 * factor, x.shape)
        np.testing.assert_allclose(x.grad.data, expected, rtol=1e-6)


def test_gradients_share_no_memory_with_what_was_saved():
    x, c = ag.Variable(drawn(0)), drawn(1)
    (xp.sum(x * c) + xp.sum(x * c)).backward()
    assert not np.shares_memory(x.grad.data, c)
    np.testing.assert_array_equal(c, drawn(1))


def test_one_op_alone_is_not_worth_it(runs):
    x = ag.Variable(drawn(0))
    xp.sum(xp.tanh(x) + 1.0).backward()
    assert runs == []


def test_a_chain_needs_no_array_but_its_gradient():
    x = ag.Variable(drawn(0))
    y = x
    for _ in range(10):
        y = xp.sin(y * 0.9 + 0.1)
    loss = xp.sum(y)
    assert peak_of(loss.backward, retain_graph=True) < 1.2 * x.data.nbytes


def test_the_newest_gradient_is_held_unless_it_is_very_large(monkeypatch):
    monkeypatch.setattr(blocks, "HELD_ELEMENTS", drawn(0).size)
    gradient = ag.grad(lambda x: xp.sum(xp.sin(xp.exp(x))))
    first, second = gradient(drawn(0)), gradient(drawn(1))
    assert first is not second
    assert DOMAIN.held is second
    monkeypatch.setattr(blocks, "HELD_ELEMENTS", second.size - 1)
    gradient(drawn(2))
    assert DOMAIN.held is second


def test_what_is_retained_or_seen_in_the_middle(runs):
    x = ag.Variable(drawn(0))
    y = xp.sin(x) * 2.0
    z = xp.cos(y) * 3.0
    seen = []
    z.register_hook(seen.append)
    y.retain_grad()
    xp.sum(xp.exp(xp.exp(z))).backward()
    assert runs == ["exp", "exp", "multiply", "cos", "multiply", "sin"]
    g = np.exp(np.exp(z.data)) * np.exp(z.data)
    np.testing.assert_allclose(seen[0].data, g, rtol=1e-12)
    np.testing.assert_allclose(y.grad.data, g * 3.0 * -np.sin(y.data), rtol=1e-12)
    np.testing.assert_allclose(x.grad.data, y.grad.data * 2.0 * np.cos(x.data), rtol=1e-12)


def test_graphs_are_freed_or_retained_as_usual():
    x = ag.Variable(drawn(0))
    loss = xp.sum(xp.sin(xp.exp(x) * 2.0))
    loss.backward(retain_graph=True)
    once = x.grad.data.copy()
    loss.backward()
    np.testing.assert_array_equal(x.grad.data, 2 * once)
    with pytest.raises(FreedGraphError):
        loss.backward()
    part = xp.exp(x)
    xp.sum(xp.sin(part * 2.0)).backward()
    with pytest.raises(FreedGraphError, match="'exp'"):
        xp.sum(part).backward()


def test_an_error_in_a_rule_names_its_op_and_leaves_gradients_alone(monkeypatch):
    x = ag.Variable(drawn(0))
    y = xp.exp(x)
    total = xp.sum(xp.sin(y * 2.0)) + xp.sum(x * 3.0) + xp.sum(x * 4.0)

    def fails(g, node, xp=None):
        raise ZeroDivisionError("in a rule")

    monkeypatch.setattr(y._node[OP].compiled, "backward", fails)
    with pytest.raises(ZeroDivisionError) as caught:
        total.backward(retain_graph=True)
    assert caught.value.__notes__ == ["agnograd: in the backward pass, at op 'exp'"]
    assert x.grad is None
    monkeypatch.undo()
    total.backward()
    expected = 2.0 * np.cos(2.0 * y.data) * y.data + 7.0
    np.testing.assert_allclose(x.grad.data, expected, rtol=1e-12)


def test_values_that_a_plugin_packed_are_restored_by_it():
    class Halves:
        """Keeps half of each value, and doubles it again."""

        @hookimpl
        def save_value(self, value):
            return value / 2 if isinstance(value, np.ndarray) else value

        @hookimpl
        def restore_value(self, packed):
            return packed * 2 if isinstance(packed, np.ndarray) else packed

    x = ag.Variable(drawn(0))
    with ag.hooks(Halves()):
        y = xp.sin(x)
    xp.sum(xp.exp(xp.sin(y) * 2.0)).backward()
    inner = np.sin(np.sin(x.data))
    expected = np.exp(inner * 2) * 2 * np.cos(np.sin(x.data)) * np.cos(x.data)
    np.testing.assert_allclose(x.grad.data, expected, rtol=1e-12)


def test_gradients_that_arrive_element_by_element_at_a_result():
    x = ag.Variable(drawn(0))
    y = xp.sin(x * 2.0)
    total = xp.sum(xp.exp(y * 0.5))
    for i in range(10):
        total = total + y[i, i] * y[i, i]
    total.backward()
    g = np.exp(np.sin(2 * x.data) / 2) / 2
    g[range(10), range(10)] += 2 * np.sin(2 * x.data)[range(10), range(10)]
    np.testing.assert_allclose(x.grad.data, g * 2 * np.cos(2 * x.data), rtol=1e-12)


def test_rules_that_name_shapes_are_applied_to_all_elements_at_once(runs):
    ops = OpSet("elementwise")
    ops.elementwise(
        "mean_of(x, /)",
        forward=lambda x: x / x.size,
        x=lambda x_shape: 1.0 / (x_shape[0] * x_shape[1]),
    )
    mean_of = compile_op(ops.ops["mean_of"], DOMAIN, lambda x: x / x.size)
    x = ag.Variable(drawn(0))
    xp.sum(xp.sin(mean_of(xp.sin(x) * 2.0) * 2.0)).backward()
    assert "mean_of" not in runs
    n = x.data.size
    inner = np.sin(x.data) * 4 / n
    np.testing.assert_allclose(x.grad.data, np.cos(inner) * 4 / n * np.cos(x.data), rtol=1e-12)


@pytest.mark.parametrize(
    "product",
    [
        lambda x: -x * x,
        lambda x: x * -x,
        lambda x: -x * x.detach(),
        lambda x: x.detach() * -x,
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_with_the_negative_of_what_is_tracked_or_not(product, dtype, runs):
    def program():
        x = ag.Variable(drawn(0, dtype))
        xp.sum(xp.real(xp.exp(product(x)) * (0.5 if dtype == "float64" else 0.5j))).backward()
        return x.grad.data

    found = program()
    assert {"exp", "multiply"} <= set(runs)
    np.testing.assert_allclose(found, op_by_op(DOMAIN, program), rtol=1e-12)
