"""Checkpoints: the same gradients with less memory."""

import tracemalloc
import weakref

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import FreedGraphError, RuleError
from agnograd.extend import hookimpl
from arrays import host, leaf, values


def raw(xp, numbers):
    return xp.asarray(numbers, dtype=xp.float64).data


def test_first_and_second_derivatives(xp):
    x = raw(xp, [0.5, 1.0, 2.0])
    for f in (
        ag.checkpoint(lambda x: xp.sin(x) * x),
        lambda x: ag.checkpoint(lambda x: ag.checkpoint(xp.sin)(x * x) * x)(x) * x,
        ag.checkpoint(lambda x: (xp.sin(x), xp.cos(x) * x[0], xp.ones(3))),
        ag.checkpoint(lambda x: {"same": x, "other": [x[1:], 2]}["other"][0]),
        lambda x: ag.checkpoint(lambda p, scale: scale * p["x"] ** 3)({"x": x}, scale=2.0),
        lambda x: ag.checkpoint(lambda x: x)(x) * ag.checkpoint(lambda x: x)(x),
    ):
        ag.check_grad(f, x)


def test_what_is_used_besides_the_arguments_has_its_gradient(xp):
    w = leaf(xp, [2.0, 3.0])
    outer = xp.exp(w)
    x = raw(xp, [0.5, 1.0])

    def loss(f):
        w.grad = None
        xp.sum(f(ag.Variable(x, requires_grad=False))).backward(retain_graph=True)
        return values(w.grad)

    f = lambda x: xp.sin(x * w * outer) * outer  # noqa: E731
    np.testing.assert_allclose(loss(ag.checkpoint(f)), loss(f))
    z = xp.asarray(x)
    ag.check_grad(lambda w: ag.checkpoint(lambda z: xp.sin(z * w) * xp.exp(w))(z), w.data)


def test_values_inside_are_not_kept(xp):
    seen = []

    def f(x):
        y = xp.exp(x)
        seen.append(weakref.ref(y))
        return xp.sin(y)

    x = leaf(xp, [1.0, 2.0])
    out = xp.sum(ag.checkpoint(f)(x))
    assert [ref() for ref in seen] == [None]
    out.backward()
    assert len(seen) == 2
    assert seen[1]() is None
    np.testing.assert_allclose(values(x.grad), np.cos(np.exp([1.0, 2.0])) * np.exp([1.0, 2.0]))


def peak_of(layers, block, f):
    """Return the peak of memory, in arrays, of a gradient through layers in checkpointed blocks."""
    xp = ag.namespace("numpy")
    x = ag.Variable(np.ones(50_000))

    def part(count):
        def run(x):
            for _ in range(count):
                x = f(xp, x)
            return x

        return ag.checkpoint(run) if block else run

    y = x
    tracemalloc.start()
    try:
        for _ in range(layers // (block or layers)):
            y = part(block or layers)(y)
        xp.sum(y).backward()
        return tracemalloc.get_traced_memory()[1] / x.data.nbytes
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_square_root_of_the_depth():
    layer = lambda xp, x: xp.sin(x * 1.01)  # noqa: E731
    whole, blocks = peak_of(64, 0, layer), peak_of(64, 8, layer)
    assert whole > 64
    assert blocks < 32
    assert peak_of(256, 16, layer) < 2.5 * blocks


def test_no_grad_and_writes_inside(xp):
    def f(x):
        with ag.no_grad():
            scale = xp.max(x)
        y = x / scale
        y[0] = y[0] * y[1]
        return y

    x = leaf(xp, [1.0, 2.0])
    xp.sum(ag.checkpoint(f)(x)).backward()
    expected = ag.grad(lambda x: xp.sum(f(x)))(x.data)
    np.testing.assert_array_equal(values(x.grad), np.asarray(expected))
    with ag.no_grad():
        assert not ag.checkpoint(f)(x).requires_grad


def test_arguments_are_not_written_to(xp):
    def f(x):
        x *= 2.0
        return x * x

    x = leaf(xp, [1.0, 2.0])
    xp.sum(ag.checkpoint(f)(x)).backward()
    np.testing.assert_array_equal(values(x), [1.0, 2.0])
    np.testing.assert_array_equal(values(x.grad), [8.0, 16.0])


def test_an_argument_that_is_a_view_is_used_like_any_other(xp):
    def f(view):
        path = xp.zeros((2, 2), dtype=xp.float64)
        path[0, ...] = view
        path[1, ...] = view[:] * view
        return path

    x = raw(xp, [0.5, 1.0, 2.0])
    ag.check_grad(lambda x: ag.checkpoint(f)((x * 1.0)[1:]), x)


def test_results_that_depend_on_nothing_tracked_are_constants(xp):
    x = leaf(xp, [1.0, 2.0])
    constant, same, number = ag.checkpoint(lambda x: (xp.ones(2), x.detach(), 3))(x)
    assert not constant.requires_grad
    assert not same.requires_grad
    assert number == 3


def test_hooks_on_values_outside_run_once(xp):
    x, calls = leaf(xp, [1.0, 2.0]), []
    y = x * 1.0
    y.register_hook(lambda grad: calls.append(values(grad).tolist()))
    f = ag.checkpoint(lambda z: xp.sin(z) * y)
    xp.sum(f(y) + y).backward()
    assert len(calls) == 1
    np.testing.assert_allclose(calls[0], values(x.grad))


def test_a_graph_can_be_kept_and_is_freed(xp):
    x = leaf(xp, 2.0)
    y = ag.checkpoint(lambda x: x**3)(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 24.0
    with pytest.raises(FreedGraphError):
        y.backward()


def test_forward_mode_and_managers(xp):
    f = ag.checkpoint(lambda x: x**3)
    _, tangent = ag.jvp(lambda x: f(x) * x, raw(xp, 2.0), raw(xp, 1.0))
    assert float(tangent) == 32.0
    w = ag.Variable(raw(xp, 2.0), requires_grad=False)
    with ag.GradManager() as manager:
        manager.attach(w)
        manager.backward(f(w))
    assert w.grad.item() == 12.0


def test_forward_mode_of_a_function_with_first_derivatives_only(xp):
    numeric = ag.wrap(lambda x: x**3, vjp="numeric")
    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    _, tangent = ag.jvp(ag.checkpoint(ag.checkpoint(numeric)), x, t)
    np.testing.assert_allclose(np.asarray(tangent), [3.0, 120.0], rtol=1e-8)


def test_hooks_see_the_checkpoint_and_what_is_run_again(xp):
    class Names:
        def __init__(self):
            self.seen = []

        @hookimpl
        def backward_preprocess(self, op):
            self.seen.append(op.name)

    def cubed(x):
        return x**3

    with ag.hooks(Names()) as (names,):
        ag.checkpoint(cubed)(leaf(xp, 2.0)).backward()
    assert names.seen == ["cubed", "pow"]


def test_a_function_that_computes_something_else_the_second_time(xp):
    lengths = iter([2, 3])
    f = ag.checkpoint(lambda x: x * xp.ones(next(lengths)))
    x = leaf(xp, 1.0)
    out = xp.sum(f(x))
    with pytest.raises(RuleError, match="must compute the same thing both times"):
        out.backward()
    assert x.grad is None


def test_a_failure_inside_leaves_gradients_as_they_were(xp):
    fails = iter([False, True])

    def f(x):
        if next(fails):
            raise ZeroDivisionError("planted")
        return x * x

    x = leaf(xp, 2.0)
    y = ag.checkpoint(f)(x)
    with pytest.raises(ZeroDivisionError, match="planted"):
        y.backward()
    assert x.grad is None
    assert (x * x).requires_grad


def test_a_function_that_takes_derivatives_itself(xp):
    def cube(x):
        return xp.sum(x**3)

    def recorded(x):
        y = x * 1.0
        return ag.autodiff.grad(cube(y), y, create_graph=True)[0]

    x = raw(xp, [1.0, 2.0])
    for f in (
        ag.grad(cube),
        ag.grad(ag.checkpoint(cube)),
        lambda x: ag.jvp(lambda x: x**3, x, xp.ones_like(x))[1],
        recorded,
    ):
        checkpointed = ag.checkpoint(f)
        np.testing.assert_allclose(
            np.asarray(ag.grad(lambda x, f=checkpointed: xp.sum(f(x)))(x)), [6.0, 12.0]
        )


def test_a_pass_in_a_gradient_manager_that_attached_something_else(xp):
    x, w = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0])
    loss = xp.sum(ag.checkpoint(lambda y: w * y * y)(x * w))
    with ag.GradManager():
        loss.backward()
    np.testing.assert_allclose(values(x.grad), [54.0, 256.0])
    np.testing.assert_allclose(values(w.grad), [27.0, 192.0])


def test_arrays_that_are_written_to_between_the_passes_are_noticed():
    xp, weights = ag.namespace("numpy"), np.asarray([3.0, 4.0])
    closed = ag.checkpoint(lambda x: xp.sum(x * x * weights))
    given = ag.checkpoint(lambda x, weights: xp.sum(x * x * weights))
    for call in (closed, lambda x: given(x, weights)):
        x = ag.Variable([1.0, 2.0])
        loss = call(x)
        np.add(weights, 1.0, out=weights)
        with pytest.raises(RuleError, match="an array that was written to or replaced since"):
            loss.backward()
        assert x.grad is None
        np.subtract(weights, 1.0, out=weights)
        loss.backward()
        assert x.grad.data.tolist() == [6.0, 16.0]


@pytest.mark.parametrize("tracked", [False, True])
def test_a_loop_variable_that_has_gone_on_is_noticed(xp, tracked):
    made = [xp.asarray([2.0, 3.0]), xp.asarray([4.0, 5.0])]
    x = y = leaf(xp, [1.0, 2.0])
    for scale in made if tracked else [each.data for each in made]:
        y = ag.checkpoint(lambda y: y * y * scale)(y)  # noqa: B023 - which is what is wrong
    with pytest.raises(RuleError, match="pass the array as an argument"):
        xp.sum(y).backward()
    x = y = leaf(xp, [1.0, 2.0])
    for scale in made:
        y = ag.checkpoint(lambda y, scale: y * y * scale)(y, scale)
    xp.sum(y).backward()
    np.testing.assert_array_equal(np.asarray(x.grad.data), [64.0, 1440.0])


def test_arrays_that_the_function_itself_writes_to_are_its_own():
    xp, runs = ag.namespace("numpy"), np.zeros(1)

    @ag.checkpoint
    def square(x):
        runs[0] += 1.0
        return x * x

    x = ag.Variable([1.0, 2.0])
    xp.sum(square(x) + square(x)).backward()
    assert x.grad.data.tolist() == [4.0, 8.0]
    assert runs.tolist() == [4.0]


@pytest.mark.parametrize("order", [1, 2])
def test_elements_that_are_left_out_behind_it_are_left_out_in_it(xp, order):
    several = ag.checkpoint(lambda x: (xp.sqrt(x * 1.0), x))
    root = ag.checkpoint(lambda x: xp.sqrt(x * 1.0))
    for f in (
        lambda x: xp.sum(root(x)[1:]),
        lambda x: xp.sum(xp.where(x > 0, root(x), 0.0)),
        lambda x: xp.sum(several(x)[0][1:]),
    ):
        gradient = ag.grad(f)
        if order == 2:
            gradient = ag.grad(lambda x, first=gradient: xp.sum(first(x)))
        expected = {1: [0.0, 0.25], 2: [0.0, -0.03125]}[order]
        np.testing.assert_array_equal(np.asarray(gradient(raw(xp, [0.0, 4.0]))), expected)


@pytest.mark.parametrize("place", [0, 1])
def test_mixed_second_derivatives(xp, place):
    def product(x, y):
        return xp.sin(x * y) * xp.exp(x)

    def mixed(f):
        """Differentiate by one argument, and then by the other one."""

        def of_other(z):
            def first(w):
                args = (xp.asarray(w), xp.asarray(z))
                return xp.sum(f(*(args if place else args[::-1])))

            return xp.sum(ag.grad(first)(raw(xp, [0.3, -0.7, 0.2])))

        return ag.grad(of_other)(raw(xp, [0.5, 0.1, -0.4]))

    np.testing.assert_allclose(
        np.asarray(mixed(ag.checkpoint(product))), np.asarray(mixed(product)), rtol=1e-12
    )


def test_mixed_second_derivatives_of_leaves(xp):
    x, y = leaf(xp, [0.5, 0.1]), leaf(xp, [0.3, -0.7])
    out = xp.sum(ag.checkpoint(lambda x, y: xp.sin(x * y))(x, y))
    (by_y,) = ag.autodiff.grad([out], [y], create_graph=True)
    (found,) = ag.autodiff.grad([xp.sum(by_y)], [x])
    a, b = np.asarray([0.5, 0.1]), np.asarray([0.3, -0.7])
    np.testing.assert_allclose(values(found), np.cos(a * b) - a * b * np.sin(a * b), rtol=1e-12)


class OfBoth(ag.Function):
    """Its backward reads what it returned, whose own derivative goes through the call again."""

    def forward(self, xp, x):
        both = xp.sin(x), x * x
        self.save(*both, x)
        return both

    def backward(self, xp, g, h):
        sine, square, x = self.saved
        return g * (1 - sine**2) ** 0.5 * xp.sign(xp.cos(x)) + h * 2 * x * square / x**2


@pytest.mark.parametrize("order", [1, 2])
def test_the_second_derivative_of_a_function_from_outside(xp, order):
    def f(u):
        sine, square = OfBoth()(u)
        return sine * square * u

    def loss(checkpoint):
        def of(x):
            _, pull = ag.vjp(f, x)
            return xp.sum(xp.sin(checkpoint(lambda w: pull(w)[0])(x)))

        return of if order == 1 else lambda x: xp.sum(ag.grad(of)(x) ** 2)

    x = ag.Variable(xp.asarray([0.5, 0.6], dtype=xp.float64).data)
    found, expected = (ag.grad(loss(around))(x) for around in (ag.checkpoint, lambda f: f))
    np.testing.assert_allclose(host(found), host(expected), rtol=1e-12)


def test_a_recorded_pass_reaches_one_of_several_results_outside(xp):
    x = xp.asarray([0.3, 0.7, 1.1]).data

    def pulled(around):
        def f(u):
            part = xp.unstack(xp.stack([u, u**3]))[1]
            _, pull = ag.vjp(lambda w: w * part, x)
            return around(lambda w: pull(w)[0])(x)

        _, pull = ag.vjp(f, x)
        return ag.vjp(lambda w: pull(w)[0], x)[0]

    expected = host(pulled(lambda f: f))
    assert np.all(expected != 0.0)
    np.testing.assert_allclose(host(pulled(ag.checkpoint)), expected)
