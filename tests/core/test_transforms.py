"""Functions to functions."""

from collections import namedtuple

import numpy as np
import pytest
import scipy.optimize

import agnograd as ag
from agnograd.errors import GradientError, NoGradientError, UnsupportedArrayError


def raw(xp, values, dtype="float64"):
    return xp.asarray(values, dtype=getattr(xp, dtype)).data


def close(found, expected):
    if isinstance(found, ag.Variable):
        found = found.detach()
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)


def test_raw_arrays_in_give_raw_arrays_out(xp):
    x = raw(xp, [1.0, 2.0], "float32")
    value, gradient = ag.value_and_grad(lambda x: xp.sum(x * x))(x)
    assert type(gradient) is type(x)
    assert type(value) is type(x)
    assert gradient.dtype == value.dtype == x.dtype
    assert gradient.device == x.device
    close(gradient, [2.0, 4.0])


def test_variables_in_give_connected_variables_out(xp):
    x = ag.Variable(raw(xp, [1.0, 2.0]))
    g = ag.grad(lambda x: xp.sum(x**3))(x)
    assert isinstance(g, ag.Variable)
    xp.sum(g).backward()
    close(x.grad, [6.0, 12.0])


def test_untracked_variables_in_give_untracked_variables_out(xp):
    x = ag.Variable(raw(xp, [1.0, 2.0]), requires_grad=False)
    for _ in range(3):
        value, g = ag.value_and_grad(lambda x: xp.sum(x * x))(x)
        assert isinstance(g, ag.Variable)
        assert not g.requires_grad
        assert not value.requires_grad
        x = x - 0.1 * g
    assert not x.requires_grad


def test_a_result_stays_connected_to_what_the_function_closes_over(xp):
    w = ag.Variable(raw(xp, [3.0, 4.0]))
    x = ag.Variable(raw(xp, [1.0, 2.0]), requires_grad=False)
    value, g = ag.value_and_grad(lambda x: xp.sum(w * x * x))(x)
    xp.sum(g).backward(retain_graph=True)
    close(w.grad, [2.0, 4.0])
    w.grad = None
    value.backward()
    close(w.grad, [1.0, 4.0])
    value, pullback = ag.vjp(lambda x: x * x, x)
    (g,) = pullback(w * 1.0)
    w.grad = None
    xp.sum(g).backward()
    close(w.grad, [2.0, 4.0])
    assert not isinstance(ag.grad(lambda x: xp.sum(w * x))(x.data), ag.Variable)


def test_gradients_nest(xp):
    third = ag.grad(ag.grad(ag.grad(lambda x: x**4)))
    assert float(third(raw(xp, 2.0))) == 48.0


def test_an_inner_function_may_close_over_an_outer_argument(xp):
    # d/dx of (d/dy of x y at y = 1) at x = 2: no confusion of the two derivatives.
    f = ag.grad(lambda x: x * ag.grad(lambda y: x * y)(raw(xp, 1.0)))
    assert float(f(raw(xp, 2.0))) == 4.0
    g = ag.grad(lambda x: x * ag.grad(lambda y: x + y)(raw(xp, 1.0)))
    assert float(g(raw(xp, 2.0))) == 1.0
    h = ag.grad(lambda x: ag.grad(lambda y: x * y)(x))
    assert float(h(raw(xp, 3.0))) == 1.0


def test_argnums_and_aux(xp):
    def f(a, b, scale=1.0):
        return xp.sum(a * b) * scale, {"a": a}

    a, b = raw(xp, [1.0, 2.0]), raw(xp, [3.0, 4.0])
    (value, aux), (ga, gb) = ag.value_and_grad(f, argnums=(0, 1), has_aux=True)(a, b, scale=2.0)
    assert float(value) == 22.0
    assert type(aux["a"]) is type(a)
    close(ga, [6.0, 8.0])
    close(gb, [2.0, 4.0])
    g, _ = ag.grad(f, argnums=-1, has_aux=True)(a, b)
    close(g, a)
    with pytest.raises(IndexError, match="argument 2, but 2"):
        ag.grad(f, argnums=2, has_aux=True)(a, b)


def test_arguments_may_be_pytrees(xp):
    point = namedtuple("point", "x y")
    tree = {"p": point(raw(xp, 1.0), raw(xp, 2.0)), "rest": [raw(xp, [3.0])], "none": None}

    def f(tree):
        return tree["p"].x * tree["p"].y * xp.sum(tree["rest"][0])

    g = ag.grad(f)(tree)
    assert isinstance(g["p"], point)
    assert (float(g["p"].x), float(g["p"].y)) == (6.0, 3.0)
    close(g["rest"][0], [2.0])
    assert g["none"] is None


def test_an_argument_without_part_in_the_result_has_zero_gradient(xp):
    x, y = raw(xp, [1.0, 2.0]), raw(xp, 3.0)
    close(ag.grad(lambda x, y: y * y)(x, y), [0.0, 0.0])
    close(ag.grad(lambda x: xp.asarray(1.0))(x), [0.0, 0.0])


def test_the_same_array_given_twice_has_two_gradients(xp):
    x = raw(xp, 3.0)
    gx, gy = ag.grad(lambda x, y: x * x * y, argnums=(0, 1))(x, x)
    assert (float(gx), float(gy)) == (18.0, 9.0)
    v = ag.Variable(x)
    gx, gy = ag.grad(lambda x, y: x * x * y, argnums=(0, 1))(v, v)
    assert (gx.item(), gy.item()) == (18.0, 9.0)


def test_vjp(xp):
    x = raw(xp, [1.0, 2.0])
    value, pullback = ag.vjp(lambda x, y: {"a": x * y, "b": xp.sum(x)}, x, raw(xp, 3.0))
    close(value["a"], [3.0, 6.0])
    for _ in range(2):
        gx, gy = pullback({"a": raw(xp, [1.0, 10.0]), "b": raw(xp, 100.0)})
        close(gx, [103.0, 130.0])
        close(gy, 21.0)
    with pytest.raises(GradientError, match="structure"):
        pullback(raw(xp, 1.0))
    with pytest.raises(GradientError, match="shape"):
        pullback({"a": raw(xp, 1.0), "b": raw(xp, 1.0)})


def test_jacobian(xp):
    x = raw(xp, [1.0, 2.0, 3.0])
    j = ag.jacobian(lambda x: xp.stack([xp.sum(x * x), x[0] * x[1]]))(x)
    close(j, [[2.0, 4.0, 6.0], [2.0, 1.0, 0.0]])
    m = raw(xp, [[1.0, 2.0], [3.0, 4.0]])
    j = ag.jacobian(lambda m, v: {"out": m @ v}, argnums=(0, 1))(m, raw(xp, [1.0, 10.0]))
    assert j["out"][0].shape == (2, 2, 2)
    close(j["out"][1], m)
    assert ag.jacobian(lambda x: x[:0])(x).shape == (0, 3)
    with pytest.raises(NoGradientError, match="vjp"):
        ag.jacobian(lambda x: xp.astype(x, xp.complex128))(x)


def test_hessian_and_hvp(xp):
    a = raw(xp, [[2.0, 1.0], [1.0, 3.0]])
    x = raw(xp, [1.0, -1.0])

    def f(x):
        return xp.sum(x * (xp.asarray(a) @ x)) + xp.sum(x**3)

    expected = 2 * np.asarray(a) + np.diag([6.0, -6.0])
    close(ag.hessian(f)(x), expected)
    v = raw(xp, [1.0, 2.0])
    close(ag.hvp(f, x, v), expected @ [1.0, 2.0])
    close(ag.hvp(f, (x,), (v,))[0], expected @ [1.0, 2.0])
    close(ag.hvp(f, ag.Variable(x), v), expected @ [1.0, 2.0])


def test_stop_gradient(xp):
    assert float(ag.grad(lambda x: x * ag.stop_gradient(x))(raw(xp, 3.0))) == 3.0
    tree = ag.stop_gradient({"x": ag.Variable(raw(xp, 1.0)), "n": 2})
    assert not tree["x"].requires_grad


def test_complex_gradients_point_uphill(xp):
    z = raw(xp, 1 + 2j, "complex128")
    g = ag.grad(lambda z: xp.abs(z) ** 2)(z)
    assert complex(g) == pytest.approx(2 + 4j)


def test_what_cannot_be_differentiated_says_so(xp):
    with pytest.raises(NoGradientError, match=r"real 0-d array, not one of shape \(2,\)"):
        ag.grad(lambda x: x)(raw(xp, [1.0, 2.0]))
    with pytest.raises(NoGradientError, match="complex128"):
        ag.grad(lambda x: x)(raw(xp, 1j, "complex128"))
    with pytest.raises(UnsupportedArrayError, match="argument 0 has dtype"):
        ag.grad(lambda x: x)(raw(xp, 1, "int64"))
    with pytest.raises(UnsupportedArrayError, match=r"builtins\.str"):
        ag.grad(lambda x: x)("a string")


def test_an_exception_in_the_function_leaves_no_trace(xp):
    with pytest.raises(ZeroDivisionError):
        ag.grad(lambda x: 1 / 0)(raw(xp, 1.0))
    assert type(ag.grad(lambda x: x * x)(raw(xp, 1.0))) is type(raw(xp, 1.0))


def test_python_numbers_are_arrays_of_the_default_backend():
    assert isinstance(ag.grad(lambda x: x * x)(3.0), np.ndarray)


def test_scipy_minimize_takes_value_and_grad_as_it_is():
    xp = ag.namespace("numpy")

    def rosenbrock(x):
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    for method in ("L-BFGS-B", "BFGS"):
        result = scipy.optimize.minimize(
            ag.value_and_grad(rosenbrock), np.zeros(4), jac=True, method=method, tol=1e-9
        )
        np.testing.assert_allclose(result.x, 1.0, rtol=1e-4)
    result = scipy.optimize.minimize(
        ag.value_and_grad(rosenbrock),
        np.zeros(4),
        jac=True,
        hessp=lambda x, p: ag.hvp(rosenbrock, x, p),
        method="Newton-CG",
        tol=1e-9,
    )
    np.testing.assert_allclose(result.x, 1.0, rtol=1e-4)
