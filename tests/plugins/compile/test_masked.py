"""Zeros behind a mask ask a compiled function for nothing, also where it has no derivative."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd.testing._samples import all_samples
from agnograd.testing.differences import Problem
from agnograd_conformance._case import Case
from arrays import host
from calls import profiled

xp = ag.namespace("numpy")
# But for interpolation, whose knots have to be in order.
MODULES = sorted({m for m, _, s in all_samples() if s.order and not m.endswith("interpolate")})
# Where functions have poles, branch points, kinks and ends of their domains.
POINTS = (0.0, 1.0, -1.0, 2.0)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about infinities


def same(found, expected):
    np.testing.assert_array_equal(np.asarray(host(found)), np.asarray(host(expected)))


def at(xp, *values):
    return xp.asarray([*values], dtype=xp.float64).data


def runs(f, function):
    """Return how often a function runs while another one does."""
    found = []
    profiled(
        function,
        lambda frame, event, _: found.append(event == "call" and frame.f_code is f.__code__),
    )
    return sum(found)


# What hides the first element of a function's result.
HIDDEN = {
    "where": lambda xp, f: lambda x: xp.sum(xp.where(x > 0.0, f(x), 1.0)),
    "slice": lambda xp, f: lambda x: xp.sum(f(x)[1:]),
    "checkpoint": lambda xp, f: lambda x: xp.sum(ag.checkpoint(f)(x)[1:]),
    "a compiled function": lambda xp, f: lambda x: xp.sum(ag.compile(lambda y: y[1:])(f(x))),
}


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN.keys())
@pytest.mark.parametrize("lowering", ["auto", "plain"])
def test_what_is_hidden_has_no_derivative(xp, hidden, lowering):
    def f(x):
        return xp.sqrt(x) * 2.0 + x**1.5

    x = at(xp, 0.0, 1.0, 4.0)
    plain = hidden(xp, f)
    compiled = hidden(xp, ag.compile(f, lowering=lowering))
    for _ in range(2):
        gradient = ag.grad(compiled)(x)
        same(gradient, ag.grad(plain)(x))
        assert host(gradient)[0] == 0.0
        same(ag.hessian(compiled)(x), ag.hessian(plain)(x))


def test_a_result_that_nothing_depends_on_asks_for_nothing(xp):
    def f(x):
        return xp.sqrt(x), x * 2.0, xp.argmax(x)

    compiled, x = ag.compile(f), at(xp, 0.0, 1.0)
    for _ in range(2):
        same(ag.grad(lambda x: xp.sum(compiled(x)[1]))(x), at(xp, 2.0, 2.0))
        same(ag.grad(lambda x: xp.sum(compiled(x)[0]))(x), at(xp, np.inf, 0.5))
        second = ag.grad(lambda x: xp.sum(ag.grad(lambda x: xp.sum(compiled(x)[1] ** 2))(x)))
        same(second(x), at(xp, 8.0, 8.0))


ROWS = np.asarray([[0.0, 1.0, 4.0], [0.0, 2.0, 3.0]])
# Transformations in which a result, an element or a tangent of a function is left out.
LEFT_OUT = {
    "reverse": lambda f: ag.jacobian(lambda x: f(x)[1], mode="reverse")(ROWS[0]),
    "chunks": lambda f: ag.jacobian(lambda x: (f(x)[0] + f(x)[1])[1:], chunk_size=2)(ROWS[0]),
    "forward": lambda f: ag.jacobian(lambda x: f(x)[0][1:], mode="forward")(ROWS[0]),
    "pullbacks": lambda f: ag.vmap(ag.vjp(lambda x: f(x)[1], ROWS[0])[1])(np.eye(3))[0],
    "members": lambda f: ag.vmap(ag.grad(lambda x: xp.sum(f(x)[1])))(ROWS),
    "of members": lambda f: ag.grad(lambda x: xp.sum(ag.vmap(lambda r: f(r)[1])(x)))(ROWS),
    "tangents": lambda f: ag.vmap(lambda t: ag.jvp(lambda x: f(x)[0], ROWS[0], t)[1])(ROWS),
    "linear": lambda f: ag.vmap(ag.linearize(lambda x: f(x)[0], ROWS[0])[1])(ROWS),
}


@pytest.mark.parametrize("transformed", LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_what_transformations_leave_out(transformed):
    def f(x):
        return xp.sqrt(x), x**3

    expected, compiled = transformed(f), ag.compile(f)
    assert np.isfinite(expected).all()
    for _ in range(2):
        np.testing.assert_allclose(transformed(compiled), expected, 1e-14)


def test_a_tangent_of_zero_stays_zero(xp):
    compiled = ag.compile(lambda x: xp.sqrt(x) + x**0.5)
    x, along = at(xp, 0.0, 4.0), at(xp, 0.0, 1.0)
    for _ in range(2):
        same(ag.jvp(compiled, x, along)[1], at(xp, 0.0, 0.5))
        same(ag.linearize(compiled, x)[1](along), at(xp, 0.0, 0.5))


def test_a_cotangent_of_zero_that_is_asked_for_is_as_it_was(xp):
    compiled, x = ag.compile(lambda x: xp.sqrt(x)), at(xp, 0.0, 1.0)
    for f in (xp.sqrt, compiled):
        (gradient,) = ag.vjp(f, x)[1](at(xp, 0.0, 1.0))
        same(gradient, at(xp, np.nan, 0.5))


def test_products_are_guarded_only_where_there_is_nan():
    def f(x):
        return xp.sqrt(x)

    compiled, points = ag.compile(f), np.arange(3.0)
    hidden = ag.grad(lambda x: xp.sum(compiled(x)[1:]))
    assert runs(f, lambda: hidden(points + 1.0)) == 1
    assert runs(f, lambda: hidden(points)) == 1  # of the pullback as it is behind a mask
    assert runs(f, lambda: (hidden(points), hidden(points + 1.0))) == 0


def differentiable(sample):
    """Yield the sample's call, if it has a derivative on NumPy."""
    if sample.order and sample.backends in (None, ("numpy",)):
        case = Case(sample, "numpy")
        if case.places:
            yield case


def test_elementwise_ops_are_the_same_at_zero():
    samples = {s.op: s for m, _, s in all_samples() if m.endswith("rules.samples.elementwise")}
    compared = 0
    for sample in samples.values():
        for case in differentiable(sample):
            compared += compare(case, 0.0)
    assert compared > 40


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_samples_are_the_same_at_singular_points(module):
    for found, _, sample in all_samples():
        for case in differentiable(sample) if found == module else ():
            for point in POINTS:
                compare(case, point)


def compare(case, point):
    """Compare derivatives where every other element is a point that no tangent leaves."""
    problem, given, along = Problem(case, case.inputs), [], []
    for x in problem.values:
        moved, raw = np.arange(x.size).reshape(x.shape) % 2 == 1, x.data
        given.append(np.where(moved, raw, np.asarray(point, raw.dtype)))
        along.append(moved.astype(raw.dtype))

    def f(*arrays):
        return problem(*arrays)

    try:
        values, expected = derivatives(f, given, along)
    except Exception:
        return False  # the op has no value there, or no derivative
    if any(np.isnan(value).any() for value in values):
        return False
    try:
        _, ours = derivatives(ag.compile(f, lowering="numpy"), given, along)
    except CompileError:
        return False
    for one, other in zip(ours, expected, strict=True):
        message, rounding = f"{case.sample} at {point}", np.sqrt(np.finfo(one.dtype).eps)
        np.testing.assert_allclose(one, other, rounding, rounding, err_msg=message)
    return True


def derivatives(f, given, along):
    """Return values, and then tangents, and gradients of all but the first row of each result."""
    values, tangents = ag.jvp(f, tuple(given), tuple(along))
    results, pullback = ag.vjp(lambda *xs: [y[1:] if y.ndim else y for y in f(*xs)], *given)
    return values, [*tangents, *pullback([np.ones(y.shape, y.dtype) for y in results])]
