"""Jacobians of many passes at once: unit vectors, whose products are rows of a matrix."""

import numpy as np
import pytest

import agnograd as ag
from arrays import host

MATRIX = np.sin(np.arange(12.0)).reshape(4, 3)

# Functions of a vector of three elements.
FUNCTIONS = {
    "product": lambda xp, x, a: a @ x,
    "product from the left": lambda xp, x, a: x @ xp.matrix_transpose(a),
    "scaled": lambda xp, x, a: a @ (x * 2.0),
    "scaled by an array": lambda xp, x, a: xp.tanh(a @ xp.sin(x)),
    "scaled by one element": lambda xp, x, a: (a @ x) * x[1:2],
    "scaled by a number": lambda xp, x, a: (a @ x) * x[0],
    "of itself": lambda xp, x, a: (a @ (x * x)) * (a @ x),
    "a product and a sum": lambda xp, x, a: xp.sum(a @ x) + a @ x,
    "two matrices": lambda xp, x, a: xp.matrix_transpose(a) @ (a @ x),
    "stacks": lambda xp, x, a: xp.reshape(xp.stack([a, 2.0 * a]) @ x, (8,)),
    "outer": lambda xp, x, a: xp.reshape(x[:, None] * x, (9,)),
    "a matrix of it": lambda xp, x, a: xp.reshape(a @ xp.stack([x, x * x], axis=1), (8,)),
    "one output": lambda xp, x, a: (a @ x)[:1] * xp.stack([x[0], x[1]]),
    "conjugate": lambda xp, x, a: xp.real(xp.astype(a @ x, xp.complex128) * (1.0 + 2.0j)),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("chunk", [None, 2])
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_many_at_once_are_those_one_by_one(xp, f, mode, chunk):
    x, a = (xp.asarray(each, dtype=xp.float64).data for each in ([0.5, -1.0, 2.0], MATRIX.tolist()))

    def jacobian(**options):
        return host(ag.jacobian(lambda x: f(xp, x, xp.asarray(a)), mode=mode, **options)(x))

    expected = jacobian(chunk_size=1)
    np.testing.assert_allclose(jacobian(chunk_size=chunk), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_no_product_of_matrices_is_computed(mode):
    # One would have NaN in it: infinity times the zeros of unit vectors.
    xp = ag.namespace("numpy")
    a = np.where(MATRIX > 0.9, np.inf, MATRIX)
    scale = xp.asarray([1.0, 2.0, 3.0])
    f = ag.jacobian(lambda x: 2.0 * (a @ (x * scale)), mode=mode, chunk_size=3)
    with np.errstate(invalid="ignore"):  # of the function's own value
        np.testing.assert_array_equal(f(np.ones(3)), 2.0 * a * [1.0, 2.0, 3.0])


def test_hessians_of_a_likelihood(xp):
    data = xp.asarray(np.cos(np.arange(30.0)).reshape(10, 3).tolist(), dtype=xp.float64)

    def loss(w):
        return xp.sum(xp.log1p(xp.exp(-(data @ w)))) + 0.5 * xp.sum(w * w)

    w = xp.asarray([0.1, 0.2, -0.3], dtype=xp.float64).data
    p = 1 / (1 + np.exp(host(data.data) @ host(w)))
    rows = host(data.data)
    expected = (rows.T * (p * (1 - p))) @ rows + np.eye(3)
    np.testing.assert_allclose(host(ag.hessian(loss)(w)), expected, rtol=1e-12)
