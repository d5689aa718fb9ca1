"""Random programs, checked against finite differences; ``--programs=N`` says how many.

A failure is reported as a script that runs by itself.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agnograd as ag
import grammar
from agnograd.extend import hookimpl
from differences import Derivatives, check, close
from drawn import SETTINGS, XP, Program, programs, search

# -- the property ---------------------------------------------------------------------------------


def test_derivatives_of_random_programs(request):
    count = request.config.getoption("--programs")
    seen = {"order 1": [], "order 2": []}
    used = set()

    def holds(program):
        conclusive = check(program)
        for order, each in zip(seen, conclusive, strict=True):
            seen[order].append(each)
        if all(conclusive):
            used.update(program.ops)

    assert search(count, holds) == count
    for order, conclusive in seen.items():
        share = sum(conclusive) / len(conclusive)
        assert share >= 0.8, f"{order}: differences are conclusive for {share:.0%} alone"
    if count >= 1000:
        assert used == set(grammar.TEMPLATES)


def test_random_programs_are_the_same_on_the_strict_backend(request):
    strict = pytest.importorskip("array_api_strict")
    xp = ag.namespace("strict")
    refused = []

    def holds(program):
        inputs = [strict.asarray(x) for x in program.inputs]
        try:  # raw arrays: the library refuses some that differ in dtype
            program.function()(xp.empty(0)._domain.raw, *map(strict.asarray, program.inputs))
        except (TypeError, ValueError) as error:
            if not any(words in str(error) for words in ("mismatched dtypes", "same dtype")):
                raise
            refused.append(program)
            return
        ours, theirs = Derivatives(program), Derivatives(program, xp)
        assert close(theirs.value(inputs), ours.value(program.inputs), 1e-12)
        assert close(theirs.gradient(inputs), ours.gradient(program.inputs), 1e-12)

    portable = programs().filter(lambda program: not program.on_numpy_alone)
    count = max(1, request.config.getoption("--programs") // 10)
    assert search(count, holds, portable) == count
    assert len(refused) <= count / 50


# -- the machinery --------------------------------------------------------------------------------

# Ops with a rule and without a statement, and why; extensions may have more of them.
LEFT_OUT = {}


def test_the_grammar_has_statements_for_every_rule_of_the_main_namespace():
    ruled = {name for name, info in ag.ops().items() if info.status == "rule"}
    # Those of NumPy's names are programs of others, which have statements.
    programs_of_others = {name for name, info in ag.ops().items() if info.chapter == "numpy_names"}
    main = {name for name in ruled - programs_of_others if "." not in name}
    assert main - set(grammar.TEMPLATES) == set(LEFT_OUT)
    assert set(grammar.TEMPLATES) <= ruled


class Calls:
    """A hook that notes which ops are called."""

    def __init__(self):
        self.names = set()

    @hookimpl
    def forward_preprocess(self, op):
        self.names.add(op.name)


def test_statements_call_the_op_that_they_are_listed_under():
    @SETTINGS(max_examples=1)
    @given(st.data())
    def every(data):
        for op in grammar.TEMPLATES:
            program = data.draw(programs(first=op))
            with ag.hooks(Calls()) as (calls,):
                Derivatives(program).value(program.inputs)
            assert op in calls.names, f"{op} is not in\n{program.source}"

    every()


def test_programs_are_the_same_on_every_run():
    first, second = [], []
    assert search(10, lambda program: first.append(program.source)) == 10
    search(10, lambda program: second.append(program.source))
    assert first == second


class Planted:
    """A namespace one of whose functions has a wrong derivative."""

    def __init__(self, name, wrong):
        self.name = name
        self.wrong = wrong

    def __getattr__(self, name):
        function = getattr(XP, name)
        if name != self.name:
            return function
        return lambda x, *args, **kwargs: self.wrong(x, function(x, *args, **kwargs))


def wrong_first(x, out):
    return out + 1e-3 * (out - ag.stop_gradient(out))


def wrong_second(x, out):
    return out + 1e-3 * (out - ag.stop_gradient(out)) ** 2


@pytest.mark.parametrize(
    ("name", "wrong", "order"), [("cumulative_sum", wrong_first, 1), ("tanh", wrong_second, 2)]
)
def test_a_planted_defect_is_found_and_reported_as_a_script(name, wrong, order, monkeypatch):
    planted = Planted(name, wrong)
    with pytest.raises(AssertionError, match=rf"order {order}: the derivative is") as failure:
        search(300, lambda program: check(program, planted))
    script = str(failure.value).partition("program:\n\n")[2]
    statements = script.partition("def program")[2].partition("return")[0].splitlines()[1:-1]
    assert len(statements) <= 4, "the smallest program has little beside the wrong statement"
    exec(compile(script, "script", "exec"), {})
    monkeypatch.setattr(ag, "namespace", lambda backend: planted)
    with pytest.raises(AssertionError, match=f"order {order}, argument"):
        exec(compile(script, "script", "exec"), {})


def test_a_kink_within_the_step_is_inconclusive():
    kink = "def program(xp, x0):\n    return xp.abs(x0 - 0.4003)"
    step = "def program(xp, x0):\n    return xp.floor(x0 + 0.5997)"
    # The gradient of a step is zero on either side of it: that there is one is not seen at order 2.
    for source, conclusive in ((kink, [False, False]), (step, [False, True])):
        assert check(Program(source, [np.asarray(0.4)], set(), False, True)) == conclusive


def test_a_value_that_is_not_numpys_is_found():
    source = "def program(xp, x0):\n    return xp.tanh(x0)"
    program = Program(source, [np.asarray(0.4)], set(), False, True)
    with pytest.raises(AssertionError, match="not NumPy's"):
        check(program, Planted("tanh", lambda x, out: 1.001 * out))
