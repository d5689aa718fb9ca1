"""Op sets: what a rule may name, and what is wrong with one that names something else."""

import pytest

from agnograd._ops.batching import batching_rule
from agnograd._ops.op_set import BESIDE, FEATURES
from agnograd.errors import RuleError
from agnograd.extend import OpSet, itself


def test_a_rule_is_read_from_its_own_parameters():
    ops = OpSet("mine")
    ops.vjp("f(x1, x2, /, *, axis=-1)", x1=lambda g, x2, out_shape, axis, xp: g)
    op = ops.ops["f"]
    assert op.rules["x1"].names == ("g", "x2", "out_shape", "axis", "xp")
    assert op.arrays == ("x1", "x2")
    assert op.differentiable == ("x1",)
    assert op.options == ("axis",)
    assert op.status == "rule"


def test_a_product_is_declared_by_its_rules():
    ops = OpSet("mine")
    ops.elementwise("f(x1, x2, /)", x1=itself("x2"), x2=itself("x1"))
    ops.elementwise("g(x1, x2, /)", x1=itself("x2"), x2=lambda x1, xp: x1)
    ops.elementwise("h(x1, x2, /)", x1=itself("x1"), x2=itself("x2"))
    ops.multilinear("k(x1, x2, /)", x1=lambda g, x2: g * x2, x2=lambda g, x1: g * x1)
    assert [op.name for op in ops.ops.values() if op.product] == ["f"]
    assert ops.ops["f"].rules["x1"].names == ("x2",)


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
        (
            lambda ops: ops.linear("f(x, /)", x=lambda g: -g, negation=True),
            "f: `negation` is for an element-wise op of one array whose rule is -1",
        ),
        (
            lambda ops: ops.linear("f(x, key, /)", x=lambda g, x_shape, key: g, reads=True),
            "f: `reads` is for an op of one array, x, and a `key`",
        ),
        (
            lambda ops: ops.constant("f(x, /)", batch="elementwize"),
            "f: `batch` must be 'elementwise', 'axis', 'last' or a function, not 'elementwize'",
        ),
        (
            lambda ops: ops.constant("f(x, /)", batch="axis"),
            "f: `batch='axis'` is for an op with an option `axis` or `axes`",
        ),
        (
            lambda ops: ops.constant("f(x, /, *, axis=0)", batch=lambda xp, x: x),
            r"f: the function for `batch` must have the op's parameters, x, axis, after any of xp, "
            r"size and mapped; it has xp, x",
        ),
        (
            lambda ops: ops.constant("f(x, /)", batch=lambda x, mapped: x),
            "must have the op's parameters, x, after any of xp, size and mapped; it has x, mapped",
        ),
        (lambda ops: ops.elementwise("f(x, /)", x=itself("g")), "names 'g'"),
        (lambda ops: ops.linear("f(x, /)", x=itself("x")), "must take the cotangent, g"),
        (lambda ops: ops.constant("f(x, /"), "is not a signature such as"),
        (lambda ops: ops.constant("f(x, /)", "f(x, /)"), "mine: f is registered twice"),
    ],
)
def test_a_rule_that_cannot_be_right_is_an_error_when_it_is_registered(register, message):
    with pytest.raises(RuleError, match=message):
        register(OpSet("mine"))


def test_a_batching_rule_is_declared_or_follows_from_other_rules():
    ops = OpSet("mine")
    ops.elementwise("a(x1, x2, /)", x1=1, x2=-1)
    ops.linear("b(x, /)", x=lambda g: g)
    ops.constant("c(x, /)")
    ops.constant("d(x, /, *, axes=None)", batch="axis")
    ops.vjp("e(x, /, *, k=0)", x=lambda g: g, batch=lambda size, mapped, x, k=0: (size, mapped, x))
    found = {name: batching_rule(op) for name, op in ops.ops.items()}
    assert [name for name, rule in found.items() if rule is None] == ["b", "c"]
    call = ops.ops["e"].signature.bind("x", k=2)
    assert found["e"](None, 3, frozenset({"x"}), call) == (3, {"x"}, "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__class__(x, /)", "'__class__' begins with an underscore"),
        ("__array_namespace_info__()", "begins with an underscore"),
        ("linalg.__dict__(x, /)", "begins with an underscore"),
        ("_path(x, /)", "begins with an underscore"),
        ("lambda(x, /)", "'lambda' is not a name of a function"),
        ("soft-plus(x, /)", "is not a name of a function"),
        ("linalg.(x, /)", "is not a name of a function"),
        ("(x, /)", "is not a name of a function"),
    ],
)
def test_an_op_may_not_have_every_name(text, message):
    ops = OpSet("planted")
    with pytest.raises(RuleError, match=f"planted: .*{message}.*; name the op otherwise"):
        ops.constant(text)
    assert ops.ops == {}


@pytest.mark.parametrize("extension", ["pi", "__class__", "int8", "a b"])
def test_nor_may_an_extension(extension):
    with pytest.raises(RuleError, match="planted: "):
        OpSet("planted", extension=extension)
    assert OpSet("planted", extension="linalg").extension == "linalg"


@pytest.mark.parametrize(
    ("text", "given", "name"),
    [
        ("f(_mode, /)", {"_mode": 1}, "_mode"),
        ("f(x, /, *, _kernel=None)", {"x": 1}, "_kernel"),
        ("f(g, /)", {"g": 1}, "g"),
        ("f(x, out, /)", {"x": 1}, "out"),
        ("f(x, node, /)", {"x": 1}, "node"),
        ("f(x, /, *, any=False)", {"x": 1}, "any"),
        ("f(x, x_shape, /)", {"x": 1}, "x_shape"),
        ("f(view, /)", {"view": lambda g: g}, "view"),
        ("f(x, options, /)", {"x": 1, "options": lambda g: g}, "options"),
        ("f(x, /, *, outputs)", {"x": 1, "outputs": "several"}, "outputs"),
        ("f(x, forward, /)", {"x": 1}, "forward"),  # a rule for it could not be added
    ],
)
def test_a_parameter_may_not_have_every_name(text, given, name):
    with pytest.raises(RuleError, match=f"f: the name of the parameter '{name}' .*; rename it"):
        OpSet("planted").vjp(text, **given)


@pytest.mark.parametrize("kind", ["elementwise", "linear", "multilinear", "vjp", "missing"])
@pytest.mark.parametrize("name", sorted({*FEATURES, *BESIDE}))
def test_a_rule_is_never_taken_for_a_feature(kind, name):
    ops = OpSet("planted")
    for given in ({}, {name: lambda g: g}):
        with pytest.raises(RuleError, match=f"'{name}' is that of a feature.*; rename it"):
            getattr(ops, kind)(f"f(x, {name}, /)", **given)
    assert ops.ops == {}


def test_a_parameter_of_an_op_without_rules_may_be_called_as_a_feature():
    ops = OpSet("planted")
    ops.constant("f(x, /, *, options=None)")
    ops.composed("g(x, view, /)", lambda xp, x, view: x)
    assert ops.ops["f"].options == ("options",)
    assert ops.ops["g"].arrays == ("x", "view")
