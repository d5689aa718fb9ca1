"""Common subexpressions: one call for those that make the same call, and only for those."""

import math

import numpy as np
import pytest

import agnograd as ag
from agnograd.extend import op_named
from agnograd_compile._passes import common as module
from agnograd_compile._passes.common import common, key_of
from agnograd_compile._programs.program import GUARD, Ref, Step
from agnograd_compile._surroundings.keys import value_key
from traced import check, ops, raw, traced

XP = ag.namespace("numpy")
SETTINGS = {"names": ("common",)}


def test_equal_calls_are_one(backend, xp):
    x = raw(backend, [1.0, 2.0, 3.0])
    program = traced(backend, lambda x: xp.sin(x) * xp.sin(x) + xp.sum(xp.sin(x)), x)
    assert ops(check(program, x, **SETTINGS)).count("sin") == 1


def test_so_are_those_of_their_results(backend, xp):
    x = raw(backend, [1.0, 2.0, 3.0])
    program = traced(backend, lambda x: xp.exp(xp.sin(x)) - xp.exp(xp.sin(x)), x)
    assert ops(check(program, x, **SETTINGS)) == ["sin", "exp", "subtract"]


def test_keys_with_slices_and_lists_of_arrays(backend, xp):
    x = raw(backend, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    program = traced(
        backend,
        lambda x: (
            xp.concat([x[0, 1:], x[1, :2]]) * xp.concat([x[0, 1:], x[1, :2]])
            + xp.stack([x[0, 1:], x[0, 1:]])[0, 0]
        ),
        x,
    )
    after = ops(check(program, x, **SETTINGS))
    assert after.count("concat") == 1
    assert after.count("__getitem__") == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (1.0, 1 + 0j),
        (0j, complex(0, -0.0)),
        ((1,), [1]),
        (slice(0, 1), slice(0, 1.0)),
        (slice(1), (None, 1, None)),
        ("a", b"a"),
        (None, ...),
    ],
)
def test_arguments_that_differ(one, other):
    assert value_key(one) != value_key(other)
    assert value_key((one, [other])) == value_key((one, [other]))


def test_nan_is_itself():
    assert value_key(math.nan) == value_key(float("nan"))


@pytest.mark.parametrize("numbers", [(0.0, -0.0), (1, 1.0), (2, 2.0)])
def test_numbers_keep_their_type_and_sign(numbers):
    xp = ag.namespace("numpy")
    x = np.array([-0.0, 1.0])
    program = traced("numpy", lambda x: [xp.add(x, number) for number in numbers], x)
    assert len(check(program, x, **SETTINGS).steps) == 2


def test_sums_and_products_in_the_other_order(backend, xp):
    x, y = raw(backend, [1.0, 2.0]), raw(backend, [3.0, 0.1])
    program = traced(backend, lambda x, y: (x + y, y + x, x * y, y * x, x - y, y - x), x, y)
    after = check(program, x, y, **SETTINGS)
    assert ops(after) == ["add", "multiply", "subtract", "subtract"]


def test_results_that_are_not_alike_stay_two():
    """A library may lay the result out as the first argument is."""
    x, y = np.ones((3, 2)), np.asfortranarray(np.ones((3, 2)))
    program = traced("numpy", lambda x, y: (x + y, y + x), x, y)
    one, other = program.outputs
    facts = {**program.facts, other: program.facts[one]._replace(strides=(8, 24))}
    assert len(common(program.with_(facts=facts)).steps) == 2
    assert len(common(program).steps) == 1


def test_outputs_that_became_one_are_separate_arrays(backend, xp):
    x = raw(backend, [1.0, 2.0])
    program = traced(backend, lambda x: (xp.sin(x), xp.sin(x)), x)
    after = check(program, x, **SETTINGS)
    assert after.outputs[0] == after.outputs[1]


def test_an_argument_that_is_not_hashable_is_left():
    program = traced("numpy", lambda x: x + x, raw("numpy", [1.0]))
    one, other = (
        Step("op", (program.inputs[0], {1, 2}), {}, (ref,))
        for ref in (program.steps[0].outs[0], Ref(2))
    )
    facts = {**program.facts, other.outs[0]: program.facts[one.outs[0]]}
    program = program.with_(steps=(one, other), facts=facts, outputs=one.outs + other.outs)
    assert common(program) is program
    hash(key_of(Step("op", (Ref(0),), {"axis": [1]}, (Ref(1),)), program))


def test_scatters_into_the_same_array_are_one(backend, xp):
    x = raw(backend, [1.0, 2.0, 3.0])

    def f(x):
        return ag.grad(lambda x: x[0] * 2.0)(x) + ag.grad(lambda x: x[0] * 2.0)(x)

    after = check(traced(backend, f, x), x, **SETTINGS)
    assert len(ops(after)) <= 2


def test_guards_on_the_same_value(backend, xp):
    x = raw(backend, [1.0, 2.0])

    def f(x):
        y = x
        for _ in range(3):
            if xp.sum(x) > 0:
                y = y * 2.0
        return y * float(xp.sum(x)) if float(xp.sum(x)) > 0 else y

    others = [[raw(backend, [-1.0, -2.0])], [raw(backend, [2.0, 2.0])]]
    after = check(traced(backend, f, x), x, others=others)
    guards = [step.kwargs for step in after.steps if step.op == GUARD]
    assert [each["kind"] for each in guards] == ["bool", "float"]
    assert [each["number"] for each in guards] == [0, 3]


def test_a_guard_on_a_constant():
    c = np.array([1.0, 2.0])
    program = traced("numpy", lambda x: x * (2.0 if x[0] > 0 else 3.0), c)
    known = program.with_(inputs=(), constants={program.inputs[0]: c})
    assert GUARD not in ops(check(known))


@pytest.mark.parametrize(("dtype", "count"), [("float32", 1), ("complex64", 2)])
def test_products_the_other_way_round_are_one_of_real_arrays(dtype, count):
    # NumPy rounds the parts of a complex product in an order that depends on the operands'.
    x, y = (np.asarray(each, dtype=dtype) for each in ([0.1, 0.7], [0.3, 0.9]))
    program = traced("numpy", lambda x, y: [x * y, y * x], x, y)
    assert ops(common(program)).count("multiply") == count


def test_an_op_says_that_it_is_commutative(monkeypatch):
    x, y = np.asarray([0.1, 0.7]), np.asarray([0.3, 0.9])
    program = traced("numpy", lambda x, y: [XP.hypot(x, y), XP.hypot(y, x)], x, y)
    assert len(common(program).steps) == 2
    hypot = op_named("hypot")._replace(commutative=True)
    monkeypatch.setattr(module, "declared", {"hypot": hypot}.__getitem__)
    assert len(common(program).steps) == 1
