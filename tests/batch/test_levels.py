"""Where levels meet: what is recorded, cut, or has a derivative of its own below a level."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import (
    GradientError,
    InterpretationError,
    LostGradientError,
    NoGradientError,
    RuleError,
)
from agnograd.extend import Interpretation, Run, is_tracked
from arrays import host

X = (0.3, 0.7, 1.1)
RULES = {
    "statistics": lambda xp: lambda x: x * xp.var(x),
    "products": lambda xp: lambda x: (x @ x) * x,
    "outer products": lambda xp: lambda x: xp.linalg.outer(x, x)[0, :] * x,
    "softmax": lambda xp: lambda x: xp.nn.softmax(x),
    "systems": lambda xp: (
        lambda x: xp.linalg.solve(xp.linalg.outer(x, x) + 3.0 * xp.eye(3, dtype=x.dtype), x)
    ),
    "eigenvalues": lambda xp: (
        lambda x: xp.linalg.eigvalsh(xp.linalg.outer(x, x) + x[:, None] * xp.eye(3, dtype=x.dtype))
    ),
    "norms": lambda xp: lambda x: x * xp.linalg.vector_norm(x),
    "running products": lambda xp: lambda x: xp.cumulative_prod(x),
    "order": lambda xp: lambda x: xp.sort(x) ** 3 * x[0],
    "masks": lambda xp: lambda x: xp.where(x > 0.5, x * x * x, xp.sin(x)) * x[1],
}


@pytest.fixture
def x(xp):
    return xp.asarray(list(X), dtype=xp.float64).data


def close(found, expected):
    np.testing.assert_allclose(host(found), host(expected), rtol=1e-9, atol=1e-11)


def squares(f):
    return lambda x: ag.namespace(x).sum(f(x) ** 2)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", RULES)
def test_jacobians_by_passes_of_a_level_have_the_derivatives_of_single_passes(xp, x, name, mode):
    f = RULES[name](xp)
    together, single = [squares(ag.jacobian(f, mode=mode, chunk_size=chunk)) for chunk in (2, 1)]
    close(ag.grad(together)(x), ag.grad(single)(x))
    close(ag.jvp(together, x, x)[1], ag.jvp(single, x, x)[1])
    close(ag.hessian(together)(x), ag.hessian(single)(x))


@pytest.mark.parametrize("name", RULES)
def test_a_pullback_from_outside_has_the_derivatives_of_single_calls(xp, x, name):
    f, scales = RULES[name](xp), xp.asarray([1.0, 0.5], dtype=xp.float64).data

    def together(x):
        value, pull = ag.vjp(f, x)
        return ag.vmap(lambda scale: pull(scale * value)[0])(scales)

    def single(x):
        value, pull = ag.vjp(f, x)
        return xp.stack([pull(value * scale)[0] for scale in (1.0, 0.5)])

    close(together(x), single(x))
    pushed = ag.jvp(together, x, x)[1]
    assert type(pushed) is type(x)
    close(pushed, ag.jvp(single, x, x)[1])
    for order in (ag.grad, ag.hessian):
        close(order(squares(together))(x), order(squares(single))(x))
    rows = xp.stack([xp.asarray(x), 2.0 * x]).data
    expected = np.stack([host(ag.grad(squares(single))(row)) for row in (x, 2.0 * x)])
    close(ag.vmap(ag.grad(squares(together)))(rows), expected)


def test_passes_beyond_the_switch_are_differentiated_and_compiled():
    xp = ag.namespace("numpy")
    x = np.linspace(1.0, 2.0, 20)

    def f(x):
        return x * xp.var(x)

    single = squares(ag.jacobian(f, chunk_size=1))
    close(ag.grad(squares(ag.jacobian(f)))(x), ag.grad(single)(x))
    rows = ag.jacobian(xp.nn.softmax, chunk_size=1)(x)
    close(ag.compile(ag.jacobian(xp.nn.softmax))(x), rows)
    close(ag.vmap(ag.jacobian(xp.nn.softmax))(np.stack([x, x])), np.stack([rows, rows]))


# -- what cuts derivatives -------------------------------------------------------------------------

CUTS = {
    "stop_gradient": ag.stop_gradient,
    "detach": lambda x: x.detach(),
    "no_grad": ag.no_grad()(lambda x: x * 1.0),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_inside_vmap_cuts_what_is_recorded_outside(x, xp, cut):
    def total(x):
        return xp.sum(ag.vmap(lambda m: CUTS[cut](m) * m)(x))

    def twice(x):
        return xp.sum(ag.vmap(lambda m: ag.vmap(lambda n: CUTS[cut](m * n) * n)(x))(x))

    close(ag.grad(total)(x), X)
    close(ag.jvp(total, x, xp.ones_like(x).data)[1], sum(X))
    close(ag.jacobian(total, mode="forward", chunk_size=2)(x), X)
    close(ag.grad(ag.checkpoint(total))(x), X)
    close(ag.grad(twice)(x), sum(X) * np.asarray(X))
    leaf = ag.Variable(x)
    total(leaf).backward()
    close(leaf.grad, X)


def test_a_cut_cuts_raw_arrays_of_a_level_as_well(x, xp):
    class Halved(ag.Function):
        def forward(self, xp, x):
            self.save(x)
            return x * x

        def backward(self, xp, g):
            (x,) = self.saved
            return g * x * ag.stop_gradient(x)

    def gradient(x):
        return xp.sum(ag.vmap(ag.grad(lambda m: Halved()(m)))(x))

    close(ag.grad(gradient)(x), X)


# -- derivatives of one's own ----------------------------------------------------------------------


class Reversed(ag.Function):
    def forward(self, xp, x):
        return x * 1.0

    def backward(self, xp, g):
        return -g


class Masked(ag.Function):
    """It keeps an attribute, saves a result, has two results, one of which nobody uses."""

    def forward(self, xp, x, scale):
        self.positive = x > 0.5
        out = xp.exp(x) * scale
        self.save(out, scale)
        return out, xp.sum(x)

    def backward(self, xp, g, total):
        out, scale = self.saved
        return xp.where(self.positive, 3.0 * g * out, 0.0), xp.sum(g) * scale


class Unknown(ag.Function):
    def forward(self, xp, x):
        self.save(xp.cos(x))
        return xp.sin(x)

    def backward(self, xp, g):
        (slope,) = self.saved
        return g * slope


@pytest.fixture
def rows(xp):
    return xp.asarray([[0.3, 0.7], [1.2, 2.4], [3.3, 0.1]], dtype=xp.float64).data


def test_a_function_inside_vmap_has_its_own_derivative_outside(rows, xp):
    def f(v):
        return xp.sum(Reversed()(v))

    def total(rows):
        return xp.sum(ag.vmap(f)(rows))

    minus = -np.ones((3, 2))
    close(ag.grad(total)(rows), minus)
    close(ag.jvp(total, rows, xp.ones_like(rows).data)[1], -6.0)
    close(ag.jacobian(total, mode="forward", chunk_size=4)(rows), minus)
    close(ag.grad(ag.checkpoint(total))(rows), minus)
    close(ag.grad(lambda rows: xp.sum(ag.vmap(ag.checkpoint(f))(rows)))(rows), minus)
    close(ag.grad(lambda rows: xp.sum(ag.vmap(ag.vmap(f))(rows)))(rows), minus)
    close(ag.grad(lambda rows: xp.sum(ag.vmap(f, chunk_size=2)(rows)))(rows), minus)
    close(ag.hessian(lambda rows: total(rows * rows))(rows), -2.0 * identity(3, 2))
    inner = ag.vmap(ag.grad(lambda v: xp.sum(Reversed()(v * v))))
    close(ag.jacobian(inner)(rows), -2.0 * identity(3, 2))
    leaf = ag.Variable(rows)
    total(leaf).backward()
    close(leaf.grad, minus)


def identity(*shape):
    return np.reshape(np.eye(int(np.prod(shape))), shape + shape)


def test_saved_results_and_shared_arguments_keep_their_gradients(rows, xp):
    def member(v, scale):
        return xp.sum(Masked()(v, scale)[0])

    def together(rows, scale):
        return xp.sum(ag.vmap(member, in_axes=(0, None))(rows, scale))

    def single(rows, scale):
        return sum(member(rows[i, :], scale) for i in range(3))

    scale = xp.asarray(2.0, dtype=xp.float64).data
    for argnums in (0, 1):
        found, expected = [ag.grad(f, argnums=argnums)(rows, scale) for f in (together, single)]
        close(found, expected)

    def second(f):
        return lambda rows, scale: xp.sum(ag.grad(f, argnums=0)(rows, scale) ** 2)

    inner = ag.vmap(ag.grad(member), in_axes=(0, None))
    for argnums in (0, 1):
        expected = ag.grad(second(single), argnums=argnums)(rows, scale)
        close(ag.grad(second(together), argnums=argnums)(rows, scale), expected)
        found = ag.grad(lambda rows, scale: xp.sum(inner(rows, scale) ** 2), argnums=argnums)
        close(found(rows, scale), expected)


def test_the_second_derivative_of_an_array_that_only_forward_knows_is_refused(rows, xp):
    def together(rows):
        return xp.sum(ag.vmap(lambda v: xp.sum(Unknown()(v)))(rows))

    close(ag.grad(together)(rows), np.cos(host(rows)))
    with pytest.raises(GradientError, match="Unknown saved an array"):
        ag.hessian(together)(rows)
    inner = ag.vmap(ag.grad(lambda v: xp.sum(Unknown()(v))))
    close(inner(rows), np.cos(host(rows)))
    with pytest.raises(GradientError, match="Unknown saved an array"):
        ag.grad(lambda rows: xp.sum(inner(rows)))(rows)


def test_an_attribute_that_backward_reads_is_refused_where_it_is_differentiated(rows, xp):
    class Kept(ag.Function):
        def forward(self, xp, x):
            self.x = x
            return x * x

        def backward(self, xp, g):
            return 2.0 * g * self.x

    inner = ag.vmap(ag.grad(lambda v: xp.sum(Kept()(v))))
    close(inner(rows), 2.0 * host(rows))
    total = squares(lambda rows: ag.vmap(Kept())(rows))
    close(ag.grad(total)(rows), 4.0 * host(rows) ** 3)
    for f in (squares(inner), ag.grad(total)):
        with pytest.raises(GradientError, match=r"self\.x"):
            ag.grad(lambda rows, f=f: xp.sum(f(rows)))(rows)


def test_a_tracked_option_is_refused_where_it_is_tracked_below(rows, xp):
    class Scaled(ag.Function):
        def forward(self, xp, x, *, by):
            return x * by

        def backward(self, xp, g):
            return g

    with pytest.raises(NoGradientError, match="'by' requires a gradient"):
        ag.grad(lambda rows: xp.sum(ag.vmap(lambda v: Scaled()(v, by=v))(rows)))(rows)


def test_an_interpretation_says_how_such_gradients_are_gathered(rows, xp):
    class Plain(Interpretation):
        pass

    with pytest.raises(InterpretationError, match="a method gathered"):
        ag.grad(lambda rows: xp.sum(Plain.interpret(Reversed(), rows, run=Run())))(rows)
    assert Plain.interpret(Reversed(), rows, run=Run()).shape == (3, 2)


# -- what is lost ----------------------------------------------------------------------------------


def test_raw_arguments_beside_a_tracked_array_give_connected_results(x, xp):
    y = ag.Variable(xp.asarray([1.0, 2.0, 4.0], dtype=xp.float64).data)

    def f(x):
        return x * y, x * 2.0

    def number(x):
        return xp.sum(x * x * y)

    found = {
        "vmap": ag.vmap(f)(x[None, :])[0],
        "vjp": ag.vjp(f, x)[0][0],
        "pullback": ag.vjp(f, x)[1]((x, x))[0],
        "jvp": ag.jvp(f, x, x)[1][0],
        "linearize": ag.linearize(f, x)[1](x)[0],
        "grad": ag.grad(number)(x),
        "value": ag.value_and_grad(number)(x)[0],
        "auxiliary": ag.grad(lambda x: (xp.sum(x), y * x), has_aux=True)(x)[1],
        "jacobian": ag.jacobian(lambda x: f(x)[0])(x),
        "hessian": ag.hessian(number)(x),
        "hvp": ag.hvp(number, x, x),
    }
    for name, result in found.items():
        assert is_tracked(result), name
        y.grad = None
        xp.sum(result).backward()
        assert y.grad is not None, name
    for results in (ag.vmap(f)(x[None, :]), ag.vjp(f, x)[0], ag.jvp(f, x, x)[1]):
        assert all(isinstance(each, ag.Variable) for each in results)
    with ag.no_grad():
        assert type(ag.grad(number)(x)) is type(x)


def test_nothing_leaves_that_is_tracked_below(x, xp):
    shared = ag.Variable(xp.asarray(2.0, dtype=xp.float64).data)

    def float_of(m):
        return m * float(ag.namespace(m).asarray(shared) * 1.0)

    with pytest.warns(UserWarning, match="loses the gradient"):
        ag.vmap(float_of)(x)

    with pytest.raises(LostGradientError, match="__array__"):
        ag.vmap(lambda m: m * np.asarray(ag.namespace(m).asarray(shared)))(x)


@pytest.mark.parametrize("way", ["xp.exp(v)", "x * v", "xp.multiply(x, v)", "xp.concat([x, v])"])
def test_a_variable_among_raw_arrays_gives_a_variable_at_each_level(rows, way):
    class Mixed(ag.Function):
        def __init__(self, v):
            self.v = v

        def forward(self, xp, x):
            return eval(way, {"xp": xp, "x": x, "v": self.v})

    def f(v):
        return Mixed(v)(v * 1.0)

    for call in (ag.vmap(f), ag.grad(lambda rows: ag.vmap(f)(rows))):
        with pytest.raises(RuleError, match="returned Variable"):
            call(rows)


def test_an_output_that_no_cotangent_reaches_has_zeros_of_the_level(xp):
    def f(x):
        return list(xp.linalg.slogdet(x))

    x = xp.asarray([[[2.0, 0.5], [0.25, 1.0]], [[1.0, 0.5], [0.0, 4.0]]], dtype=xp.float64).data
    jacobian = ag.jacobian(f, mode="reverse", chunk_size=8)
    expected = [host(ag.jacobian(f, chunk_size=1)(x[k, ...])[1]) for k in range(2)]
    np.testing.assert_allclose(host(ag.vmap(jacobian)(x)[1]), expected, rtol=1e-12)
    np.testing.assert_allclose(host(ag.compile(jacobian)(x[0, ...])[1]), expected[0], rtol=1e-12)


# The cotangent, or the tangent, of the last sine is zero, but its derivative is not.
ZERO_WITHIN = {
    "grad in vmap": lambda f, rows: ag.vmap(ag.grad(f))(rows),
    "jacobian in vmap": lambda f, rows: ag.vmap(ag.jacobian(f))(rows),
    "jvp in vmap": lambda f, rows: ag.vmap(lambda x, t: ag.jvp(f, x, t)[1])(rows, rows - 0.7),
    "compiled": lambda f, rows: ag.compile(ag.vmap(ag.grad(f)))(rows),
    "a pullback": lambda f, rows: ag.vmap(lambda w: ag.vjp(f, rows[0, :])[1](w)[0])(rows[:, 2]),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("way", ZERO_WITHIN)
def test_zeros_beside_a_mask_have_derivatives_at_a_level(xp, way, mode):
    def f(x):
        y = xp.sin(x)
        y[0] = 0.25
        return xp.mean(y**2)

    def looped(f, rows):
        return {
            "jvp in vmap": lambda: xp.stack(
                [ag.jvp(f, row, row - 0.7)[1] for row in xp.unstack(rows)]
            ),
            "a pullback": lambda: xp.stack(
                [ag.grad(f)(rows[0, :]) * w for w in xp.unstack(rows[:, 2])]
            ),
        }.get(way, lambda: xp.stack([ag.grad(f)(row) for row in xp.unstack(rows)]))()

    rows = xp.asarray([[0.4, 0.7, 0.0], [0.0, 0.7, 0.5]], dtype=xp.float64).data
    found = ag.jacobian(lambda rows: ZERO_WITHIN[way](f, rows), mode=mode)(rows)
    close(found, ag.jacobian(lambda rows: looped(f, rows), mode=mode, chunk_size=1)(rows))


class Same(Interpretation):
    """Computes what is computed without it."""


@pytest.mark.parametrize(
    "f",
    [
        lambda xp, inner, outer: xp.stack([inner, 2.0 * outer]),
        lambda xp, inner, outer: xp.concat([inner, outer]),
        lambda xp, inner, outer: inner[xp.astype(outer > 0.5, xp.int64)],
        lambda xp, inner, outer: xp.take(inner, xp.astype(outer > 0.5, xp.int64), axis=0),
        lambda xp, inner, outer: xp.where(outer > 0.5, inner, outer),
        lambda xp, inner, outer: inner + outer,
        lambda xp, inner, outer: inner @ outer,
    ],
    ids=["stack", "concat", "indices", "take", "where", "sum", "product"],
)
def test_arrays_of_the_outer_of_two_vmaps_are_for_the_inner_one_the_same(xp, f):
    rows = xp.asarray([[0.25, 0.75], [1.0, 0.5]], dtype=xp.float64).data
    others = xp.asarray([[0.5, -1.0], [2.0, 0.125], [3.0, 4.0]], dtype=xp.float64).data

    def inside(interpreted):
        def inner(outer, x):
            return f(xp, x, outer)

        def of_inner(outer, x):
            if not interpreted:
                return inner(outer, x)
            return Same.interpret(lambda x: inner(outer, x), x, run=Run())

        return ag.vmap(lambda outer: ag.vmap(lambda x: of_inner(outer, x))(others))(rows)

    close(inside(interpreted=True), inside(interpreted=False))
