"""Forward mode: products with Jacobians, by pushing tangents."""

import contextvars
import itertools
import math
import threading

import numpy as np
import optree
import pytest

import agnograd as ag
from agnograd.errors import GradientError, NoGradientError, UnsupportedArrayError
from arrays import Square, host, leaf


def raw(xp, numbers):
    return xp.asarray(numbers, dtype=xp.float64).data


def test_value_and_tangent(xp):
    x = raw(xp, [0.5, 1.0])
    value, tangent = ag.jvp(lambda x: xp.sin(x) * x, x, raw(xp, [1.0, 2.0]))
    assert type(tangent) is type(x)
    at = np.asarray(x)
    np.testing.assert_allclose(np.asarray(value), np.sin(at) * at)
    np.testing.assert_allclose(np.asarray(tangent), (np.cos(at) * at + np.sin(at)) * [1.0, 2.0])


def test_several_arguments_and_results(xp):
    x, y = raw(xp, 2.0), raw(xp, [3.0, 4.0])
    f = lambda p, y: {"product": p["x"] * y, "constant": xp.ones(2)}  # noqa: E731
    value, tangent = ag.jvp(f, ({"x": x}, y), ({"x": raw(xp, 1.0)}, raw(xp, [10.0, 20.0])))
    np.testing.assert_array_equal(np.asarray(value["product"]), [6.0, 8.0])
    np.testing.assert_array_equal(np.asarray(tangent["product"]), [23.0, 44.0])
    np.testing.assert_array_equal(np.asarray(tangent["constant"]), 0.0)


def test_an_argument_that_is_returned(xp):
    x, v = raw(xp, [1.0, 2.0]), raw(xp, [3.0, 4.0])
    _, tangent = ag.jvp(lambda x: (x, x[0]), x, v)
    np.testing.assert_array_equal(np.asarray(tangent[0]), [3.0, 4.0])
    assert float(tangent[1]) == 3.0


def test_forward_over_forward_over_reverse_over_forward(xp):
    x, one = raw(xp, 2.0), raw(xp, 1.0)
    cube = lambda x: x * x * x  # noqa: E731
    push = lambda f: lambda x: ag.jvp(f, x, xp.ones_like(x))[1]  # noqa: E731
    assert float(push(push(cube))(x)) == 12.0
    assert float(ag.jvp(ag.grad(cube), x, one)[1]) == 12.0
    assert float(ag.grad(push(cube))(x)) == 12.0
    assert float(ag.grad(push(ag.grad(cube)))(x)) == 6.0
    assert float(push(ag.grad(push(cube)))(x)) == 6.0


def test_variables_in_give_connected_variables_out(xp):
    x, v = leaf(xp, 2.0), leaf(xp, 3.0)
    _, tangent = ag.jvp(lambda x: x * x, x, v)
    assert tangent.item() == 12.0
    tangent.backward()
    assert (x.grad.item(), v.grad.item()) == (6.0, 4.0)
    with ag.no_grad():
        assert not ag.jvp(lambda x: x * x, x, v)[1].requires_grad


def test_a_branch_that_was_not_taken_has_no_tangent(xp):
    f = lambda x: xp.where(x > 0, xp.sqrt(x), 0.0)  # noqa: E731
    _, tangent = ag.jvp(f, raw(xp, [0.0, 4.0]), raw(xp, [1.0, 1.0]))
    np.testing.assert_array_equal(np.asarray(tangent), [0.0, 0.25])


@pytest.mark.parametrize(
    ("function", "end"),
    [
        (lambda xp, x: xp.sqrt(x), 0.0),
        (lambda xp, x: xp.log(x), 0.0),
        (lambda xp, x: x**0.5, 0.0),
        (lambda xp, x: 1 / x, 0.0),
        (lambda xp, x: xp.acos(x), 1.0),
        (lambda xp, x: xp.atanh(x), 1.0),
        (lambda xp, x: xp.sqrt(xp.log1p(x) * x), 0.0),
        (lambda xp, x: xp.special.erfinv(x), 1.0),
        (lambda xp, x: xp.special.logit(x), 1.0),
        (lambda xp, x: xp.special.entr(x), 0.0),
    ],
)
def test_a_tangent_of_zero_gives_zero_where_the_derivative_is_infinite(xp, function, end):
    x = xp.asarray([end, 0.5], dtype=xp.float64).data
    with xp.empty(0)._domain.backend.quiet():
        of_one = lambda x: function(xp, x)  # noqa: E731
        slope = host(ag.grad(lambda x: xp.sum(of_one(x)))(x))[1]
        _, none = ag.jvp(of_one, x, xp.zeros_like(x).data)
        _, second = ag.jvp(of_one, x, xp.asarray([0.0, 1.0], dtype=xp.float64).data)
        _, twice = ag.jvp(lambda x: ag.jvp(of_one, x, xp.ones_like(x))[1], x, xp.zeros_like(x).data)
        along = ag.jvp(ag.grad(lambda x: xp.sum(of_one(x))), x, xp.zeros_like(x).data)[1]
        matrix = host(ag.jacobian(of_one, mode="forward")(x))
    assert host(none).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(host(second), [0.0, slope], rtol=1e-14)
    assert host(twice).tolist() == [0.0, 0.0]
    assert host(along).tolist() == [0.0, 0.0]
    assert matrix[0, 1] == matrix[1, 0] == 0.0


def _written(xp, x):
    y = x * 1.0
    y[0] = 0.0
    return y


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.where(x > 0, x, 0.0),
        _written,
        lambda xp, x: xp.reshape(xp.tril(xp.stack([x, x])), (-1,))[1::2],
        lambda xp, x: xp.concat([xp.zeros_like(x)[:1], xp.flip(x)[:1]]),
        lambda xp, x: xp.roll(xp.flip(_written(xp, x)), 1) * 2.0,
    ],
)
def test_what_a_mask_makes_zero_before_a_root_has_no_tangent(xp, function):
    x = raw(xp, [0.0, 4.0])
    with xp.empty(0)._domain.backend.quiet():
        root = lambda x: xp.sqrt(function(xp, x))  # noqa: E731
        slope = host(ag.grad(lambda x: xp.sum(root(x)))(raw(xp, [1.0, 4.0])))[1]
        _, along = ag.jvp(root, x, raw(xp, [1.0, 1.0]))
    np.testing.assert_allclose(host(along), [0.0, slope], rtol=1e-14)


def test_a_tangent_that_is_lost_by_rounding_is_no_zero(xp):
    if xp.empty(0)._domain.backend.has_zeros(xp.ones(1).data) is None:
        pytest.skip("the backend cannot say that no tangent is 0, and all products are guarded")
    x = raw(xp, [-800.0, 0.0])
    with xp.empty(0)._domain.backend.quiet():
        naive = lambda x: xp.log(xp.exp(xp.where(x <= 0, x, 0.0)))  # noqa: E731
        _, along = ag.jvp(naive, x, raw(xp, [1.0, 1.0]))
    assert np.isnan(host(along)[0])  # and not 0: it is 1
    assert host(along)[1] == 1.0


def test_what_has_no_derivative_has_no_tangent(xp):
    tall = raw(xp, [[1.0], [2.0], [0.5]])
    for f in (
        lambda x: xp.linalg.svd(x).U[0, 2],
        lambda x: xp.linalg.qr(x, mode="complete").Q[0, 2],
    ):
        assert np.isnan(np.asarray(ag.jvp(f, tall, xp.ones_like(tall).data)[1]))
    singular = raw(xp, [[1.0, 2.0], [2.0, 4.0]])
    with xp.empty(0)._domain.backend.quiet():
        _, tangent = ag.jvp(lambda x: xp.linalg.slogdet(x)[1], singular, singular)
    assert np.isnan(np.asarray(tangent))


def test_writes_and_functions_of_ones_own(xp):
    def f(x):
        y = x * 1.0
        y[0] = Square()(x[1])
        return y

    _, tangent = ag.jvp(f, raw(xp, [1.0, 3.0]), raw(xp, [1.0, 1.0]))
    np.testing.assert_array_equal(np.asarray(tangent), [6.0, 1.0])


def test_a_pass_inside_the_function_frees_nothing(xp):
    def f(x):
        y = xp.sin(x) * x
        (g,) = ag.autodiff.grad(xp.sum(y), [x])
        return y * g.detach()

    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    at = np.asarray(x)
    slope = np.cos(at) * at + np.sin(at)
    np.testing.assert_allclose(np.asarray(ag.jvp(f, x, t)[1]), slope**2 * np.asarray(t))
    found = ag.jacobian(f, mode="forward")(x)
    np.testing.assert_allclose(np.asarray(found), np.diag(slope**2))


def test_hooks_on_gradients_have_no_part_in_tangents(xp):
    seen = []

    def f(x):
        y = x * x
        y.register_hook(lambda g: seen.append(g) or g * 10.0)
        y.retain_grad()
        return xp.sin(y)

    x, t = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 10.0])
    expected = np.cos(np.asarray(x) ** 2) * 2.0 * np.asarray(x)
    with ag.hooks("clip"):
        np.testing.assert_allclose(np.asarray(ag.jvp(f, x, t)[1]), expected * np.asarray(t))
        found = np.asarray(ag.jacobian(f, mode="forward")(x))
        np.testing.assert_allclose(found, np.diag(expected))
    assert not seen


def test_hooks_may_be_active(xp):
    with ag.hooks("nan", "timer"):
        _, tangent = ag.jvp(lambda x: xp.exp(x), raw(xp, 0.0), raw(xp, 2.0))
    assert float(tangent) == 2.0


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_jacobians_in_every_mode(xp, mode):
    x = raw(xp, [1.0, 2.0, 3.0])
    square = ag.jacobian(lambda x: x * x, mode=mode)(x)
    np.testing.assert_array_equal(np.asarray(square), np.diag([2.0, 4.0, 6.0]))
    f = lambda x, p: {"a": xp.sum(x) * p["s"], "b": x[:2]}  # noqa: E731
    found = ag.jacobian(f, argnums=(0, 1), mode=mode)(x, {"s": raw(xp, 2.0)})
    np.testing.assert_array_equal(np.asarray(found["a"][0]), [2.0, 2.0, 2.0])
    assert float(found["a"][1]["s"]) == 6.0
    np.testing.assert_array_equal(np.asarray(found["b"][0]), np.eye(2, 3))
    np.testing.assert_array_equal(np.asarray(found["b"][1]["s"]), [0.0, 0.0])
    empty = ag.jacobian(lambda x: x[:0], mode=mode)(x)
    assert np.asarray(empty).shape == (0, 3)


def test_modes_agree_on_complex_arguments(xp):
    z = xp.asarray([1 + 2j, 0.5j], dtype=xp.complex128).data
    f = lambda z: xp.abs(z) * xp.real(xp.sum(z * z))  # noqa: E731
    forward, reverse = (np.asarray(ag.jacobian(f, mode=m)(z)) for m in ("forward", "reverse"))
    np.testing.assert_allclose(forward, reverse)
    with pytest.raises(NoGradientError, match="complex output"):
        ag.jacobian(lambda z: z, mode="forward")(z)


def test_an_infinite_derivative_for_one_argument_does_not_reach_that_for_another(xp):
    x, y = raw(xp, [1.0, 2.0]), raw(xp, [0.0, 4.0])
    f = ag.jacobian(lambda x, y: x + xp.sqrt(y), (0, 1), mode="forward")
    np.testing.assert_array_equal(np.asarray(f(x, y)[0]), np.eye(2))


def test_a_forward_jacobian_can_be_differentiated(xp):
    x = raw(xp, [1.0, 2.0])
    jacobian = ag.jacobian(lambda x: x * x * x, mode="forward")
    second = ag.jacobian(jacobian, mode="forward")(x)
    np.testing.assert_array_equal(np.asarray(second)[[0, 1], [0, 1], [0, 1]], [6.0, 12.0])
    hessian = ag.jacobian(ag.grad(lambda x: xp.sum(x * x * x)), mode="forward")(x)
    np.testing.assert_array_equal(np.asarray(hessian), np.diag([6.0, 12.0]))


def test_misuse_is_an_error_that_says_so(xp):
    x = raw(xp, [1.0, 2.0])
    with pytest.raises(GradientError, match="do not fit arguments of structure"):
        ag.jvp(lambda x: x, (x,), ([x],))
    with pytest.raises(GradientError, match="does not fit"):
        ag.jvp(lambda x: x, x, raw(xp, 1.0))
    with pytest.raises(UnsupportedArrayError, match="no gradient"):
        ag.jvp(lambda x: x, xp.asarray([1, 2]).data, xp.asarray([1, 2]).data)
    with pytest.raises(ValueError, match="'forward' or 'reverse'"):
        ag.jacobian(lambda x: x, mode="backward")


def _filled(xp, t):
    out = xp.reshape(xp.zeros(4, dtype=xp.float64), (2, 2))
    out[0, 0] = 5.0 * t
    return out


def _base_written(xp, t):
    y = xp.zeros(3, dtype=xp.float64)
    view, several = y[1:], [y[::-1], xp.reshape(y, (3, 1))]
    y[1] = t * t
    with ag.no_grad():
        assert several[0].shape == (3,)
    return {"view": view, "several": several}


def _written_inside_of_another(xp, t):
    y = xp.zeros(2, dtype=xp.float64)
    view = y[1:]

    def inner(s):
        y[1] = s * t
        return s

    ag.jvp(inner, raw(xp, 1.0), raw(xp, 1.0))
    return view


@pytest.mark.parametrize("f", [_filled, _base_written, _written_inside_of_another])
def test_a_view_that_was_written_to_and_is_returned_as_it_is(xp, f):
    def arrays(tree):
        return [np.asarray(each) for each in optree.tree_leaves(tree)]

    def at(t):
        return arrays(ag.vjp(lambda t: f(xp, t), raw(xp, t))[0])

    t = raw(xp, 2.0)
    values, tangents = map(arrays, ag.jvp(lambda t: f(xp, t), t, raw(xp, 1.0)))
    assert any(each.any() for each in tangents)
    for mode in ("forward", "reverse", "auto"):
        jacobian = arrays(ag.jacobian(lambda t: f(xp, t), mode=mode)(t))
        for one, other in zip(jacobian, tangents, strict=True):
            np.testing.assert_array_equal(one, other)
    for value, moved, tangent in zip(values, at(2.0 + 1e-6), tangents, strict=True):
        np.testing.assert_allclose((moved - value) / 1e-6, tangent, atol=1e-5)


def test_a_result_that_is_written_to_later_has_the_derivative_that_it_had(xp):
    x = ag.Variable(raw(xp, [1.0, 2.0]))
    y, pull = ag.vjp(lambda x: x * x, x * 1.0)
    y *= 10.0
    (g,) = pull(raw(xp, [1.0, 1.0]))
    np.testing.assert_array_equal(np.asarray(g.detach()), [2.0, 4.0])


# -- threads --------------------------------------------------------------------------------------


def in_thread(compute):
    """Return what a function returns in another thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(compute()))
    thread.start()
    thread.join()
    return found[0]


def test_what_another_thread_computes_is_no_zero(xp):
    def alone(x):
        return xp.sum(in_thread(lambda: x * x) * x)

    def together(x):
        context = contextvars.copy_context()
        return xp.sum(in_thread(lambda: context.run(lambda: x * x)) * x)

    x, one = raw(xp, [1.0, 2.0]), raw(xp, [1.0, 1.0])
    spread = lambda x: xp.broadcast_to(alone(x), (3,))  # noqa: E731
    for f in (alone, together):
        assert float(ag.jvp(f, x, one)[1]) == 15.0
        assert float(ag.jvp(ag.jacobian(f, mode="reverse"), x, one)[1][1]) == 12.0
        np.testing.assert_array_equal(np.asarray(ag.grad(f)(x)), [3.0, 12.0])
        for mode in ("forward", "reverse", "auto"):
            np.testing.assert_array_equal(np.asarray(ag.jacobian(f, mode=mode)(x)), [3.0, 12.0])
            found = ag.jacobian(spread, mode=mode)(x)
            np.testing.assert_array_equal(np.asarray(found), [[3.0, 12.0]] * 3)
        second = ag.jacobian(lambda x, f=f: ag.jvp(f, x, one)[1])(x)
        np.testing.assert_array_equal(np.asarray(second), [6.0, 12.0])


def test_what_another_thread_computes_from_constants_is_a_constant(xp):
    w = leaf(xp, [3.0, 4.0])
    _, tangent = ag.jvp(lambda x: x * in_thread(lambda: w * w), raw(xp, [1.0, 2.0]), w.data)
    np.testing.assert_array_equal(np.asarray(tangent.data), [27.0, 64.0])


def test_a_tangent_that_does_not_fit_is_called_one():
    for tangent in (np.ones(3), 1.0, np.ones(2, dtype="float32")):
        with pytest.raises(GradientError, match=r"a tangent of shape .* does not fit"):
            ag.jvp(lambda x: x * 2.0, (np.ones(2),), (tangent,))


def test_tangents_share_memory_with_nothing_else():
    given = np.ones(2)
    _, (one, other) = ag.jvp(lambda x: (x, x), (np.zeros(2),), (given,))
    one *= 2.0
    assert given.tolist() == other.tolist() == [1.0, 1.0]


# -- where values are NaN, or tie ------------------------------------------------------------------

NAN = float("nan")
POINTS = {"NaN": [1.0, NAN, 3.0, 2.0], "all NaN": [NAN] * 4, "ties": [2.0, 3.0, 3.0, 1.0]}
AT_POINTS = {
    "max": lambda xp, x: xp.max(x),
    "min along an axis": lambda xp, x: xp.min(xp.reshape(x, (2, 2)), axis=1),
    "max that keeps axes": lambda xp, x: xp.max(x, keepdims=True),
    "maximum": lambda xp, x: xp.maximum(x, x[::-1]),
    "clip": lambda xp, x: xp.clip(x, 1.0, 3.0),
    "sort": lambda xp, x: xp.sort(x),
    "std": lambda xp, x: xp.std(x),
    "prod": lambda xp, x: xp.prod(x),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x),
    "a norm": lambda xp, x: xp.linalg.vector_norm(x, ord=math.inf),
}


@pytest.mark.parametrize("name", AT_POINTS)
def test_tangents_at_nan_and_at_ties_are_those_of_every_way(xp, name):
    def f(x):
        return AT_POINTS[name](xp, x)

    def push(x, t):
        return ag.jvp(f, (x,), (t,))[1]

    for x, place in itertools.product(POINTS.values(), range(2)):
        x, basis = xp.asarray(x).data, xp.eye(4).data
        expected = host(push(x, basis[place, :]))
        found = {
            "members": ag.vmap(lambda t, x=x: push(x, t))(basis)[place, ...],
            "compiled": ag.compile(push)(x, basis[place, :]),
            "linearized": ag.linearize(f, x)[1](basis[place, :]),
            "Jacobian": ag.jacobian(f, mode="forward")(x)[..., place],
        }
        for way, tangent in found.items():
            np.testing.assert_allclose(host(tangent), expected, err_msg=f"{way}: {x}, {place}")


def test_the_tangent_of_an_extreme_of_nan_is_nan(xp):
    x = xp.asarray(POINTS["NaN"]).data
    for extreme in (xp.max, xp.min):
        for t in ([1.0] * 4, [1.0, 0.0, 0.0, 0.0]):
            assert math.isnan(ag.jvp(extreme, (x,), (xp.asarray(t).data,))[1])
        assert np.isnan(host(ag.grad(extreme)(x))).all()
