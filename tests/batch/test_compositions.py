"""Vmap around, within and between other transformations: single members are the measure."""

import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named
from arrays import Square, host, leaf

N, M = 3, 4  # the length of a member, and how many there are


def close(found, expected):
    found, expected = host(found), host(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.fixture
def x(xp):
    numbers = np.sin(np.arange(1.0, 1 + M * N)).reshape(M, N)
    return xp.asarray(numbers.tolist(), dtype=xp.float64).data


@pytest.fixture
def w(xp):
    numbers = np.cos(np.arange(1.0, 1 + N * N)).reshape(N, N)
    return xp.asarray(numbers.tolist(), dtype=xp.float64).data


def functions(xp, w):
    """Return a function of one member that gives a number, and one that gives an array."""

    def number(x):
        return xp.sum(xp.sin(x @ xp.asarray(w)) * x[::-1])

    def array(x):
        return xp.tanh(x @ xp.asarray(w)) * x[0]

    return number, array


def pushed(f):
    return lambda x: ag.jvp(f, (x,), (x * x + 1.0,))[1]


def pulled(f):
    return lambda x: ag.vjp(f, x)[1](x * x + 1.0)[0]


def linearized(f):
    return lambda x: ag.linearize(f, x)[1](x * x + 1.0)


def recorded(f):
    """Return a function's gradient by the backward pass of Variables."""

    def gradient(x):
        v = ag.Variable(x)
        return ag.autodiff.grad([f(v)], [v])[0]

    return gradient


class Cube(ag.Function):
    def forward(self, xp, x):
        self.save(x)
        return x * x * x

    def backward(self, xp, g):
        (x,) = self.saved
        return 3 * x * x * g


OF_NUMBERS = {
    "grad": ag.grad,
    "value_and_grad": lambda f: lambda x: ag.value_and_grad(f)(x)[1],
    "hessian": ag.hessian,
    "hvp": lambda f: lambda x: ag.hvp(f, (x,), (x + 1.0,))[0],
    "grad of checkpoint": lambda f: ag.grad(ag.checkpoint(f)),
    "jvp of grad": lambda f: pushed(ag.grad(f)),
}
OF_ARRAYS = {
    "jacobian": ag.jacobian,
    "jvp": pushed,
    "vjp": pulled,
    "linearize": linearized,
    "checkpoint": ag.checkpoint,
    "jvp of checkpoint": lambda f: pushed(ag.checkpoint(f)),
    "vjp of checkpoint": lambda f: pulled(ag.checkpoint(f)),
    "Function": lambda f: lambda x: Cube()(f(x)),
    "vjp of Function": lambda f: pulled(lambda x: Cube()(f(x))),
    "jvp of Function": lambda f: pushed(lambda x: Cube()(f(x))),
    "jvp of jvp": lambda f: pushed(pushed(f)),
    "jvp of vjp": lambda f: pushed(pulled(f)),
    "vjp of jvp": lambda f: pulled(pushed(f)),
    "vjp of vjp": lambda f: pulled(pulled(f)),
    "stop_gradient": lambda f: pulled(lambda x: f(x) * ag.stop_gradient(f(x))),
}


@pytest.mark.parametrize("name", [*OF_NUMBERS, *OF_ARRAYS])
def test_vmap_of_each_transformation(xp, x, w, name):
    number, array = functions(xp, w)
    f = OF_NUMBERS[name](number) if name in OF_NUMBERS else OF_ARRAYS[name](array)
    close(ag.vmap(f)(x), np.stack([host(f(xp.asarray(x)[k, ...])) for k in range(M)]))


def loss_of_members(xp, f):
    """Return a number that the results of all members decide, with vmap and without."""

    def at_once(x):
        return xp.sum(xp.exp(-ag.vmap(f)(x)) * xp.asarray([1.0, -2.0, 3.0, 0.5])[:, None])

    def one_by_one(x):
        results = xp.stack([f(xp.asarray(x)[k, ...]) for k in range(M)])
        return xp.sum(xp.exp(-results) * xp.asarray([1.0, -2.0, 3.0, 0.5])[:, None])

    return at_once, one_by_one


OUTER = {
    "grad": ag.grad,
    "hessian": ag.hessian,
    "hvp": lambda f: lambda x: ag.hvp(f, (x,), (x + 1.0,))[0],
    "jvp": pushed,
    "linearize": linearized,
    "checkpoint": lambda f: ag.grad(ag.checkpoint(f)),
    "backward": recorded,
    "grad twice": lambda f: ag.grad(lambda x: (lambda g: g * g * g)(ag.grad(f)(x))[0, 0]),
}


@pytest.mark.parametrize("name", OUTER)
def test_each_transformation_of_vmap(xp, x, w, name):
    at_once, one_by_one = loss_of_members(xp, functions(xp, w)[1])
    close(OUTER[name](at_once)(x), OUTER[name](one_by_one)(x))


@pytest.mark.parametrize("inner", ["jvp", "vjp", "linearize", "checkpoint", "Function"])
@pytest.mark.parametrize("outer", ["grad", "jvp", "hvp"])
def test_vmap_between_two_transformations(xp, x, w, inner, outer):
    at_once, one_by_one = loss_of_members(xp, OF_ARRAYS[inner](functions(xp, w)[1]))
    close(OUTER[outer](at_once)(x), OUTER[outer](one_by_one)(x))


def test_vmap_of_vmap(xp, x, w):
    x, w = xp.asarray(x), xp.asarray(w)
    close(ag.vmap(ag.vmap(lambda x: x * x))(x), x * x)
    outer = ag.vmap(lambda x: ag.vmap(lambda y: x * y)(w))(x)
    close(outer, x[:, None, :] * w)
    both = ag.vmap(ag.vmap(xp.vecdot, in_axes=(None, 0)), in_axes=(0, None))
    close(both(x, w), x @ w.T)
    close(ag.vmap(ag.vmap(ag.grad(lambda x: xp.sin(x) * x)))(x), xp.sin(x) + xp.cos(x) * x)
    close(ag.vmap(ag.vmap(lambda x: x * 2.0, in_axes=0, out_axes=0), 1, 1)(x), x * 2.0)


def test_a_gradient_of_each_vmap_that_is_nested(xp, x, w):
    def total(x):
        inner = ag.vmap(lambda row: xp.sum(xp.sin(row * x)))
        return xp.sum(inner(xp.asarray(w)) ** 2)

    found = ag.vmap(ag.grad(total))(x)
    close(found, np.stack([host(ag.grad(total)(x[k, ...])) for k in range(M)]))


def test_gradients_for_each_example(xp, x, w):
    def loss(w, x):
        return xp.sum(xp.tanh(x @ w))

    found = ag.vmap(ag.grad(loss), in_axes=(None, 0))(w, x)
    close(found, np.stack([host(ag.grad(loss)(w, x[k, ...])) for k in range(M)]))
    per_example = ag.vmap(lambda x: ag.grad(lambda w: loss(w, x))(w))(x)
    close(per_example, found)


# -- what a function closes over -------------------------------------------------------------------


def test_what_is_closed_over_keeps_its_gradient(xp, x, w):
    def total(w):
        return xp.sum(ag.vmap(lambda x: xp.tanh(x @ w))(x))

    close(ag.grad(total)(w), ag.grad(lambda w: xp.sum(xp.tanh(xp.asarray(x) @ w)))(w))
    v = leaf(xp, host(w))
    out = ag.vmap(lambda x: xp.tanh(x @ v))(x)
    xp.sum(out).backward()
    close(v.grad, ag.grad(total)(w))


def test_what_is_raw_is_the_same_for_all_members(xp, x, w):
    close(ag.vmap(lambda x: x @ w + 1.0)(x), host(x) @ host(w) + 1.0)
    close(ag.vmap(lambda x: xp.matmul(w, x))(x), host(x) @ host(w).T)


def test_a_pullback_from_outside_is_called_within(xp, x, w):
    _, array = functions(xp, w)
    _, pullback = ag.vjp(array, x[0, ...])
    found = ag.vmap(lambda g: pullback(g)[0])(x)
    close(found, np.stack([host(pullback(x[k, ...])[0]) for k in range(M)]))
    _, push = ag.linearize(array, x[0, ...])
    close(ag.vmap(push)(x), np.stack([host(push(x[k, ...])) for k in range(M)]))


def test_without_gradients(xp, x, w):
    v = leaf(xp, host(w))
    with ag.no_grad():
        out = ag.vmap(lambda x: xp.tanh(x @ v))(x)
    assert not getattr(out, "requires_grad", False)

    def f(x):
        with ag.no_grad():
            y = xp.sin(x)
        return xp.sum(x * y)

    close(ag.vmap(ag.grad(f))(x), np.sin(host(x)))


def test_threads_have_members_of_their_own(xp, backend, x, w):
    _, array = functions(xp, w)
    expected, found = host(ag.vmap(array)(x)), {}

    def run(number):
        with backend_named(backend).conformance():  # such as JAX's double precision, of a thread
            found[number] = host(ag.vmap(lambda x: array(x) * number)(x))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(found) == {0, 1, 2, 3}
    for number, out in found.items():
        close(out, number * expected)


def test_a_function_that_fails_leaves_nothing_behind(xp, x):
    def fails(x):
        raise ArithmeticError("half way")

    with pytest.raises(ArithmeticError, match="half way"):
        ag.vmap(fails)(x)
    close(xp.asarray(x) * 2.0, host(x) * 2.0)
    close(ag.grad(lambda x: xp.sum(x * x))(x), 2.0 * host(x))
    v = leaf(xp, host(x))
    assert (v * 2.0).requires_grad


def test_square_with_saved_arrays(xp, x):
    close(ag.vmap(ag.grad(lambda x: xp.sum(Square()(x))))(x), 2.0 * host(x))


@pytest.mark.parametrize(
    "slope",
    [
        lambda f: ag.grad(f)(3.0),
        lambda f: ag.value_and_grad(f)(3.0)[1],
        lambda f: ag.grad(lambda pair: f(pair[0]))([3.0, 2.0])[0],
        lambda f: ag.jvp(f, 3.0, 1.0)[1],
        lambda f: ag.vjp(f, 3.0)[1](1.0)[0],
        lambda f: ag.linearize(f, 3.0)[1](1.0),
        lambda f: ag.jacobian(f)(3.0),
        lambda f: 3.0 * ag.hvp(f, 3.0, 1.0),
    ],
    ids=["grad", "value", "pytree", "jvp", "vjp", "linearize", "jacobian", "hvp"],
)
def test_derivatives_at_numbers_of_python(xp, slope):
    found = ag.vmap(lambda x: x * slope(lambda y: y * y))(xp.asarray([1.0, 2.0]).data)
    np.testing.assert_allclose(host(found), [6.0, 12.0])


def test_a_checkpoint_of_members_keeps_what_its_argument_is_connected_to_outside():
    x = ag.Variable(np.asarray([0.5, -0.25, 2.0]))

    def f(w):
        def loss(u):
            return xp.sum(ag.checkpoint(lambda a: a * a * u)(x))

        return ag.grad(loss)(w)

    xp = ag.namespace("numpy")
    xp.sum(xp.sin(ag.vmap(f)(np.ones((2, 3))))).backward()
    np.testing.assert_allclose(x.grad.data, 4.0 * x.data * np.cos(x.data**2))


def test_rules_of_members_compute_with_what_is_tracked_and_what_is_not(xp):
    x, u = xp.asarray([0.3, 0.7], dtype=xp.float64), xp.asarray([0.5, 0.2], dtype=xp.float64)

    def f(u):
        return xp.sum(xp.linalg.outer(x, u) @ u)

    gradient = ag.grad(lambda u: xp.sum(ag.vmap(ag.grad(f))(xp.stack([u, u]))))(u)
    close(gradient, 4.0 * xp.sum(x) * xp.ones(2, dtype=xp.float64))
