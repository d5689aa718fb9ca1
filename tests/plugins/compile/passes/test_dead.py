"""Dead code: what no output and no guard needs goes, and nothing else."""

import numpy as np

import agnograd as ag
from agnograd_compile._passes.dead import dead
from agnograd_compile._programs.program import GUARD
from traced import check, ops, raw, traced

SETTINGS = {"names": ("dead",)}


def test_values_that_nothing_reads_go(backend, xp):
    x = raw(backend, [1.0, 2.0])
    unused = raw(backend, [3.0, 4.0])

    def f(x):
        xp.exp(xp.sin(x) + unused)
        return xp.cos(x)

    program = traced(backend, f, x)
    after = check(program, x, **SETTINGS)
    assert ops(after) == ["cos"]
    assert not after.constants
    assert set(after.facts) == {*after.inputs, *after.outputs}


def test_a_program_without_any_is_left_as_it_is(backend, xp):
    program = traced(backend, lambda x: xp.sum(xp.sin(x)), raw(backend, [1.0, 2.0]))
    assert dead(program) is program


def test_guards_stay_in_their_order_with_what_they_look_at(backend, xp):
    def f(x):
        if xp.sum(x) > 0:
            xp.exp(x)
        return x * float(xp.max(x))

    arrays = [raw(backend, [1.0, 2.0])]
    program = traced(backend, f, *arrays)
    others = [[raw(backend, [-1.0, 0.5])], [raw(backend, [1.0, 3.0])]]
    after = check(program, *arrays, others=others, **SETTINGS)
    kinds = [step.kwargs["kind"] for step in after.steps if step.op == GUARD]
    assert kinds == ["bool", "float"]
    assert "exp" not in ops(after)


def test_one_of_several_results_keeps_the_step(backend, xp):
    x = raw(backend, [[2.0, 1.0], [0.5, 3.0]])
    program = traced(backend, lambda x: xp.linalg.qr(x)[1], x)
    after = check(program, x, **SETTINGS)
    assert ops(after) == ["linalg.qr"]


def test_a_gradient_needs_no_value():
    xp = ag.namespace("numpy")
    x = np.linspace(0.5, 1.5, 4)
    program = traced("numpy", ag.grad(lambda x: xp.sum(xp.log(x) * 3.0)), x)
    assert "sum" in ops(program)
    assert "sum" not in ops(check(program, x, **SETTINGS))
