"""Op sets: what a rule may name, and what is wrong with one that names something else."""

import pytest

from agnograd.errors import RuleError
from agnograd.extend import OpSet


def test_a_rule_is_read_from_its_own_parameters():
    ops = OpSet("mine")
    ops.vjp("f(x1, x2, /, *, axis=-1)", x1=lambda g, x2, out_shape, axis, xp: g)
    op = ops.ops["f"]
    assert op.rules["x1"].names == ("g", "x2", "out_shape", "axis", "xp")
    assert op.arrays == ("x1", "x2")
    assert op.differentiable == ("x1",)
    assert op.options == ("axis",)
    assert op.status == "rule"


def test_kinds_and_status():
    ops = OpSet("mine")
    ops.linear("a(x, /)", x=lambda g: g)
    ops.constant("b(x, /)", "c(x, /)")
    ops.missing("d(x, /)", "e(x, /)", outputs="several")
    assert [op.status for op in ops.ops.values()] == [
        "rule",
        "no gradient",
        "no gradient",
        "missing",
        "missing",
    ]
    assert ops.ops["d"].outputs == ops.ops["e"].outputs == "several"


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (lambda ops: ops.vjp("f(x, /)", y=lambda g: g), r"f: a rule for 'y', which is none of x"),
        (lambda ops: ops.vjp("f(x, /)", x=lambda g, outt: g), r"'outt'.*did you mean 'out'\?"),
        (lambda ops: ops.linear("f(x, /)", x=lambda x: x), "must take the cotangent, g"),
        (lambda ops: ops.elementwise("f(x, /)", x=lambda g: g), "names 'g'"),
        (lambda ops: ops.elementwise("f(x, /)", x=2), "must be a function, not 2"),
        (lambda ops: ops.vjp("f(x, /)", x=1), "must be a function, not 1"),
        (
            lambda ops: ops.multilinear("f(x, y, /)", x=lambda g, y: g * y, stacks={"x": 0}),
            r"f: `stacks` is for an input of an op of two arrays with rules.*'x' is none",
        ),
        (
            lambda ops: ops.multilinear(
                "f(x, y, /)", x=lambda g: g, y=lambda g, x: g * x, stacks={"x": 0}
            ),
            "whose own rule names the other array; 'x' is none",
        ),
        (lambda ops: ops.constant("f(x, /"), "is no signature such as"),
        (lambda ops: ops.constant("f(x, /)", "f(x, /)"), "mine: f is registered twice"),
    ],
)
def test_a_rule_that_cannot_be_right_is_an_error_when_it_is_registered(register, message):
    with pytest.raises(RuleError, match=message):
        register(OpSet("mine"))
