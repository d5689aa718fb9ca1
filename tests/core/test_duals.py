"""Forward mode keeps no graph: what a loop holds, and what is recorded all the same."""

import gc
import threading
from random import Random

import numpy as np
import pytest

import agnograd as ag
from agnograd._transforms.duals import Dual, Duals
from agnograd._transforms.pushforward import Pushforward
from agnograd._transforms.trace import Trace, outputs_of
from agnograd.errors import GradientError, RuleError
from agnograd.extend import OpSet
from agnograd.testing import record_events
from agnograd.testing._samples import all_samples
from agnograd.testing.differences import Problem, drawn
from agnograd_conformance._case import Case
from arrays import Square, host, leaf
from memory import peak_of

pytestmark = pytest.mark.accelerated  # the simple way of computing keeps the graph
MODULES = sorted({module for module, _, _ in all_samples()})


def transposed(f, args, tangents):
    """Return tangents by the transposed pullback of all of a run: what is recorded as a whole."""
    trace = Trace(f, args, {}, tuple(range(len(args))), True)
    outputs, _ = outputs_of(trace, "a function")
    given = [x._domain.wrap(t) for x, t in zip(trace.inputs, tangents, strict=True)]
    return Pushforward(trace, outputs)(given)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_tangents_are_those_of_the_transposed_pullback(module, dtype):
    rng, count = Random(0), 0
    for found, _, sample in all_samples():
        if found != module or sample.order == 0 or sample.backends not in (None, ("numpy",)):
            continue
        if dtype not in {spec.dtype for spec in sample.specs()}:
            continue
        case = Case(sample, "numpy")
        if not case.places:
            continue
        problem = Problem(case, case.inputs)
        given = tuple(x.data for x in problem.values)
        along = tuple(drawn(x, rng).data for x in problem.values)
        with np.errstate(all="ignore"):
            expected = transposed(problem, given, along)
            tangents = ag.jvp(problem, given, along)[1]
        for one, other in zip(tangents, expected, strict=True):
            assert one.dtype == other.dtype, sample
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9, err_msg=repr(sample))
        count += 1
    if not count:
        pytest.skip(f"no sample is of {dtype}")


# -- what a loop holds ----------------------------------------------------------------------------

W = np.eye(50) * 0.9

STEPS = {
    "elementwise": lambda xp, y: xp.sin(y) * 1.01,
    "broadcast": lambda xp, y: y - 0.1 * xp.mean(y),
    "linear": lambda xp, y: xp.concat([xp.flip(y[:25]), xp.reshape(y[25:], (25,))]),
    "multilinear": lambda xp, y: xp.matmul(W, y),
    "number": lambda xp, y: y / xp.linalg.vector_norm(y),
    "transposed": lambda xp, y: xp.cumulative_prod(1 + 1e-3 * y),
    "several results": lambda xp, y: xp.stack(xp.unstack(xp.reshape(y, (2, 25))))[0, :1] * y,
    "function": lambda xp, y: Square()(y) * 0.5,
    "write": lambda xp, y: _written(y),
    "view": lambda xp, y: _written_through_a_view(y),
}


def _written(y):
    y[3] = y[4] * 2.0
    return y * 0.5


def _written_through_a_view(y):
    view, last = y[1:], y[-1:]
    view *= 0.9
    y[2] = last[0] * view[0]
    return y * view[1]


def loop(step, n):
    xp = ag.namespace("numpy")

    def run(x):
        for _ in range(n):
            x = step(xp, x)
        return x

    return run


@pytest.mark.parametrize("step", [*STEPS.values(), None], ids=[*STEPS.keys(), "tracked"])
def test_a_loop_holds_no_more_the_longer_it_is(step):
    if step is None:
        weights = ag.Variable(W)

        def step(xp, y):
            return xp.matmul(weights.T * 1.0, y)

    # What a step closes over is a constant under no_grad. Otherwise tangents lead to it.
    jvp = ag.no_grad()(ag.jvp)

    def alive(xp, y):
        # To look through all objects takes a while.
        counts.append(len(counts) in (4, 11) and sum(type(x) is Dual for x in gc.get_objects()))
        return step(xp, y)

    x = np.linspace(0.5, 1.0, 50)
    jvp(loop(step, 3), x, x)
    counts = []
    gc.collect()
    jvp(loop(alive, 12), x, x)
    assert counts[-1] == counts[4] > 0  # each value has a tangent, and none is left behind
    run = loop(step, 120)
    assert peak_of(jvp, run, x, x) < 0.25 * peak_of(transposed, run, (x,), (x,))


def test_a_long_loop_takes_the_memory_of_a_loop_of_values_with_their_tangents():
    x = np.linspace(0.5, 1.0, 10_000)
    run = loop(STEPS["elementwise"], 300)
    ag.jvp(run, x, x)
    with ag.no_grad():
        alone = peak_of(run, ag.Variable(x))
    assert peak_of(ag.jvp, run, x, x) < 2.5 * alone


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
def test_nothing_is_left_for_the_garbage_collector(step):
    x = np.linspace(0.5, 1.0, 50)
    run = loop(step, 2)
    ag.jvp(run, x, x)
    gc.collect()
    gc.disable()
    try:
        ag.jvp(run, x, x)
        assert not any(type(each) in (Dual, Duals) for each in gc.get_objects())
    finally:
        gc.enable()


# -- what is recorded all the same ----------------------------------------------------------------


def raw(xp, numbers):
    return xp.asarray(numbers, dtype=xp.float64).data


def runs_of(f, x, t):
    """Return the tangent of a function, and how often it ran."""
    count = 0

    def counted(x):
        nonlocal count
        count += 1
        return f(x)

    return host(ag.jvp(counted, x, t)[1]), count


def test_a_function_runs_once(xp):
    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    inner = ag.grad(lambda x: xp.sum(x**3))
    for f in (
        lambda x: x * x * x,
        lambda x: inner(x) * x / 3.0,  # which has a pass, but on its own graph
        lambda x: ag.vjp(lambda y: x * y, x)[1](x)[0] * x,
        lambda x: ag.jvp(lambda y: y**3, x, x)[1] / 3.0,
    ):
        tangent, count = runs_of(f, x, t)
        np.testing.assert_allclose(tangent, [3.0, 120.0], rtol=1e-14)
        assert count == 1


def test_values_before_and_after_another_transformation(xp):
    def f(x):
        y = xp.sin(x) * x
        for _ in range(3):
            y = y - 0.1 * ag.grad(lambda y: xp.sum(y * y * x))(y)
        return xp.sum(xp.cos(y)) * y

    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    (expected,) = transposed(f, (x,), (t,))
    np.testing.assert_allclose(host(ag.jvp(f, x, t)[1]), host(expected), rtol=1e-14)


def test_a_pass_to_what_the_function_made_itself_goes_through_its_own_graph(xp):
    def f(x):
        w = leaf(xp, [3.0, 4.0])
        z = xp.sum(x * w * w)
        z.backward(inputs=[w])
        (again,) = ag.autodiff.grad(xp.sum(x * w * w), [w], create_graph=True)
        return again * w.grad.detach()

    tangent, count = runs_of(f, raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0]))
    np.testing.assert_array_equal(tangent, [36.0, 1280.0])
    assert count == 1


def _by_backward(xp, x):
    w = leaf(xp, 1.0)
    y = xp.sin(x)
    xp.sum(y * w).backward()
    return y * (0.0 if x.grad is None else x.grad)


def _between(xp, x):
    y = xp.sin(x)
    z = y * y
    (g,) = ag.autodiff.grad(xp.sum(z * y), [y], create_graph=True)
    return g * y


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (_by_backward, lambda x: np.cos(x) ** 2),
        (_between, lambda x: 9 * np.sin(x) ** 2 * np.cos(x)),
    ],
)
def test_a_pass_through_what_is_not_kept_makes_the_function_run_again(xp, f, slope):
    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    tangent, count = runs_of(lambda x: f(xp, x), x, t)
    np.testing.assert_allclose(tangent, slope(np.asarray(x)) * np.asarray(t), rtol=1e-13)
    assert count == 2


def test_a_pass_to_what_was_there_before_makes_the_function_run_again(xp):
    w = leaf(xp, [2.0, 3.0])

    def f(x):
        (g,) = ag.autodiff.grad(xp.sum(xp.sin(x) * w), [w], create_graph=True)
        return g * x

    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    tangent, count = runs_of(f, x, t)
    at = np.asarray(x)
    expected = (np.cos(at) * at + np.sin(at)) * np.asarray(t)
    np.testing.assert_allclose(tangent, expected, rtol=1e-14)
    assert count == 2


def test_gradients_outside_are_added_once(xp):
    w, v, manager = leaf(xp, [2.0, 3.0]), leaf(xp, [4.0]), ag.GradManager()

    def f(x):
        y = xp.sin(x)
        xp.sum(w * w).backward()
        with manager:
            manager.attach(v)
            manager.backward(xp.sum(v * v))
        before = w.grad.detach()
        xp.sum(y * w).backward(inputs=[w])
        return x * w.grad * before

    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    tangent, count = runs_of(f, x, t)
    at, of = np.asarray(x), np.asarray([2.0, 3.0])
    expected = 2 * of * (2 * of + np.sin(at)) * np.asarray(t)
    np.testing.assert_allclose(tangent, expected, rtol=1e-14)
    np.testing.assert_allclose(host(w.grad), 2 * of + np.sin(at), rtol=1e-14)
    assert host(v.grad) == [8.0]
    assert count == 2


def test_it_runs_again_whatever_the_function_catches(xp):
    def f(x):
        y = xp.sin(x)
        try:
            xp.sum(y).backward()
        except BaseException:
            return y
        return y * x.grad

    x = raw(xp, [1.0, 2.0])
    tangent, count = runs_of(f, x, raw(xp, [1.0, 1.0]))
    np.testing.assert_allclose(tangent, np.cos(np.asarray(x)) ** 2, rtol=1e-14)
    assert count == 2


def test_an_interrupt_ends_it(xp):
    def f(x):
        try:
            xp.sum(x * x).backward()
        except BaseException:
            raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt):
        ag.jvp(f, raw(xp, [1.0]), raw(xp, [1.0]))
    assert ag.is_grad_enabled()


def test_what_was_kept_of_a_run_has_no_graph_and_an_error_says_so(xp):
    kept = []
    ag.jvp(lambda x: kept.append(x * x) or x, raw(xp, [1.0]), raw(xp, [1.0]))
    with pytest.raises(GradientError, match=r"computed inside ag\.jvp has no graph afterwards"):
        xp.sum(kept[0]).backward()


def test_what_was_kept_of_a_run_and_depends_on_no_argument_has_its_graph(xp):
    w, kept = leaf(xp, [3.0]), []
    ag.jvp(lambda x: kept.append(w * w) or x * kept[0], raw(xp, [1.0]), raw(xp, [1.0]))
    xp.sum(kept[0]).backward()
    assert host(w.grad) == [6.0]


def test_values_of_other_threads_meet_those_of_this_one(xp):
    def f(x):
        found = []
        y = xp.sin(x)
        thread = threading.Thread(target=lambda: found.append(y * y * y))
        thread.start()
        thread.join()
        return {"both": found[0] * xp.cos(y), "here": y * 2.0, "there": found[0]}

    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    value, tangent = ag.jvp(f, x, t)
    expected = transposed(f, (x,), (t,))
    for name, other in zip(sorted(value), expected, strict=True):
        np.testing.assert_allclose(host(tangent[name]), host(other), rtol=1e-14)


def test_a_view_that_is_taken_again_after_a_write(xp):
    def f(x):
        y = x * 1.0
        view = y[1:]
        y[2] = xp.sum(x) * x[0]
        view *= 3.0
        y[0] = view[0] * view[1]
        return y * xp.flip(y)

    x, t = raw(xp, [1.0, 2.0, 3.0]), raw(xp, [1.0, 10.0, 100.0])
    (expected,) = transposed(f, (x,), (t,))
    np.testing.assert_allclose(host(ag.jvp(f, x, t)[1]), host(expected), rtol=1e-14)


class Undifferentiable(ag.Function):
    def forward(self, xp, x):
        return x * 2.0

    def backward(self, xp, g):
        raise RuleError("it has no derivative")


def test_a_missing_derivative_is_an_error_only_where_it_is_needed(xp):
    def f(x):
        y = Undifferentiable()(x)
        return x * x, y

    x = raw(xp, [1.0, 2.0])
    _, tangent = ag.jvp(lambda x: f(x)[0], x, x)
    np.testing.assert_array_equal(host(tangent), [2.0, 8.0])
    with pytest.raises(RuleError, match="it has no derivative"):
        ag.jvp(f, x, x)


def test_a_refused_derivative_of_a_linear_op_is_left_to_its_rule():
    from agnograd._codegen.tangents import Along, Tangent
    from agnograd._plugins.op_sets import registered

    xp = ag.namespace("numpy")
    ops = OpSet("mine")
    ops.linear("where(condition, x1, x2, /)", x1=lambda g, xp: g, x2="nobody knows it")
    node = xp.where(True, ag.Variable([1.0]), ag.Variable([2.0]))._node
    given = [Tangent(np.ones(1)), Tangent(np.ones(1))]
    both = registered()["where"][0], ops.ops["where"]
    inputs = (np.asarray(True), np.ones(1), np.ones(1))
    pushed, refused = (Along(op)(node, np.ones(1), given, inputs, {}) for op in both)
    assert pushed is not None
    assert refused is None


def test_tangents_of_a_range_have_its_length():
    xp = ag.namespace("numpy")
    _, tangent = ag.jvp(lambda *ends: xp.arange(*ends), (0.0, 2.0, 1.0), (0.5, 1e12, 1e-9))
    np.testing.assert_allclose(tangent, [0.5, 0.5 + 1e-9], rtol=1e-15)


def test_plugins_see_what_they_saw(xp):
    x = raw(xp, [1.0, 2.0])

    def f(x):
        return xp.linalg.vector_norm(xp.sin(x) * x)

    events = record_events([], lambda: ag.jvp(f, x, x))
    assert [e.op for e in events if e.hook == "save_value"] == [
        e.op for e in record_events([], lambda: transposed(f, (x,), (x,))) if e.hook == "save_value"
    ]


def test_under_no_grad_variables_have_tangents_that_are_constants(xp):
    x, t = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0])
    with ag.no_grad():
        value, tangent = ag.jvp(lambda x: xp.cumulative_prod(x * x)[1:], x, t)
    assert not value.requires_grad
    assert not tangent.requires_grad
    np.testing.assert_array_equal(host(tangent), [40.0])


def test_a_value_inside_the_function_is_no_leaf(xp):
    def f(x):
        y = x * x
        assert x.is_leaf
        assert y.requires_grad
        assert not y.is_leaf
        y.register_hook(lambda g: g * 100.0)
        return y

    assert host(ag.jvp(f, raw(xp, 3.0), raw(xp, 1.0))[1]) == 6.0


# -- derivatives inside, by what the tangents do not belong to -------------------------------------

XP = ag.namespace("numpy")
CONSTANT = np.asarray([0.3, -0.7, 0.2])


def scalar(x, y):
    return XP.sum(XP.sin(XP.sin(x) * y + XP.cos(y) * x) * XP.exp(-x * y))


def vector(x, y):
    return XP.sin(XP.sin(x) * y) + XP.cumulative_sum(x * y)


INSIDE = {
    "grad": lambda x: ag.grad(scalar, 1)(x, CONSTANT),
    "grad of a closure": lambda x: ag.grad(lambda y: scalar(x, y))(CONSTANT),
    "value": lambda x: ag.value_and_grad(scalar, 1)(x, CONSTANT)[0],
    "vjp": lambda x: ag.vjp(lambda y: vector(x, y), CONSTANT)[1](np.ones(3))[0],
    "jacobian": lambda x: ag.jacobian(lambda y: vector(x, y))(CONSTANT),
    "hessian": lambda x: ag.hessian(lambda y: scalar(x, y))(CONSTANT),
    "hvp": lambda x: ag.hvp(lambda y: scalar(x, y), CONSTANT, np.ones(3)),
    "hvp by x": lambda x: ag.hvp(lambda y: scalar(x, y), CONSTANT, x),
    "linearize": lambda x: ag.linearize(lambda y: vector(x, y), CONSTANT)[1](np.ones(3)),
    "jvp": lambda x: ag.jvp(lambda y: vector(x, y), CONSTANT, np.ones(3))[1],
    "checkpoint": lambda x: ag.grad(lambda y: XP.sum(ag.checkpoint(vector)(x, y)))(CONSTANT),
    "function": lambda x: ag.grad(lambda y: XP.sum(Square()(x * y)))(CONSTANT),
    "vmap": lambda x: ag.vmap(ag.grad(lambda x, y: XP.sum(XP.sin(x * y)), 1))(x, CONSTANT),
    "twice": lambda x: ag.grad(lambda y: XP.sum(ag.grad(lambda z: scalar(x, z * y))(CONSTANT)))(
        CONSTANT
    ),
    "mixed": lambda x: ag.grad(lambda y: XP.sum(ag.grad(lambda z: scalar(z, y))(x)))(CONSTANT),
    "write": lambda x: ag.grad(lambda y: XP.sum(written(x, y) * y))(CONSTANT),
}


def written(x, y):
    out = XP.asarray(y) * 1.0
    out[0] = x[1] * y[0]
    return out


@pytest.mark.parametrize("inside", INSIDE)
def test_derivatives_inside_by_something_else_than_the_argument(inside):
    f, x, tangent = INSIDE[inside], np.asarray([0.5, 0.1, -0.4]), np.asarray([1.0, -2.0, 0.5])

    def along(step):
        return host(f(XP.asarray(x + step * tangent)))

    step = 1e-4
    near, far = along(step) - along(-step), along(2 * step) - along(-2 * step)
    expected = (8 * near - far) / (12 * step)
    for found in (ag.jvp(f, x, tangent)[1], ag.linearize(f, x)[1](tangent)):
        np.testing.assert_allclose(host(found), expected, rtol=1e-7, atol=1e-8)
    output, pullback = ag.vjp(f, x)
    cotangent = np.cos(np.arange(output.size)).reshape(output.shape)
    np.testing.assert_allclose(
        np.sum(pullback(cotangent) * tangent), np.sum(cotangent * expected), rtol=1e-7
    )


def test_guarded_products_of_a_run_in_a_run():
    def f(x):
        return XP.max(XP.asarray([[x, x], [x, 0.5]]), axis=1)

    def once(x, t):
        return ag.jvp(f, (x,), (t,))[1]

    one = np.asarray(1.0)
    found = ag.jvp(once, (one, one), (one, one * 2.0))[1]
    np.testing.assert_array_equal(host(found), [2.0, 2.0])
