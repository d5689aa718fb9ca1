"""Functions to functions."""

import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
import scipy.optimize

import agnograd as ag
from agnograd.errors import GradientError, NoGradientError, UnsupportedArrayError
from linear_maps import check_differentiable


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
    assert isinstance(ag.grad(lambda x: xp.sum(w * x))(x.data), ag.Variable)
    with ag.no_grad():
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


def test_an_argument_that_is_named_twice_has_its_gradient_twice(xp):
    x, y = raw(xp, [1.0, 2.0]), raw(xp, [3.0, 4.0])

    def f(x, y):
        return xp.sum(x * x * y)

    for argnums in ((0, 0), [0, -2], (1, 0, 1), (-1, 1)):
        gradients = ag.grad(f, argnums)(x, y)
        assert isinstance(gradients, tuple)
        for argnum, g in zip(argnums, gradients, strict=True):
            close(g, np.asarray(ag.grad(f, argnum)(x, y)))
        second = ag.hessian(f, argnums)(x, y)
        for i, row in zip(argnums, second, strict=True):
            for j, block in zip(argnums, row, strict=True):
                close(block, np.asarray(ag.hessian(f, (i % 2, j % 2))(x, y)[0][1]))
    for mode in ("forward", "reverse"):
        first, again = ag.jacobian(lambda x: {"a": x["x"] ** 2}, (0, -1), mode)({"x": x})["a"]
        close(first["x"], [[2.0, 0.0], [0.0, 4.0]])
        close(again["x"], [[2.0, 0.0], [0.0, 4.0]])


@pytest.mark.parametrize(
    "steps",
    [
        lambda xp, x: xp.all(x > 0),
        lambda xp, x: xp.count_nonzero(x),
        lambda xp, x: xp.astype(xp.sum(x), xp.int32),
        lambda xp, x: xp.argmax(x),
        lambda xp, x: xp.asarray(3, dtype=xp.int64),
    ],
)
def test_integers_and_booleans_have_no_gradient(xp, steps):
    x = raw(xp, [1.0, 2.0])

    def f(x):
        return steps(xp, x)

    for ask in (
        lambda: ag.grad(f)(x),
        lambda: ag.value_and_grad(lambda x: (f(x), x), has_aux=True)(x),
        lambda: ag.vjp(f, x),
        lambda: ag.jvp(f, x, x),
        lambda: ag.linearize(f, x),
        lambda: ag.jacobian(f)(x),
        lambda: ag.jacobian(f, mode="forward")(x),
        lambda: ag.jacobian(f, mode="reverse")(x),
        lambda: ag.hessian(f)(x),
        lambda: ag.hvp(f, x, x),
        lambda: ag.check_grad(f, x),
    ):
        with pytest.raises(NoGradientError, match="floating-point"):
            ask()


def test_integers_beside_others_have_zeros_for_tangents(xp):
    def f(x):
        return xp.sum(x * x), xp.argmax(x)

    x = raw(xp, [1.0, 2.0])
    (_, place), pullback = ag.vjp(f, x)
    close(pullback((raw(xp, 1.0), place))[0], [2.0, 4.0])
    _, (tangent, step) = ag.jvp(f, x, raw(xp, [1.0, 1.0]))
    assert (float(tangent), int(step)) == (6.0, 0)
    assert step.dtype == place.dtype
    for mode in ("forward", "reverse"):
        close(ag.jacobian(f, mode=mode)(x)[0], [2.0, 4.0])


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


def _cubes(xp):
    """Functions that have the gradient 3 x x in many ways, each as an op or several."""

    class Cube(ag.Function):
        def forward(self, xp, x):
            self.save(x)
            return x * x * x

        def backward(self, xp, g):
            (x,) = self.saved
            return 3 * x * x * g

    def moved(x):
        there = ag.asarray(x, backend="numpy")
        return ag.asarray(there * there * there, backend=x)

    return {
        "ops": lambda x: x * x * x,
        "checkpoint": ag.checkpoint(lambda x: x * x * x),
        "checkpoint of two": ag.checkpoint(lambda x: x * ag.checkpoint(lambda x: x * x)(x)),
        "Function": Cube(),
        "wrap": ag.wrap(lambda x: x**3, vjp=lambda g, out, x: 3 * x * x * g),
        "numeric": ag.wrap(lambda x: x**3, vjp="numeric"),
        "asarray": moved,
    }


@pytest.mark.parametrize("name", _cubes(None))
def test_a_pullback_of_raw_arrays_is_differentiated_by_its_cotangents(xp, name):
    _, pullback = ag.vjp(_cubes(xp)[name], raw(xp, [1.0, 2.0]))
    one = raw(xp, [1.0, 1.0])

    def pulled(g):
        return pullback(g)[0]

    # Central differences have first derivatives only.
    check_differentiable(xp, pulled, one, [3.0, 12.0], transposed=name != "numeric")


def test_what_is_recorded_is_asked_when_a_pullback_is_called(xp):
    x, w = raw(xp, [1.0, 2.0]), ag.Variable(raw(xp, [3.0, 4.0]))
    with ag.no_grad():
        _, pullback = ag.vjp(lambda x: x * x * x, ag.Variable(x))
        assert not pullback(w)[0].requires_grad
    assert pullback(w)[0].requires_grad
    with ag.GradManager():
        _, pullback = ag.vjp(lambda x: x * x * x, x)
    close(ag.grad(lambda g: xp.sum(pullback(g)[0]))(x), [3.0, 12.0])
    # By an argument and a cotangent, and by what the function uses besides.
    f = ag.grad(lambda x, g: xp.sum(ag.vjp(lambda x: x * x * w, x)[1](g)[0]), argnums=(0, 1))
    gx, gg = f(x, x)
    close(gx, [6.0, 16.0])
    close(gg, [6.0, 16.0])


def test_tangents_and_vectors_that_are_variables_stay_connected(xp):
    x, v = raw(xp, [1.0, 2.0]), ag.Variable(raw(xp, [1.0, 1.0]))
    for product in (
        lambda: ag.jvp(lambda x: x * x * x, x, v)[1],
        lambda: ag.hvp(lambda x: 0.25 * xp.sum(x**4), x, v),
    ):
        v.grad = None
        xp.sum(product()).backward()
        close(v.grad, [3.0, 12.0])
        with ag.no_grad():
            assert not product().requires_grad


@pytest.mark.parametrize("result", [None, [], {}, "text"], ids=repr)
@pytest.mark.parametrize("transform", [ag.grad, ag.value_and_grad])
def test_a_function_that_returns_no_number_is_named(transform, result):
    with pytest.raises(NoGradientError, match=f"of type {type(result).__qualname__}: return one"):
        transform(lambda x: result)(1.0)
    with pytest.raises(NoGradientError, match="of type list: return one array"):
        transform(lambda x: [x])(1.0)


def test_a_graph_is_searched_only_if_there_are_leaves_that_are_not_asked_for():
    code = """
import numpy as np
import agnograd as ag
from agnograd._engine import run

searched = []
found = run.on_path
run.on_path = lambda *args: searched.append(1) or found(*args)
xp, x = ag.namespace("numpy"), np.ones(3)
f = lambda x, y: xp.sum(x * y * 2.0)
assert ag.grad(f, argnums=(0, 1))(x, x)[1].tolist() == [2.0, 2.0, 2.0]
assert ag.grad(lambda t: f(t["x"], t["y"]))({"x": x, "y": x})["y"].tolist() == [2.0, 2.0, 2.0]
assert ag.vjp(lambda x: x * 2.0, x)[1](x)[0].tolist() == [2.0, 2.0, 2.0]
for mode in ("forward", "reverse", "auto"):
    assert ag.jacobian(lambda x: x * x, mode=mode)(x)[1, 1] == 2.0
assert ag.linearize(lambda x: x * 2.0, x)[1](x).tolist() == [2.0, 2.0, 2.0]
v = ag.Variable(x)
assert ag.autodiff.grad(f(v, v), [v])[0].tolist() == [4.0, 4.0, 4.0]
f(v, 1.0).backward(inputs=[v])
assert searched == []
w = ag.Variable(x)
outside = w * w
_, push = ag.no_grad()(ag.linearize)(lambda x: x * outside, x)
assert searched.pop() == 1  # when it was recorded
assert push(x).tolist() == push(x + 0.0).tolist() == [1.0, 1.0, 1.0]
assert searched == []
assert ag.no_grad()(ag.grad(lambda x: f(x, outside)))(x).tolist() == [2.0, 2.0, 2.0]
assert searched == [1]
xp.sum(outside).backward()  # which the other pass did not free
assert w.grad.data.tolist() == [2.0, 2.0, 2.0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
