"""Products with Gauss-Newton matrices, against matrices that are formed."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import GradientError, NoGradientError

M = np.asarray([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0], [2.0, 0.1, 0.7], [-1.0, 0.4, 0.2]])


def raw(xp, numbers, dtype="float64"):
    return xp.asarray(numbers, dtype=getattr(xp, dtype)).data


def close(found, expected):
    if isinstance(found, ag.Variable):
        found = found.detach()
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10, atol=1e-10)


def model(xp):
    m = raw(xp, M)
    return lambda x: xp.sin(xp.matmul(m, x)) * x[0]


def loss(xp):
    return lambda y: xp.sum(xp.exp(y) * xp.flip(y))


def test_half_the_sum_of_squares_is_the_default(xp):
    x, v = raw(xp, [0.5, 1.0, -0.3]), raw(xp, [1.0, -2.0, 0.5])
    f = model(xp)
    value, product = ag.gnvp(f, x)
    jacobian = np.asarray(ag.jacobian(f)(x))
    close(value, np.asarray(f(ag.Variable(x)).detach().data))
    assert type(value) is type(x)
    (found,) = product(v)
    assert type(found) is type(x)
    close(found, jacobian.T @ jacobian @ np.asarray(v))
    close(ag.gnvp(f, x, loss=lambda y: xp.sum(y * y) / 2)[1](v)[0], found)


def test_a_loss_puts_its_hessian_between(xp):
    x, v = raw(xp, [0.5, 1.0, -0.3]), raw(xp, [1.0, -2.0, 0.5])
    f = model(xp)
    value, product = ag.gnvp(f, x, loss=loss(xp))
    jacobian, hessian = np.asarray(ag.jacobian(f)(x)), np.asarray(ag.hessian(loss(xp))(value))
    for scale in (1.0, -3.0):  # it can be called many times
        found = product(raw(xp, scale * np.asarray(v)))[0]
        close(found, scale * jacobian.T @ hessian @ jacobian @ np.asarray(v))


def test_of_a_linear_function_it_is_the_hessian(xp):
    x, v = raw(xp, [0.5, 1.0, -0.3]), raw(xp, [1.0, -2.0, 0.5])
    f = lambda x: xp.matmul(raw(xp, M), x)  # noqa: E731
    close(
        ag.gnvp(f, x, loss=loss(xp))[1](v)[0],
        np.asarray(ag.hvp(lambda x: loss(xp)(f(x)), x, v)),
    )


def test_the_functions_run_once(xp):
    calls = []

    def f(x):
        calls.append("f")
        return x * x

    def squares(y):
        calls.append("loss")
        return xp.sum(y * y)

    x = raw(xp, [0.5, 1.0])
    _, product = ag.gnvp(f, x, loss=squares)
    for _ in range(3):
        product(x)
    assert calls == ["f", "loss"]


def test_pytrees_of_arguments_and_values(xp):
    parameters = {"w": raw(xp, M.T), "b": raw(xp, [0.1, 0.2, 0.3])}
    x = raw(xp, [1.0, 0.5, -0.5, 2.0])

    def f(p, x):
        hidden = xp.tanh(p["w"] @ x + p["b"])
        return {"hidden": hidden, "total": [xp.sum(hidden * hidden)]}

    def total(y):
        return xp.sum(xp.exp(y["hidden"])) * y["total"][0]

    value, product = ag.gnvp(f, parameters, x, loss=total)
    by_p, by_x = product({"w": parameters["w"], "b": parameters["b"]}, x)
    assert sorted(value) == ["hidden", "total"]
    assert by_p["w"].shape == (3, 4)

    def flat(z):
        p = {"w": xp.reshape(z[:12], (3, 4)), "b": z[12:15]}
        y = f(p, z[15:])
        return xp.concat([y["hidden"], xp.reshape(y["total"][0], (1,))])

    z = raw(xp, np.concatenate([M.T.ravel(), [0.1, 0.2, 0.3], np.asarray(x)]))
    _, expected = ag.gnvp(flat, z, loss=lambda y: xp.sum(xp.exp(y[:3])) * y[3])
    parts = [by_p["w"], by_p["b"], by_x]
    close(expected(z)[0], np.concatenate([np.asarray(part).ravel() for part in parts]))


def test_products_are_differentiable(xp):
    x, v = raw(xp, [0.5, 1.0, -0.3]), raw(xp, [1.0, -2.0, 0.5])
    f = model(xp)
    ag.check_grad(lambda x, v: ag.gnvp(f, x, loss=loss(xp))[1](v)[0], x, v, order=1)
    _, product = ag.gnvp(f, x, loss=loss(xp))
    matrix = np.stack([np.asarray(product(raw(xp, unit))[0]) for unit in np.eye(3)])
    close(ag.jacobian(lambda v: product(v)[0])(v), matrix)


def test_all_products_at_once_are_the_matrix(xp):
    x = raw(xp, [0.5, 1.0, -0.3])
    _, product = ag.gnvp(model(xp), x, loss=lambda y: xp.sum(xp.exp(y)))
    (matrix,) = ag.vmap(product)(raw(xp, np.eye(3)))
    close(matrix, np.asarray(matrix).T)
    close(matrix[0, ...], np.asarray(product(raw(xp, [1.0, 0.0, 0.0]))[0]))
    assert np.linalg.eigvalsh(np.asarray(matrix)).min() > 0  # the loss is convex


def test_complex_values_have_the_conjugate_transpose(xp):
    m = raw(xp, M * (1.0 + 0.5j), "complex128")
    z = raw(xp, [1.0 + 1.0j, 0.5, -2.0j], "complex128")
    (found,) = ag.gnvp(lambda z: xp.matmul(m, z), z)[1](z)
    close(found, np.asarray(m).conj().T @ np.asarray(m) @ np.asarray(z))


def test_what_does_not_fit_is_an_error(xp):
    x = raw(xp, [0.5, 1.0, -0.3])
    _, product = ag.gnvp(model(xp), x)
    with pytest.raises(GradientError, match="vectors of structure"):
        product(x, x)
    with pytest.raises(GradientError, match="shape"):
        product(raw(xp, [1.0, 2.0]))
    with pytest.raises(NoGradientError, match="real 0-d array"):
        ag.gnvp(model(xp), x, loss=lambda y: y)
    with pytest.raises(NoGradientError, match="floating-point or complex numbers"):
        ag.gnvp(lambda x: x > 0, x)
