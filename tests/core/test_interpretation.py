"""Interpretations: what an op does with payloads, and how arrays come in, out, and escape."""

import math
import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_of
from agnograd.errors import (
    InterpretationError,
    LostGradientError,
    MixedBackendsError,
    UnsupportedArrayError,
)
from agnograd.extend import Interpretation, Interpreted, Run, is_tracked
from agnograd.testing import record_events


class Names(Run):
    """The names of the ops that a run computed."""

    def __init__(self):
        self.found = []


class Naming(Interpretation):
    """Note each op that depends on an argument."""

    title = "names"

    def compute(self, op, xp, run, args, kwargs):
        if run is not None:
            run.found.append(op.name)
        return super().compute(op, xp, run, args, kwargs)


def named(f):
    """Return a function that runs another one, and the names of its last run's ops."""

    def function(*args, **kwargs):
        run = Names()
        function.found = run.found
        return Naming.interpret(f, *args, run=run, **kwargs)

    return function


@pytest.fixture
def x(xp):
    return xp.asarray([[0.5, -1.25, 2.0], [1.5, 0.75, -0.25], [1.0, 3.0, -2.0]], dtype=xp.float64)


def close(found, expected):
    xp = ag.namespace(found)
    assert found.shape == expected.shape
    assert float(xp.max(xp.abs(ag.asarray(found) - expected)).item()) < 1e-12


def written(x):
    xp = ag.namespace(x)
    y = xp.zeros((2, 2), dtype=x.dtype)
    y[0, :] = x[0, :2]
    row = y[1, :]
    row[0] = x[1, 0] * x[2, 2]
    y[y > 1.0] *= 2.0
    return y * y


PROGRAMS = {
    "elementwise": lambda x: x.__array_namespace__().exp(x) * x,
    "products": lambda x: x @ x.T @ x[0, :],
    "views and writes": written,
    "several results": lambda x: ag.namespace(x).linalg.eigh(x @ x.T)[0],
    "lists of arrays": lambda x: ag.namespace(x).concat([x, x[1:, :] * 2.0]),
    "an extension": lambda x: ag.namespace(x).nn.softmax(x),
    "a program of ops": lambda x: ag.namespace(x).special.logsumexp(x, axis=0),
    "nested lists": lambda x: ag.namespace(x).asarray([x[0, 0], x[1, 1] * 2.0]),
    "facts": lambda x: ag.namespace(x).astype(x, ag.namespace(x).result_type(x, 1.0)) * 2.0,
    "a mask": lambda x: x[x > 0.5] * 2.0,
    "indices": lambda x: ag.namespace(x).take(x, ag.namespace(x).argmax(x, axis=0), axis=0) * 2.0,
    "branches": lambda x: x * 2.0 if x[0, 0] > 0 and x[0, 1].item() < 0 else -x,
    "no op": lambda x: x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_program(x, name):
    program = PROGRAMS[name]
    found = named(program)(x.data)
    assert type(found) is type(x.data)
    close(found, program(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_inside_and_outside_are_those_of_the_program(x, name):
    program = PROGRAMS[name]

    def loss(f):
        return lambda x: ag.namespace(x).sum(f(x) ** 2)

    expected = ag.grad(loss(program))(x)
    inside = named(ag.grad(loss(program)))
    close(inside(x), expected)
    assert "sum" in inside.found
    close(ag.grad(loss(named(program)))(x), expected)
    close(ag.grad(loss(named(named(program))))(x), expected)


def test_derivatives_of_second_order_in_every_order(x):
    def f(x):
        return ag.namespace(x).sum(x**3 * x[::-1, :])

    row = x[0, :]
    expected = ag.hessian(lambda x: f(x[None, :] * x[:, None]))(row)

    def g(x):
        return f(x[None, :] * x[:, None])

    for found in (named(ag.hessian(g)), ag.hessian(named(g)), ag.jacobian(named(ag.grad(g)))):
        close(found(row), expected)
    close(named(lambda x: ag.jvp(g, x, x)[1])(row), ag.jvp(g, row, row)[1])
    close(named(ag.grad(ag.checkpoint(g)))(row), ag.grad(g)(row))


def test_pytrees_come_in_and_out_and_other_objects_stay(xp, x):
    def f(p, label, *, scale):
        return {"out": (p["a"] * scale, None, label), "outside": p["n"]}

    found = named(f)({"a": x.data, "n": 3}, "name", scale=2.0)
    assert found["out"][1:] == (None, "name")
    assert found["outside"] == 3
    close(found["out"][0], x * 2.0)


def test_raw_arguments_give_raw_results_that_share_no_memory(xp, x):
    raw = x.data
    found = named(lambda x: x)(raw)
    assert type(found) is type(raw)
    assert found is not raw
    assert isinstance(named(lambda x: x)(x), ag.Variable)


def test_what_a_function_closes_over_keeps_its_gradient(xp, x):
    w = ag.Variable(x.data)
    f = named(lambda x: xp.sum(x * w))
    y = f(x.data)
    assert isinstance(y, ag.Variable)
    y.backward()
    close(w.grad, x)
    made = ag.grad(lambda w: named(lambda x: xp.sum(x * xp.exp(w)))(x.data))(x)
    close(made, x * xp.exp(x))


class Cube(ag.Function):
    """The third power, with a derivative by hand."""

    def forward(self, xp, x):
        self.save(x)
        return x**3

    def backward(self, xp, g):
        (x,) = self.saved
        return 3 * x**2 * g


@pytest.mark.parametrize("f", [Cube(), lambda x: x**3], ids=["a function", "ops"])
def test_what_was_recorded_outside_is_pulled_back_inside(x, f):
    _, pull = ag.vjp(f, x)
    _, push = ag.linearize(f, x)
    for through in (lambda g: pull(g)[0], push):
        inside = named(lambda g, through=through: through(g) * 2.0)
        close(inside(x), through(x) * 2.0)
        assert inside.found[-1] == "multiply"  # what it gives belongs to the run


def test_what_a_function_makes_is_of_the_interpretation(xp, x):
    def f(x):
        y = xp.zeros((3, 3), dtype=xp.float64)
        assert ag.namespace(y) is ag.namespace(x) is not xp
        return y + x

    g = named(f)
    close(g(x.data), x)
    assert g.found == ["add"]


def test_it_composes_with_vmap(xp, x):
    def f(x):
        return xp.sum(xp.tanh(x) * x[::-1])

    expected = xp.stack([ag.grad(f)(x[k, :]) for k in range(3)])
    inside = named(ag.vmap(ag.grad(f)))
    for found in (inside, ag.vmap(named(ag.grad(f))), ag.vmap(ag.grad(named(f)))):
        close(found(x.data), expected)
    assert inside.found.count("tanh") == 1


def test_an_array_that_escapes_is_an_error_that_says_what_to_do():
    kept = []

    def leaky(x):
        kept.append(x)
        return x * 1.0

    x = np.ones(3)
    named(leaky)(x)
    message = r"an array of .*leaky \(.*test_interpretation.py:\d+\) is used after its function "
    (array,) = kept
    uses = [
        lambda: array + 1.0,
        lambda: named(lambda y: y * array)(x),
        lambda: ag.namespace("numpy").sum(array),
        lambda: np.asarray(array),
        lambda: bool(array[0]),
    ]
    for use in uses:
        with pytest.raises(InterpretationError, match=message + r"returned: .* Return it from"):
            use()
    assert "shape (3,)" in repr(array)


def test_an_array_of_a_run_that_is_not_around_is_an_error():
    started, ready = threading.Event(), threading.Event()
    kept = []

    def first(x):
        kept.append(x)
        ready.set()
        started.wait()
        return x

    def second(x):
        return x * kept[0]

    thread = threading.Thread(target=lambda: named(first)(np.ones(2)))
    thread.start()
    ready.wait()
    try:
        with pytest.raises(InterpretationError, match="met an array of") as error:
            named(second)(np.ones(2))
    finally:
        started.set()
        thread.join()
    assert "first" in str(error.value)
    assert "second" in str(error.value)


def test_a_failure_leaves_the_level():
    xp = ag.namespace("numpy")
    with pytest.raises(ZeroDivisionError):
        named(lambda x: 1 / 0)(np.ones(2))
    assert ag.namespace(xp.zeros(2)) is xp


def test_an_op_that_fails_says_what_it_says_everywhere():
    xp = ag.namespace("numpy")
    with pytest.raises(ValueError, match="mismatch"):
        named(lambda x: xp.matmul(x, xp.ones(3)))(np.ones((2, 2)))


def test_arrays_of_two_libraries_are_refused():
    strict = ag.Variable(ag.namespace("strict").ones(2).data)
    for other, error in ((strict, MixedBackendsError), (strict.data, UnsupportedArrayError)):
        with pytest.raises(error, match=r"ag\.asarray\(x, backend='numpy'\)"):
            named(lambda x, y: x)(np.ones(2), other)


def test_each_class_has_one_domain_and_a_name_of_its_own():
    numpy = ag.namespace("numpy").ones(2)._domain
    assert Naming.domain(numpy) is Naming.domain(numpy)
    other = type("Naming", (Interpretation,), {"title": "names"})
    assert other.domain(numpy) is not Naming.domain(numpy)
    assert other.domain(numpy).backend.name != Naming.domain(numpy).backend.name
    assert type("Titleless", (Interpretation,), {}).domain(numpy).backend.name == "Titleless(numpy)"


def test_a_rule_computes_with_arrays_and_none_is_the_program():
    class Rounding(Interpretation):
        """Round what exp gives; leave programs to their ops."""

        def rule(self, op):
            if op.name == "exp":
                return lambda x: self.wrapped(np.round(np.exp(x.payload)), x.run)
            return None if op.name == "nn.softmax" else super().rule(op)

    xp = ag.namespace("numpy")
    x = np.asarray([0.0, 1.0])
    assert Rounding.interpret(xp.exp, x, run=Run()).tolist() == [1.0, 3.0]
    found = Rounding.interpret(xp.nn.softmax, x, run=Run())
    assert found.tolist() != xp.nn.softmax(x).data.tolist()
    assert found.sum() == 1.0


class ByRule(Interpretation):
    """Triple what exp gives, by a constant that a rule makes."""

    def rule(self, op):
        def tripled(x):
            px = self.functions(x.payload)
            return self.wrapped(px.exp(x.payload) * px.asarray([3.0, 3.0]), x.run)

        return tripled if op.name == "exp" else super().rule(op)


class ByTransformations(Interpretation):
    """Triple what exp gives, by transformations of functions of payloads."""

    def compute(self, op, xp, run, args, kwargs):
        if op.name != "exp":
            return super().compute(op, xp, run, args, kwargs)
        (x,) = args
        once = ag.vmap(lambda x: x.__array_namespace__().exp(x))(x)
        twice = ag.jvp(lambda x: x.__array_namespace__().exp(x), (x,), (xp.full_like(x, 2.0),))[1]
        return once + twice


@pytest.mark.parametrize("kind", [ByRule, ByTransformations])
@pytest.mark.parametrize(
    "around",
    [
        lambda f: f,
        ag.jacobian,
        lambda f: ag.jacobian(f, mode="forward"),
        lambda f: ag.jacobian(ag.jacobian(f)),
        lambda f: ag.jacobian(ag.jacobian(f, mode="forward"), mode="forward"),
        lambda f: lambda x: ag.vmap(f)(ag.namespace(x).stack([x, x + 1.0])),
        lambda f: ag.jacobian(lambda x: ag.vmap(f)(ag.namespace(x).stack([x, x + 1.0]))),
        ag.compile,
        lambda f: ag.compile(ag.jacobian(f)),
        ag.checkpoint,
    ],
)
def test_rules_run_below(xp, kind, around):
    """So do transformations in them: whatever is around, nothing is lost or let out."""
    x = xp.asarray([0.3, 0.7], dtype=xp.float64).data

    def interpreted(x):
        return kind.interpret(lambda y: y.__array_namespace__().exp(y * x), x, run=Run())

    found = around(interpreted)(x)
    expected = around(lambda x: 3.0 * ag.namespace(x).exp(x * x))(x)
    assert isinstance(ag.asarray(found).data, type(x))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)
    inner = kind.interpret(around(lambda x: ag.namespace(x).exp(x * x)), x, run=Run())
    assert isinstance(inner, type(x))


def test_a_rule_that_returns_what_is_not_from_below():
    class Nested(Interpretation):
        def rule(self, op):
            if op.name == "exp":
                return lambda x: self.array_class(x, x.run)
            return super().rule(op)

    xp = ag.namespace("numpy")
    with pytest.raises(InterpretationError, match=r"the rule of exp returned an array whose pay"):
        Nested.interpret(xp.exp, np.ones(2), run=Run())


class Pair(Interpreted):
    """An array with another one, which most ops drop."""

    __slots__ = ("other",)

    def __init__(self, payload, run=None, other=None):
        super().__init__(payload, run)
        self.other = other


def test_functions_that_cannot_be_interpreted_drop_nothing_that_arrays_hold():
    class Pairs(Interpretation):
        array_class = Pair

    class Both(Pairs):
        def each_member(self, f, arrays):
            (first,) = super().each_member(f, arrays)
            return (self.array_class(first.payload, first.run, other=2.0),)

    square = ag.wrap(np.square, vjp=lambda g, x: 2.0 * g * x)
    with pytest.raises(InterpretationError, match="give it a method each_member"):
        Pairs.interpret(square, np.ones(2), run=Run())
    others = []

    def f(x):
        y = square(x)
        others.append(y.data.other)
        return y

    assert Both.interpret(f, np.full(2, 3.0), run=Run()).tolist() == [9.0, 9.0]
    assert others == [2.0]


def test_hooks_see_the_ops():
    xp = ag.namespace("numpy")
    log = record_events([], lambda: named(ag.grad(lambda x: xp.sum(xp.sin(x))))(np.ones(2)))
    seen = [event.op for event in log if event.hook == "forward_preprocess"]
    assert seen[:2] == ["sin", "sum"]


def test_every_scalar_conversion_gives_the_value():
    def f(x):
        assert math.isclose(float(x[0]), 1.5)
        assert int(x[0]) == 1
        assert complex(x[0]) == 1.5
        assert x[0].item() == 1.5
        assert np.asarray(x.detach()).tolist() == [1.5, 2.5]
        assert [float(each) for each in x.detach()] == [1.5, 2.5]
        return x

    assert named(f)(np.asarray([1.5, 2.5])).tolist() == [1.5, 2.5]


class Visiting(Naming):
    """Notes what reverse passes visit."""

    title = "visiting"
    whole = True
    passes = ()

    def visiting(self):
        ranks = []
        Visiting.passes = (*Visiting.passes, ranks)
        return ranks.append


def test_a_pass_tells_which_nodes_it_visits(xp, x):
    Visiting.passes = ()
    gradient = ag.grad(lambda x: xp.sum(xp.exp(x) * xp.sin(x)))
    found = Visiting.interpret(gradient, x.data, run=Names())
    close(ag.asarray(found), gradient(x))
    (ranks,) = Visiting.passes
    assert len(ranks) == len(set(ranks)) == 4  # sum, multiply, sin and exp, the newest first
    assert ranks == sorted(ranks)
    Visiting.interpret(
        lambda x: ag.grad(lambda x: xp.sum(gradient(x) ** 2))(x), x.data, run=Names()
    )
    assert len(Visiting.passes) == 3


class Attributing(Naming):
    """Note each op of the function that runs, and whether it depends on an argument."""

    def compute(self, op, xp, run, args, kwargs):
        self.running.get().found.append((op.name, run is not None))
        return super().compute(op, xp, None, args, kwargs)


def test_ops_that_depend_on_no_argument_belong_to_the_function_that_runs(xp):
    def attributed(f, x):
        names = Names()
        return Attributing.interpret(f, x, run=names), names.found

    def multiplied(found):
        return [found.count(("multiply", depends)) for depends in (True, False)]

    def gradient(x):
        return ag.grad(lambda x: xp.sum(x * x * 3.0))(x)

    x = xp.asarray([0.5, 1.5]).data
    _, found = attributed(gradient, x)
    assert multiplied(found) == [3, 1]  # a pass begins with ones, times 3.0
    inside = []

    def nested(x):
        g, found = attributed(gradient, x)
        inside.append(found)
        return g

    _, outside = attributed(nested, x)
    assert multiplied(inside[0]) == multiplied(outside) == [3, 1]
    running = Attributing.domain(domain_of(x)).backend.running
    with pytest.raises(ZeroDivisionError):
        attributed(lambda x: 1 / 0, x)
    assert running.get() is None


class Varying(Interpreted):
    __slots__ = ()
    varies = True


class Careful(Interpretation):
    """Arrays that carry a derivative, of which nothing is said here."""

    title, array_class = "careful", Varying

    def each_member(self, f, arrays):
        return super().each_member(f, arrays)


@pytest.mark.parametrize("leaves", [float, complex, np.asarray, np.from_dlpack])
def test_a_value_with_a_derivative_does_not_leave(leaves):
    one = np.asarray(1.5)
    assert Naming.interpret(lambda x: complex(leaves(x)).real * x, one, run=Names()) == 2.25
    with pytest.raises(LostGradientError):
        Careful.interpret(lambda x: leaves(x), one, run=Run())
    # Also where it is what an array of a level above stands for.
    with pytest.raises(LostGradientError):
        Careful.interpret(
            lambda x: Naming.interpret(lambda y: leaves(y), x, run=Names()), one, run=Run()
        )


def test_a_value_with_a_derivative_may_decide_and_is_tracked():
    seen = []

    def f(x):
        seen.append((is_tracked(x), bool(x > 1.0), int(x[0] > 0.0)))
        return x * 2.0

    assert Careful.interpret(f, np.asarray([1.5]), run=Run()).tolist() == [3.0]
    Naming.interpret(f, np.asarray([1.5]), run=Names())
    assert seen == [(True, True, 1), (False, True, 1)]


def test_arguments_of_several_levels_are_raised_to_one():
    one = np.asarray([0.3, 0.7])

    def f(u):
        def along(v):
            return Naming.interpret(lambda a, b: a * a * b, u, v, run=Names())

        return np.sum(ag.vmap(along)(np.stack([one, 2.0 * one])))

    np.testing.assert_allclose(ag.grad(f)(one), 2.0 * one * 3.0 * one)
