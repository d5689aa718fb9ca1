"""Random programs, compiled, against themselves as they are; see ``--programs=N``.

A program's value is the same bit for bit where a lowering says that it is exact; gradients are
within rounding, for a pass that nothing is traced in adds in an order of its own.
"""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd_compile._lowerings import lowering_for, lowerings
from differences import close
from drawn import XP, aimed_programs, search

FACTORS = (1.0, 0.985, 1.0, 1.01)  # of the inputs of each call, which stay where programs are tame
LOWERINGS = [name for name in ("plain", "numpy", "c") if name in lowerings("numpy")]


@pytest.mark.parametrize("lowering", LOWERINGS)
@pytest.mark.parametrize("strategy", [None, aimed_programs()], ids=["any", "aimed"])
def test_compiled_programs_are_as_they_were(strategy, lowering, request):
    share = 5 if strategy is None else 20  # those that aim at something take longer
    count, refused = max(1, request.config.getoption("--programs") // share), []

    def holds(program):
        try:
            compare(program, lowering)
        except CompileError:
            assert program.of_values, "its shapes do not depend on values"
            refused.append(program)

    assert search(count, holds, strategy) == count
    assert len(refused) <= 0.4 * count, f"{len(refused)} of {count} programs are refused"


def compare(program, lowering):
    """Compare values and gradients of several calls with those of the program as it is."""
    exact = lowering_for("numpy", lowering).exact
    both, tolerance = value_and_gradients(program), 1e-10 if program.narrow is None else 1e-3
    compiled = ag.compile(both, lowering=lowering)
    stepwise = ag.compile(both, lowering="plain")
    for factor in FACTORS:
        inputs = [x * factor for x in program.inputs]
        (value, gradients), (found, ours) = both(*inputs), compiled(*inputs)
        if exact:
            assert_same("the value", found, value)
            for mine, step_by_step in zip(ours, stepwise(*inputs)[1], strict=True):
                assert_same("a gradient, step by step", mine, step_by_step)
        for mine, theirs in zip((found, *ours), (value, *gradients), strict=True):
            one, other = np.asarray(mine), np.asarray(theirs)
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            assert close(one, other, tolerance), f"times {factor}: {one}, and {other} as it is"


def value_and_gradients(program):
    function = program.function()
    places = tuple(range(len(program.inputs)))
    return ag.value_and_grad(lambda *inputs: function(XP, *inputs), places)


def assert_same(what, found, expected):
    one, other = np.asarray(found), np.asarray(expected)
    assert one.tobytes() == other.tobytes(), f"{what}: {one}, and {other} expected"
