"""All passes in a row: results are those of the program, bit for bit, and passes come to an end."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd_compile._passes import passes
from drawn import XP, search
from functions import FUNCTIONS
from traced import check, ops, raw, same_bits, traced

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)


def gradients(xp, function):
    """Return a function of the arrays: its value and all gradients."""
    every = tuple(range(len(FUNCTIONS[function])))
    return ag.value_and_grad(lambda *args: function(xp, *args), argnums=every)


@BACKENDS
@EACH
def test_values_and_gradients_are_the_same_bit_for_bit(backend, xp, function):
    args = [raw(backend, each) for each in FUNCTIONS[function]]
    others = [[raw(backend, each * 1.25 + 0.125) for each in FUNCTIONS[function]]]
    program = traced(backend, gradients(xp, function), *args)
    after = check(program, *args, others=others)
    assert len(after.steps) <= len(program.steps)


@EACH
def test_so_are_second_derivatives(function):
    args = FUNCTIONS[function]
    program = traced("numpy", ag.hessian(lambda x: function(XP, x, *args[1:])), args[0])
    after = check(program, args[0], others=[[args[0] * 0.75 - 0.25]])
    assert len(after.steps) < len(program.steps)


@EACH
@pytest.mark.parametrize("name", passes.PASSES)
def test_each_pass_by_itself(name, function):
    args = FUNCTIONS[function]
    check(traced("numpy", gradients(XP, function), *args), *args, names=(name,))


def test_passes_that_count_reads_run_once_where_steps_are_dead(monkeypatch):
    ran = []

    def noticed(name, function):
        return lambda program: ran.append(name) or function(program)

    for name, function in list(passes.PASSES.items()):
        monkeypatch.setitem(passes.PASSES, name, noticed(name, function))
    x = np.linspace(0.1, 0.9, 10)
    program = traced("numpy", lambda x: [XP.sin(x), XP.cos(x)][0], x)
    assert len(passes.run(program).steps) == 1
    assert sorted(ran) == sorted(passes.PASSES)


def selects_by_mask(program):
    """Return whether shapes depend on the values of a mask."""
    return any(
        step.op == "__getitem__"
        and any(program.facts[ref].dtype == bool for ref in step.uses()[1:])
        for step in program.steps
    )


def test_random_programs(request):
    count = request.config.getoption("--programs") // 2

    def holds(program):
        f = ag.value_and_grad(
            lambda *inputs: program.function()(XP, *inputs),
            argnums=tuple(range(len(program.inputs))),
        )
        try:
            made = traced("numpy", f, *program.inputs)
        except CompileError:  # shapes that depend on values
            return
        others = [[each * 0.5 + 0.01 for each in program.inputs]]
        check(made, *program.inputs, others=[] if selects_by_mask(made) else others, lowered=True)

    assert search(count, holds) == count


@EACH
def test_a_second_run_changes_nothing(function):
    args = FUNCTIONS[function]

    def pulled_back(cotangent, *args):
        value, pullback = ag.vjp(lambda *args: function(XP, *args), *args)
        return value, *pullback(cotangent)

    program = traced("numpy", pulled_back, np.array(0.75), *args)
    once = check(program, np.array(0.75), *args, others=[[np.array(-0.0), *args]])
    twice = passes.run(once)
    assert twice.steps == once.steps
    assert not any(twice.notes["passes"].values())


def test_notes_say_what_each_pass_removed():
    x = np.ones(3)

    def f(x):
        XP.exp(x)
        return XP.sin(x) + XP.sin(x) * 1

    program = passes.run(traced("numpy", f, x))
    assert ops(program) == ["sin", "add"]
    removed = program.notes["passes"]
    assert removed["dead"] == 1
    assert removed["common"] == 1
    assert removed["identities"] == 1


def test_only_the_passes_that_were_named_run():
    x = np.ones(3)
    program = traced("numpy", lambda x: (XP.exp(x), XP.sin(x) + XP.sin(x) * 1)[1], x)
    assert passes.run(program, ()).steps == program.steps
    assert ops(passes.run(program, ("dead",))) == ["sin", "sin", "multiply", "add"]


def test_outcomes_are_compared_bit_for_bit():
    assert same_bits([np.array([np.nan])], [np.array([-np.nan])])
    assert not same_bits([np.array([0.0])], [np.array([-0.0])])
    assert not same_bits([np.array([1.0])], [np.array([1.0 + 2**-52])])
    assert not same_bits([np.array([1.0])], [np.array([1.0], dtype="float32")])
    assert not same_bits((0, True), [np.array([1.0])])
