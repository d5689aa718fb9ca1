"""Linear differential operators, against traces of Hessians and closed forms."""

import itertools
import math

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd_taylor._directions import coloured, lines, plan
from arrays import host

RNG = np.random.default_rng(5)
X = RNG.normal(size=4)
W = RNG.normal(size=(4, 5))


def arrays(xp, *values):
    return [xp.asarray(each).data for each in values]


def network(xp, w):
    return lambda x: xp.sum(xp.tanh(x @ w) ** 3)


def trace(xp, f):
    return lambda x: xp.linalg.trace(ag.hessian(f)(x))


def near(xp, found, expected):
    narrow = host(found).dtype == np.float32
    scale = max(1.0, float(np.max(np.abs(host(expected)), initial=0.0)))
    np.testing.assert_allclose(
        host(found), host(expected), rtol=0.0, atol=(1e-3 if narrow else 1e-9) * scale
    )


def test_laplacian(xp):
    x, w = arrays(xp, X, W)
    f = network(xp, w)
    expected = trace(xp, f)(x)
    near(xp, ag.laplacian(f)(x), expected)
    near(xp, ag.compile(ag.laplacian(f))(x), expected)
    value, gradient, found = ag.laplacian(f, lower=True)(x)
    near(xp, value, f(x))
    near(xp, gradient, ag.grad(f)(x))
    near(xp, found, expected)
    assert not any(isinstance(each, ag.Variable) for each in (value, gradient, found))


def test_laplacian_of_points(xp):
    x, w = arrays(xp, RNG.normal(size=(3, 4)), W)
    found = ag.vmap(ag.laplacian(network(xp, w)))(x)
    near(xp, found, ag.vmap(trace(xp, network(xp, w)))(x))


def test_gradients_of_a_laplacian(xp):
    x, w = arrays(xp, X, W)

    def loss(operator):
        return lambda w, x: operator(network(xp, w))(x) ** 2

    expected = ag.grad(loss(lambda f: trace(xp, f)), (0, 1))(w, x)
    for f in (
        loss(ag.laplacian),
        ag.compile(loss(ag.laplacian)),
        ag.checkpoint(loss(ag.laplacian)),
    ):
        for found, other in zip(ag.grad(f, (0, 1))(w, x), expected, strict=True):
            near(xp, found, other)
    compiled = ag.compile(ag.grad(loss(ag.laplacian), (0, 1)))(w, x)
    for found, other in zip(compiled, expected, strict=True):
        near(xp, found, other)


def test_weights_other_arguments_and_results(xp):
    x, w, weights = arrays(xp, X, W, [1.0, -2.0, 0.5, 3.0])

    def f(x, w, power=3):
        return xp.tanh(x @ w) ** power

    found = ag.laplacian(f, weights=weights)(x, w, power=2)
    second = ag.jacobian(ag.jacobian(lambda x: f(x, w, power=2)))(x)
    near(xp, found, sum(second[:, k, k] * weights[k] for k in range(4)))
    value, jacobian, _ = ag.laplacian(f, lower=True)(x, w)
    assert value.shape == (5,)
    near(xp, jacobian, ag.jacobian(f)(x, w))


def test_pytrees():
    xp = ag.namespace("numpy")
    p = {"a": X[:2], "b": np.asarray(0.7)}

    def f(p):
        return xp.sum(p["a"] ** 3) * xp.exp(p["b"])

    value, gradient, found = ag.laplacian(f, lower=True)(p)
    expected = ag.grad(f)(p)
    np.testing.assert_allclose(value, host(f(p)))
    np.testing.assert_allclose(gradient["a"], expected["a"])
    np.testing.assert_allclose(gradient["b"], expected["b"])
    np.testing.assert_allclose(found, (6.0 * p["a"].sum() + (p["a"] ** 3).sum()) * math.exp(0.7))


def test_biharmonic(xp):
    x, w = arrays(xp, X[:3], W[:3])
    f = network(xp, w)
    expected = trace(xp, trace(xp, f))(x)
    near(xp, ag.biharmonic(f)(x), expected)
    near(xp, ag.compile(ag.biharmonic(f))(x), expected)
    near(xp, ag.laplacian(ag.laplacian(f))(x), expected)


def test_divergence(xp):
    (x,) = arrays(xp, X)

    def f(x):
        return xp.sin(x) * xp.sum(x)

    near(xp, ag.divergence(f)(x), xp.linalg.trace(ag.jacobian(f)(x)))
    with pytest.raises(ArgumentError, match="shapes of its argument"):
        ag.divergence(lambda x: x[:2])(x)


def test_any_constant_operator(xp):
    x, w = arrays(xp, X[:3], W[:3])
    f = network(xp, w)

    def by(f, k):
        return lambda x: ag.grad(f)(x)[k]

    operator = ag.linear_pde(
        f, {(2, 0, 0): 1.5, (1, 1, 1): 0.5, (0, 0, 1): 3.0, (1, 3, 0): -1.0, (0, 0, 0): -2.0}
    )
    expected = (
        1.5 * by(by(f, 0), 0)(x)
        + 0.5 * by(by(by(f, 0), 1), 2)(x)
        + 3.0 * by(f, 2)(x)
        - by(by(by(by(f, 0), 1), 1), 1)(x)
        - 2.0 * f(x).data
    )
    near(xp, operator(x), expected)
    near(xp, ag.compile(operator)(x), expected)
    near(xp, ag.linear_pde(f, {(0, 0, 0): 2.0})(x), 2.0 * f(x))
    with pytest.raises(ArgumentError, match="2 numbers, for 3 elements"):
        ag.linear_pde(f, {(1, 0): 1.0})(x)


@pytest.mark.parametrize("index", [(2,), (1, 1), (2, 2), (1, 2, 1), (3, 1), (0, 4), (5,)])
def test_lines_give_the_monomial(index):
    x = RNG.normal(size=len(index))
    found = sum(factor * np.dot(direction, x) ** sum(index) for direction, factor in lines(index))
    expected = math.factorial(sum(index)) * np.prod(x ** np.asarray(index))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_biharmonic_follows_no_more_lines_than_n_squared():
    for n in range(1, 5):
        pairs = itertools.combinations_with_replacement(range(n), 2)
        index = {tuple(2 * ((k == i) + (k == j)) for k in range(n)): 1.0 for i, j in pairs}
        assert len(plan(index)[0]) == n * n


def test_a_sum_over_particles_takes_as_many_directions_as_one(xp):
    (r,) = arrays(xp, RNG.normal(size=(5, 3)))

    def f(r):
        return xp.sum(xp.exp(-xp.sum(r**2, axis=1)))

    pattern = ag.sparsity(ag.grad(f), r)
    colours = coloured(zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True), 15)
    assert sorted({*colours}) == [0, 1, 2]
    found = ag.laplacian(f, pattern=pattern)
    near(xp, found(r), ag.laplacian(f)(r))
    near(xp, ag.compile(found)(r), ag.laplacian(f)(r))
    near(xp, ag.grad(found)(r), ag.grad(ag.laplacian(f))(r))
    for options in ({"lower": True}, {"weights": r}):
        with pytest.raises(ArgumentError, match="cannot be combined"):
            ag.laplacian(f, pattern=pattern, **options)
    with pytest.raises(ArgumentError, match="for 3 elements of the argument"):
        found(r[0, :])


def test_neighbours_have_different_colours():
    ring = [(k, (k + 1) % 7) for k in range(7)]
    colours = coloured(ring, 7)
    assert all(colours[one] != colours[other] for one, other in ring)
    assert max(colours) == 2
    assert coloured([], 3) == [0, 0, 0]
