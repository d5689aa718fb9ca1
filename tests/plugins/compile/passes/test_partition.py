"""Partitions: a forward and a backward program give what the joint program gives."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError, NoGradientError
from agnograd_compile._passes import passes
from agnograd_compile._passes.partition import partition
from agnograd_compile._programs.program import GUARD
from agnograd_compile._programs.straight import straight
from drawn import XP, search
from functions import FUNCTIONS
from traced import is_sound, ops, outcome, raw, same_bits, traced

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)


def joint(function, count):
    """Return a function of arguments and a cotangent: the value, and the gradients."""

    def f(*given):
        value, pullback = ag.vjp(function, *given[:count])
        return value, *pullback(given[count])

    return f


def split(backend, function, args, cotangent):
    """Trace, and split; return the joint program too."""
    program = traced(backend, joint(function, len(args)), *args, cotangent)
    found = partition(program, program.inputs[-1:], 1)
    is_sound(found.forward)
    is_sound(found.backward)
    return program, found


def both(found, args, cotangent):
    """Run forward and backward."""
    value, *residuals = straight(found.forward)(args)
    given = [args[position] for position in found.inputs]
    return [value, *straight(found.backward)([*given, *residuals, cotangent])]


@BACKENDS
@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients(backend, xp, function, optimised):
    args = [raw(backend, each) for each in FUNCTIONS[function]]
    cotangent = raw(backend, 0.75)
    program, found = split(backend, lambda *args: function(xp, *args), args, cotangent)
    if optimised:
        found = partition(passes.run(program), program.inputs[-1:], 1)
        forward, backward = passes.run(found.forward), passes.run(found.backward)
        found = found._replace(forward=forward, backward=backward)
    expected = outcome(straight(program), [*args, cotangent])
    assert same_bits(outcome(lambda given: both(found, given, cotangent), args), expected)


def test_what_the_backward_program_needs():
    x, g = np.linspace(0.1, 1.0, 4), np.ones(4)
    _, found = split("numpy", lambda x: XP.sin(x) * x, [x], g)
    assert ops(found.forward) == ["sin", "multiply", "cos"]
    assert ops(found.backward) == ["multiply", "multiply", "multiply", "add"]
    assert found.inputs == (0,)
    assert len(found.forward.outputs) == 3  # the value, and what sin and cos gave
    assert len(found.backward.inputs) == 4


def test_an_input_is_passed_on_as_it_is():
    x, y, g = np.ones(3), np.ones(3), np.ones(3)
    _, found = split("numpy", lambda x, y: x * y, [x, y], g)
    assert found.inputs == (0, 1)
    assert len(found.forward.outputs) == 1


def test_views_of_inputs_are_taken_again():
    w, x, g = np.ones((3, 2)), np.ones((4, 3)), np.ones((4, 2))
    _, found = split("numpy", lambda w, x: x @ w, [w, x], g)
    assert ops(found.forward) == ["matmul"]
    assert ops(found.backward).count("matrix_transpose") == 2
    assert found.inputs == (0, 1)


def test_the_whole_of_an_array_is_not_kept_for_a_part():
    x, g = np.linspace(0.1, 1.0, 8), np.ones(2)
    _, found = split("numpy", lambda x: XP.sin(x)[:2] ** 3, [x], g)
    sizes = [found.forward.facts[ref].size for ref in found.forward.outputs[1:]]
    assert sorted(sizes) == [2, 8]  # for the power, and the cosine


def test_users_may_write_to_a_value_that_the_backward_program_needs():
    x, g = np.linspace(0.1, 1.0, 4), np.ones(4)
    program, found = split("numpy", lambda x: XP.exp(x), [x], g)
    value, *residuals = straight(found.forward)([x])
    value[...] = np.nan
    (gradient,) = straight(found.backward)([*residuals, g])
    assert same_bits([gradient], straight(program)([x, g])[1:])


def test_guards_are_in_the_program_that_can_check_them():
    def function(x):
        return x * 2.0 if XP.sum(x) > 0 else x * 3.0

    def f(x, g):
        value, pullback = ag.vjp(function, x)
        gradient = pullback(g)[0]
        return value, gradient * (2.0 if float(g[0]) == 1.0 else 5.0)

    program = traced("numpy", f, np.ones(2), np.ones(2))
    found = partition(program, program.inputs[-1:], 1)
    assert [ops(part).count(GUARD) for part in found[:2]] == [1, 1]
    assert outcome(straight(found.forward), [-np.ones(2)]) == (0, False)
    assert outcome(straight(found.backward), [np.zeros(2)])[0] == 1


def test_a_gradient_that_no_cotangent_decides():
    x, g = np.ones(3), np.ones(())
    program = traced("numpy", lambda x, g: (XP.sum(x), XP.exp(x), x, g * x), x, g)
    found = partition(program, program.inputs[1:], 1)
    assert same_bits(both(found, [x], g), straight(program)([x, g]))


def test_random_programs(request):
    count = request.config.getoption("--programs") // 4

    def holds(program):
        args, g = program.inputs, np.array(0.75)
        f = program.function()
        try:
            joined, found = split("numpy", lambda *inputs: f(XP, *inputs), args, g)
        except (CompileError, NoGradientError):
            return
        expected = outcome(straight(joined), [*args, g])
        assert same_bits(outcome(lambda given: both(found, given, g), args), expected)
        improved = passes.run(joined)
        found = partition(improved, improved.inputs[-1:], 1)
        assert same_bits(outcome(lambda given: both(found, given, g), args), expected)

    assert search(count, holds) == count
