"""Steps that let go of memory come early: fewer bytes in use at a time, and the same bits."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd_compile._lowerings import lowering_for
from agnograd_compile._passes.order import order
from agnograd_compile._passes.passes import run
from drawn import XP, search
from functions import FUNCTIONS
from traced import check, ops, traced

R = np.random.default_rng(3)
# Large enough for an order to matter.
X = R.normal(size=(128, 256))
W, U, V = R.normal(size=(256, 256)) * 0.1, R.normal(size=(256, 256)) * 0.1, R.normal(size=(256, 2))


def loss(x, w, u, v):
    hidden = XP.tanh(XP.tanh(x @ w) @ u)
    return XP.mean((hidden @ v) ** 2)


def gradients(f, count):
    return ag.grad(f, argnums=tuple(range(1, count)))


def held(program, lowering="numpy"):
    """Return the bytes of a program's buffers."""
    return sum(lowering_for("numpy", lowering).describe(program)["buffers"])


@pytest.mark.usual_switches
def test_gradients_of_weights_let_go_of_activations():
    program = run(traced("numpy", gradients(loss, 4), X, W, U, V), ("identities", "dead"))
    after = check(program, X, W, U, V, others=[[X * 0.5, W, U, V]], names=("order",), lowered=True)
    before, now = ([*map(id, each.steps)] for each in (program, after))
    assert sorted(now) == sorted(before)
    assert now != before
    assert held(after) < 0.6 * held(program)
    assert held(after, "c") <= held(program, "c") < 0.6 * held(program)


def test_each_view_is_made_before_the_step_that_reads_it():
    after = order(run(traced("numpy", gradients(loss, 4), X, W, U, V), ("identities", "dead")))
    made = {*after.inputs, *after.constants}
    for step in after.steps:
        assert made.issuperset(step.uses())
        made.update(step.outs)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: XP.sum(XP.tanh(x * 2.0 + x)),  # each value is read where it is made
        lambda x: XP.sum(XP.sin(x[:4, :4]) * XP.sum(XP.cos(x[:4, :4]))),  # values are small
    ],
)
def test_an_order_that_gains_nothing_stays(f):
    program = traced("numpy", f, X)
    assert order(program) is program


def early(x, looks):
    """Make an array, something else, and a number of the array."""
    first, second = XP.sin(x), XP.cos(x)
    third = second * XP.exp(x)
    fourth = third + XP.sin(third) * XP.cos(third)
    if looks:
        bool(fourth[0, 0] > 0.0)
    return XP.sum(first) + XP.sum(fourth)


def test_nothing_goes_past_a_guard():
    free, guarded = (
        order(traced("numpy", lambda x: early(x, looks), X))  # noqa: B023
        for looks in (False, True)
    )
    assert ops(free).index("sum") == 1
    names = ops(guarded)
    assert names.index("sum") > names.index("@guard")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_of_many_functions_are_the_same(function, monkeypatch):
    args = FUNCTIONS[function]
    every = tuple(range(len(args)))
    program = traced("numpy", ag.value_and_grad(lambda *a: function(XP, *a), every), *args)
    monkeypatch.setattr("agnograd_compile._passes.order.ORDERED_BYTES", 1)
    check(program, *args, names=("order",), lowered=True)


def test_random_programs_are_the_same(request, monkeypatch):
    monkeypatch.setattr("agnograd_compile._passes.order.ORDERED_BYTES", 1)
    monkeypatch.setattr("agnograd_compile._passes.order.ORDER_GAIN", 1.0)
    moved, count = [], request.config.getoption("--programs") // 2

    def holds(drawn):
        every = tuple(range(len(drawn.inputs)))
        f = ag.value_and_grad(lambda *inputs: drawn.function()(XP, *inputs), every)
        try:
            program = traced("numpy", f, *drawn.inputs)
        except CompileError:
            return
        moved.append(order(program) is not program)
        check(program, *drawn.inputs, names=("order",), lowered=True)

    assert search(count, holds) == count
    assert sum(moved) > count // 25
