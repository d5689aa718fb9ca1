"""Users' functions under vmap: wrapped ones are called for each member."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import BatchingError, BatchingWarning, GradientError

xp = ag.namespace("numpy")
X = np.reshape(np.linspace(-1.0, 1.0, 20), (5, 4))


@ag.wrap(vjp=lambda g, out, x: g * 3.0 * x * x)
def cube(x):
    return np.asarray(x) ** 3  # as another library's function: it needs the values


class Cube(ag.Function):
    def forward(self, xp, x):
        self.save(x)
        return x * x * x

    def backward(self, xp, g):
        (x,) = self.saved
        return 3.0 * x * x * g


KINDS = {"wrap": cube, "Function": Cube(), "checkpoint": ag.checkpoint(lambda x: x * x * x)}
pytestmark = pytest.mark.filterwarnings("ignore::agnograd.errors.BatchingWarning")


def stack(f, arrays=X):
    return np.stack([np.asarray(f(x)) for x in arrays])


@pytest.fixture(params=KINDS)
def both(request):
    """Return a function with the user's one in it, and the same one written out."""
    kind = KINDS[request.param]
    return lambda x: kind(xp.sin(x)) * x[::-1], lambda x: xp.sin(x) ** 3 * x[::-1]


def scalar(f):
    return lambda x: xp.sum(f(x))


def test_values_and_derivatives_are_those_of_members(both):
    f, plain = both
    np.testing.assert_allclose(ag.vmap(f)(X), stack(lambda x: plain(x).data))
    for order in (ag.grad, ag.hessian):
        expected = stack(order(scalar(plain)))
        np.testing.assert_allclose(ag.vmap(order(scalar(f)))(X), expected, atol=1e-12)
    outer = ag.grad(lambda x: xp.sum(ag.vmap(f)(x)))
    np.testing.assert_allclose(outer(X), stack(ag.grad(scalar(plain))), atol=1e-12)


def test_what_ran_outside_is_pulled_and_pushed_for_each_member(both):
    f, plain = both
    x, expected = X[0], ag.jacobian(plain)(X[0])
    _, pull = ag.vjp(f, x)
    np.testing.assert_allclose(ag.vmap(pull)(np.eye(4))[0], expected, atol=1e-12)
    _, push = ag.linearize(f, x)
    np.testing.assert_allclose(ag.vmap(push)(np.eye(4)).T, expected, atol=1e-12)

    def total(x, jacobian):
        return xp.sum(jacobian(x) ** 2)

    def batched(x):
        return ag.vmap(ag.vjp(f, x)[1])(np.eye(4))[0]

    found = ag.grad(lambda x: total(x, batched))(x)
    expected = ag.grad(lambda x: total(x, ag.jacobian(plain)))(x)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_wrapped_function_warns_at_the_line_that_calls_it():
    with pytest.warns(BatchingWarning, match="cube") as caught:
        ag.vmap(lambda x: cube(x))(X)
    assert caught[0].filename == __file__


def test_the_gradient_of_a_users_function_by_a_cotangent_from_inside_needs_the_function_inside():
    _, pull = ag.vjp(lambda x: cube(x), X[0])
    with pytest.raises(GradientError, match="cube"):
        ag.vmap(ag.grad(lambda g: xp.sum(pull(g)[0])))(np.eye(4))


def test_what_is_written_to_later_is_as_it_was():
    def f(w):
        y = xp.sin(w) * 1.0

        def member(x):
            total = xp.sum(x * x * y)
            y[0] = 0.0  # an array from outside, which the product above needs as it was
            return total

        return xp.sum(ag.vmap(ag.grad(member))(X))

    np.testing.assert_allclose(ag.grad(f)(np.ones(4)), np.cos(1.0) * 2.0 * X.sum(0))


def test_a_method_that_takes_steps_by_values_says_so():
    pytest.importorskip("scipy", reason="SciPy: pip install 'agnograd[scipy]'")
    with pytest.raises(BatchingError, match="takes those of one member"):
        ag.vmap(lambda x: xp.integrate.odeint(lambda y, t: -y, x, np.linspace(0.0, 1.0, 3)))(X)


def test_a_function_of_arrays_of_two_levels():
    class Product(ag.Function):
        def forward(self, xp, a, b):
            self.save(a, b)
            return a * b

        def backward(self, xp, g):
            a, b = self.saved
            return g * b, g * a

    a, b = np.asarray([1.0, 2.0]), np.asarray([3.0, 4.0, 5.0])
    for one, other in ((a, b), (b, a)):
        pairs = ag.vmap(lambda x, y=other: ag.vmap(lambda y: Product()(x, y))(y))(one)
        np.testing.assert_array_equal(pairs, np.outer(one, other))
    slopes = ag.vmap(lambda x: ag.vmap(lambda y: ag.grad(lambda x: Product()(x, y))(x))(b))(a)
    np.testing.assert_array_equal(slopes, np.outer(np.ones(2), b))
