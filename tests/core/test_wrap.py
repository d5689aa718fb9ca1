"""Functions of raw arrays as ops."""

import gc
import math
import weakref

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import (
    LostGradientError,
    MissingRuleError,
    NoGradientError,
    RuleError,
    UnsupportedArrayError,
)
from agnograd.testing import record_events
from arrays import leaf, values

VALUES = [0.5, 1.5, -0.7]


def compiled(function):
    """Return a function that takes NumPy's arrays alone."""

    def call(x, *rest):
        assert type(x) in (np.ndarray, np.float64)
        return function(x, *rest)

    call.__name__ = "compiled"
    return call


sin = ag.wrap(compiled(np.sin), vjp=lambda g, out, x: g * cos(x), host=True)
cos = ag.wrap(compiled(np.cos), vjp=lambda g, out, x: -g * sin(x), host=True)


def test_functions_whose_vjps_are_wrapped_functions_have_every_derivative(xp):
    x = leaf(xp, VALUES).data
    ag.check_grad(sin, x)
    third = ag.grad(ag.grad(ag.grad(lambda x: xp.sum(sin(x)))))(xp.asarray(0.5, dtype=xp.float64))
    assert float(third) == pytest.approx(-math.cos(0.5))
    _, tangent = ag.jvp(sin, (x,), (x,))
    np.testing.assert_allclose(np.asarray(tangent), np.cos(VALUES) * VALUES)


def test_a_function_of_the_backends_own_arrays(backend, xp, library):
    kind = type(library.asarray([1.0, 2.0]))

    def double(x):
        assert isinstance(x, kind)
        return x * 2

    wrapped = ag.wrap(double, vjp=lambda g, out, x: g * 2)
    x = leaf(xp, VALUES)
    xp.sum(wrapped(x) * x).backward()
    np.testing.assert_allclose(values(x.grad), 4 * np.asarray(VALUES))
    ag.check_grad(wrapped, x.data)
    assert not wrapped(x.data).requires_grad


def test_several_arguments_results_options_and_trees(xp):
    @ag.wrap(
        vjp=lambda g, out, tree, n, y, *, scale: (
            {"u": [g["a"] * (n * scale) + g["b"] * tree["w"]], "w": g["b"] * tree["u"][0]},
            None,
        )
    )
    def f(tree, n, y, *, scale):
        u, w = tree["u"][0], tree["w"]
        return {"a": u * (n * scale), "b": u * w, "count": n, "name": "f"}

    u, w = (leaf(xp, each).data for each in (VALUES, [1.0, 2.0, 3.0]))
    out = f({"u": [u], "w": w}, 3, u, scale=0.5)
    assert (out["count"], out["name"]) == (3, "f")

    def program(u, w):
        found = f({"u": [u], "w": w}, 3, u * 1.0, scale=0.5)
        return found["a"], found["b"]

    ag.check_grad(program, u, w)


def test_one_argument_may_be_a_list(xp):
    for vjp in (lambda g, out, xs: [g * 2], lambda g, out, xs: ([g * 2],)):
        double = ag.wrap(lambda xs: xs[0] * 2, vjp=vjp)
        ag.check_grad(lambda x, f=double: f([x]), leaf(xp, VALUES).data)


def test_complex_arrays_keep_the_convention(xp):
    square = ag.wrap(
        compiled(np.square),
        vjp=lambda g, out, x: 2 * g * x.__array_namespace__().conj(x),
        host=True,
    )
    numeric = ag.wrap(compiled(np.square), vjp="numeric", host=True)
    z = leaf(xp, [0.5 + 1j, -0.2j], "complex128").data
    ag.check_grad(square, z)
    ag.check_grad(numeric, z, order=1)


def test_a_float_becomes_an_array():
    @ag.wrap(vjp=lambda g, out, x: g * out)
    def exp(x):
        return math.exp(x)

    assert float(ag.grad(ag.grad(exp))(0.5)) == pytest.approx(math.exp(0.5))


def test_numeric_derivatives(xp):
    numeric = ag.wrap(lambda x, y: (np.sin(x) * y, np.sum(x)), vjp="numeric", host=True)
    x, y = leaf(xp, [VALUES, VALUES]).data, leaf(xp, 2.0).data
    ag.check_grad(numeric, x, y, order=1)
    _, (tangent, _) = ag.jvp(numeric, (x, y), (x, y))
    at = np.asarray([VALUES, VALUES])
    np.testing.assert_allclose(np.asarray(tangent), 2 * np.cos(at) * at + 2 * np.sin(at), rtol=1e-8)
    with pytest.raises(RuleError, match="second derivative of <lambda>"):
        ag.hessian(lambda x: xp.sum(numeric(x, y)[0]))(x)
    single = leaf(xp, VALUES, "float32").data
    gradient = ag.grad(lambda x: xp.sum(numeric(x, xp.ones_like(x))[0]))(single)
    assert gradient.dtype == xp.float32
    np.testing.assert_allclose(np.asarray(gradient), np.cos(VALUES), rtol=1e-3)


def test_numeric_derivatives_take_two_calls_for_each_element(xp):
    calls = []
    counted = ag.wrap(lambda x, n: calls.append(1) or np.sum(x * n), vjp="numeric", host=True)
    x, n = leaf(xp, VALUES), xp.asarray([1, 2, 3])
    counted(x, n).backward()
    assert len(calls) == 1 + 2 * 3
    np.testing.assert_allclose(values(x.grad), [1, 2, 3], rtol=1e-8)


def test_a_jvp_is_for_forward_mode(xp):
    used = []

    def jvp(tangents, out, x):
        used.append(type(x))
        return tangents[0] * np.cos(x)

    wrapped = ag.wrap(np.sin, vjp=lambda g, out, x: g * np.cos(x), jvp=jvp, host=True)
    x = leaf(xp, VALUES).data
    _, tangent = ag.jvp(wrapped, (x,), (x,))
    np.testing.assert_allclose(np.asarray(tangent), np.cos(VALUES) * VALUES)
    assert used == [np.ndarray]
    jacobian = ag.jacobian(wrapped, mode="forward")(x)
    np.testing.assert_allclose(np.asarray(jacobian), np.diag(np.cos(VALUES)), atol=1e-15)
    plain = ag.wrap(np.sin, vjp=lambda g, out, x: np.asarray(g) * np.cos(x), host=True)
    with pytest.raises(RuleError, match=r"not made of array functions.*forward mode a jvp"):
        ag.jvp(plain, (x,), (x,))
    short = ag.wrap(
        np.sin, vjp=lambda g, out, x: g * np.cos(x), jvp=lambda t, out, x: (), host=True
    )
    with pytest.raises(RuleError, match="returned 0 tangents for 1 results"):
        ag.jvp(short, (x,), (x,))


def test_a_compiled_vjp_has_no_derivative_of_its_own(xp):
    once = ag.wrap(np.sin, vjp=lambda g, out, x: np.asarray(g) * np.cos(np.asarray(x)), host=True)
    x = leaf(xp, VALUES)
    np.testing.assert_allclose(
        np.asarray(ag.grad(lambda x: xp.sum(once(x)))(x.data)), np.cos(VALUES)
    )
    with pytest.raises(RuleError, match="the vjp of sin is needed, and it is not made of array"):
        ag.hessian(lambda x: xp.sum(once(x)))(x.data)


def test_without_a_vjp_a_gradient_is_an_error(xp):
    plain = ag.wrap(np.sin, host=True)
    x = leaf(xp, VALUES)
    np.testing.assert_allclose(values(plain(x.detach())), np.sin(VALUES))
    y = xp.sum(plain(x))
    with pytest.raises(MissingRuleError, match=r"ag\.wrap\(sin, vjp=\.\.\.\)"):
        y.backward()
    assert x.grad is None
    xp.sum(plain(ag.stop_gradient(x)) * x).backward()
    np.testing.assert_allclose(values(x.grad), np.sin(VALUES))


@pytest.mark.parametrize(
    ("vjp", "message"),
    [
        (lambda g, out, x, k, y: g, "returned 1 cotangents for 2 arguments with arrays"),
        (lambda g, out, x, k, y: (g, g, g), "returned 3 cotangents for 2 arguments"),
        (lambda g, out, x, k, y: (g[:1], g), r"for argument 'x' an array of shape \(1,\)"),
        (lambda g, out, x, k, y: (None, "no"), "for argument 'y' str, not an array"),
        (lambda g, out, x, k, y: (None, [g, g]), "for argument 'y' list, not an array"),
    ],
)
def test_what_does_not_fit_is_named(xp, vjp, message):
    def product(x, k, y):
        return x * k * y

    x = leaf(xp, VALUES)
    out = xp.sum(ag.wrap(product, vjp=vjp)(x, 2, x * 1.0))
    with pytest.raises(RuleError, match=message):
        out.backward()
    assert x.grad is None


def test_a_wrong_dtype_and_a_wrong_structure_are_named(xp):
    double = ag.wrap(np.exp, vjp=lambda g, out, x: (g * out).astype(np.float64), host=True)
    x = leaf(xp, VALUES, "float32")
    with pytest.raises(RuleError, match=r"the vjp of exp returned for argument .* dtype float64"):
        xp.sum(double(x)).backward()
    tree = ag.wrap(lambda pair: pair[0] * pair[1], vjp=lambda g, out, pair: (g,))
    y = leaf(xp, VALUES)
    with pytest.raises(RuleError, match="has not the structure of its argument"):
        xp.sum(tree((y, y * 1.0))).backward()


def test_misuse(xp):
    x = leaf(xp, VALUES)
    with pytest.raises(TypeError, match="f must be a function, not 3"):
        ag.wrap(3)
    with pytest.raises(TypeError, match="vjp must be a function, not 'symbolic'"):
        ag.wrap(np.sin, vjp="symbolic")
    with pytest.raises(TypeError, match="jvp is given beside a vjp"):
        ag.wrap(np.sin, vjp="numeric", jvp=np.cos)
    with pytest.raises(NoGradientError, match="'k'"):
        ag.wrap(lambda x, k: x, vjp="numeric")(x, k=x)
    with pytest.raises(UnsupportedArrayError, match="without any array"):
        sin(0.5)
    assert ag.wrap(lambda x: None, vjp="numeric")(x) is None
    with pytest.raises(ZeroDivisionError):
        ag.wrap(lambda x: 1 / 0, vjp="numeric")(x)


def test_a_tracked_variable_that_meets_numpy_leads_here():
    x = ag.Variable([1.0, 2.0])
    with pytest.raises(LostGradientError, match=r"ag\.wrap\(f, vjp=\.\.\.\)"):
        np.asarray(x)


def test_hooks_see_one_op(xp):
    x = leaf(xp, VALUES).data
    events = record_events([], lambda: ag.grad(lambda x: xp.sum(sin(x)))(x))
    names = [event.op for event in events if event.hook == "forward_preprocess"]
    assert "compiled" in names


def test_nothing_is_kept_longer_than_needed(xp):
    x = leaf(xp, VALUES)
    y = x * 2.0
    out = xp.sum(sin(y))
    kept = weakref.ref(y)
    del y
    gc.collect()
    assert kept() is None
    out.backward()
    np.testing.assert_allclose(values(x.grad), 2 * np.cos(2 * np.asarray(VALUES)))


def test_it_wraps_names_and_documentation():
    def f(x):
        """Do it."""
        return x

    wrapped = ag.wrap(vjp="numeric")(f)
    assert (wrapped.__name__, wrapped.__doc__) == ("f", "Do it.")


def test_empty_arrays(xp):
    x = leaf(xp, [1.0])[:0].detach().data
    numeric = ag.wrap(np.sin, vjp="numeric", host=True)
    for f in (sin, numeric):
        assert ag.grad(lambda x, f=f: xp.sum(f(x)))(x).shape == (0,)
    _, tangent = ag.jvp(numeric, (x,), (x,))
    assert tangent.shape == (0,)


@pytest.mark.parametrize("backend", ["dask"], indirect=True)
def test_lazy_arrays_are_an_error_on_the_host(xp):
    with pytest.raises(UnsupportedArrayError, match="are lazy: move them first"):
        sin(xp.asarray(VALUES))


@pytest.mark.parametrize("backend", ["jax"], indirect=True)
def test_traced_arrays_are_an_error_on_the_host(xp):
    import jax

    with pytest.raises(UnsupportedArrayError, match="cannot be shared with NumPy"):
        jax.jit(lambda x: sin(x).data)(xp.asarray(VALUES).data)
    f = jax.jit(ag.grad(lambda x: xp.sum(ag.wrap(jax.numpy.sin, vjp=lambda g, out, x: g * 2)(x))))
    np.testing.assert_allclose(f(xp.asarray(VALUES).data), [2, 2, 2])


def test_a_vjp_is_told_which_cotangents_are_asked_for(xp):
    told = []

    def vjp(g, out, a, pair, scale, *, power=1, needed):
        told.append(needed)
        grads = (g * pair[0] * scale, {0: g * a * scale}, None)
        return grads[0] if needed[0] else None, (grads[1][0], None) if needed[1] else None, None

    function = ag.wrap(lambda a, pair, scale, *, power=1: a * pair[0] * scale, vjp=vjp)
    x, raw = leaf(xp, VALUES), xp.asarray(VALUES).data
    for a, b, scale in ((x, raw, raw), (raw, x, raw), (x, x, raw), (x, raw, x)):
        xp.sum(function(a, (b, raw), scale, power=2)).backward()
    assert told == [
        (True, False, False),
        (False, True, False),
        (True, True, False),
        (True, False, True),
    ]
    ag.check_grad(lambda a: function(a, (raw, raw), raw), raw)
    _, tangent = ag.jvp(lambda a: function(a, (raw, raw), raw), (raw,), (raw,))
    assert tangent is not None


def test_a_keyword_of_the_function_is_not_taken_for_what_is_asked(xp):
    function = ag.wrap(lambda x, needed: x * needed, vjp=lambda g, out, x, needed: g * needed)
    x = leaf(xp, VALUES)
    xp.sum(function(x, 2.0)).backward()
    assert values(x.grad).tolist() == [2.0] * len(VALUES)


def test_differences_are_taken_by_what_is_tracked_only(xp):
    calls = []

    def product(a, b):
        calls.append(1)
        return a * b

    function = ag.wrap(product, vjp="numeric")
    x, constant = leaf(xp, VALUES), xp.asarray(VALUES).data
    xp.sum(function(constant, x)).backward()
    assert len(calls) == 1 + 2 * len(VALUES)
    np.testing.assert_allclose(values(x.grad), VALUES, rtol=1e-6)
