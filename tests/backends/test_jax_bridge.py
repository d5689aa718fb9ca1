"""Functions of Variables in JAX's transformations, and JAX's functions as ops here."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError, UnsupportedArrayError
from arrays import leaf, values

jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util", reason="JAX's gradient checks").check_grads

ON = [None, "numpy", "strict"]


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def smooth(x, y):
    xp = x.__array_namespace__()
    return xp.sin(x) * y**2 + xp.sum(x * y)


def points():
    return jnp.asarray([0.3, -0.7, 1.1]), jnp.asarray([0.5, 1.5, -2.0])


# -- functions of Variables, for JAX -------------------------------------------------------------


@pytest.mark.parametrize("on", ON)
def test_an_exported_function_has_derivatives_of_both_orders(on):
    f = ag.bridge.jax(smooth, backend=on)
    x, y = points()
    np.testing.assert_allclose(f(x, y), jnp.sin(x) * y**2 + jnp.sum(x * y))
    check_grads(f, (x, y), order=2, modes=["rev"])
    check_grads(jax.jit(f), (x, y), order=2, modes=["rev"])
    third = jax.grad(
        lambda x: jax.grad(lambda x: jax.grad(lambda x: f(x, y).sum())(x).sum())(x).sum()
    )
    np.testing.assert_allclose(jax.jit(third)(x), -jnp.cos(x) * y**2, rtol=1e-12)


@pytest.mark.parametrize("on", ON)
def test_an_exported_function_may_write_to_its_argument(on):
    def written(x):
        x[0] = x[1] * 2.0
        x *= x
        return x

    f = ag.bridge.jax(written, backend=on)
    check_grads(f, (points()[0],), order=2, modes=["rev"])
    check_grads(jax.jit(f), (points()[0],), order=2, modes=["rev"])


@pytest.mark.parametrize("on", ON)
def test_complex_arguments_keep_jaxs_convention(on):
    def f(z):
        xp = z.__array_namespace__()
        return xp.exp(z) * z, xp.abs(z)

    z = jnp.asarray([0.5 + 0.3j, -0.2 + 1j])
    check_grads(ag.bridge.jax(f, backend=on), (z,), order=2, modes=["rev"])
    square = ag.bridge.jax(lambda z: z.__array_namespace__().abs(z) ** 2, backend=on)
    np.testing.assert_allclose(jax.grad(lambda z: square(z).sum())(z), 2 * z.conj())


@pytest.mark.parametrize("on", ON)
def test_pytrees_integers_and_unused_arguments(on):
    def f(parameters, rows, *, scale):
        w, (b, _) = parameters["w"], parameters["rest"]
        xp = w.__array_namespace__()
        return {"y": xp.take(w, rows, axis=0) * scale + b, "rows": rows + 1, "none": None}

    exported = ag.bridge.jax(f, backend=on)
    rows = jnp.asarray([1, 1])
    w, b, unused = jnp.asarray([[1.0, 2.0], [3.0, 4.0]]), jnp.asarray(0.5), jnp.asarray(7.0)
    parameters = {"w": w, "rest": (b, unused)}

    def loss(parameters, rows):
        out = exported(parameters, rows, scale=2.0)
        assert out["none"] is None
        return out["y"].sum(), out["rows"]

    for transformed in (jax.grad(loss, has_aux=True), jax.jit(jax.grad(loss, has_aux=True))):
        found, aux = transformed(parameters, rows)
        assert aux.tolist() == [2, 2]
        assert found["w"].tolist() == [[0.0, 0.0], [4.0, 4.0]]
        assert found["rest"][0].tolist() == 4.0
        assert found["rest"][1].tolist() == 0.0


@pytest.mark.parametrize("on", ON)
def test_vmap_and_empty_arguments(on):
    f = ag.bridge.jax(lambda x: x.__array_namespace__().sum(x * x), backend=on)
    batch = jnp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert jax.vmap(f)(batch).tolist() == [5.0, 25.0]
    assert jax.jit(jax.vmap(jax.grad(f)))(batch).tolist() == (2 * batch).tolist()
    assert jax.jit(jax.grad(f))(jnp.zeros((0, 3))).shape == (0, 3)


def test_a_callback_runs_once_for_each_value_and_its_shapes_may_be_told():
    runs = []

    def f(x):
        xp = x.__array_namespace__()
        runs.append(x.data.tolist())
        return xp.linalg.cholesky(x)

    def results(x):
        return jax.ShapeDtypeStruct(x.shape, x.dtype)

    x = jnp.asarray([[2.0, 1.0], [1.0, 3.0]])
    told = jax.jit(ag.bridge.jax(f, backend="numpy", results=results))
    np.testing.assert_allclose(told(x), jnp.linalg.cholesky(x))
    assert runs == [x.tolist()]
    with pytest.raises(np.linalg.LinAlgError) as caught:  # a matrix of ones has no such factor
        jax.jit(ag.bridge.jax(f, backend="numpy"))(x)
    assert "bridge.jax(f, results=...)" in caught.value.__notes__[0]


def test_functions_in_a_pytree_of_results_that_are_told():
    f = ag.bridge.jax(
        lambda x: {"a": x * 2.0, "b": (x.__array_namespace__().sum(x),)},
        backend="numpy",
        results=lambda x: {"a": x, "b": (jax.ShapeDtypeStruct((), x.dtype),)},
    )
    out = jax.jit(f)(jnp.asarray([1.0, 2.0]))
    assert out["a"].tolist() == [2.0, 4.0]
    assert out["b"][0].tolist() == 3.0


def test_what_jax_would_narrow_is_an_error():
    def wide(x):
        xp = x.__array_namespace__()
        return xp.astype(x, xp.float64)

    f = ag.bridge.jax(wide, backend="numpy")
    with jax.enable_x64(False):
        x = jnp.asarray([1.0])
        with pytest.raises(UnsupportedArrayError, match="no such dtype"):
            f(x)
        with pytest.raises(UnsupportedArrayError, match="jax_enable_x64"):
            jax.jit(f)(x)
        gradient = jax.grad(ag.bridge.jax(lambda x: x.__array_namespace__().sum(x * x)))(x)
        assert gradient.dtype == jnp.float32


def test_numpys_arrays_are_taken_as_constants():
    f = ag.bridge.jax(lambda x, y: x * y)
    assert f(np.asarray([2.0]), jnp.asarray([3.0])).tolist() == [6.0]
    assert jax.grad(lambda x: f(x, np.asarray([3.0]))[0])(jnp.asarray([2.0])).tolist() == [3.0]
    assert isinstance(ag.bridge.jax(lambda: 2.0, backend="numpy")(), jax.Array)


def test_gradients_that_would_be_lost():
    weight = ag.Variable(jnp.ones(1))
    f = ag.bridge.jax(lambda x: (x * weight)[0])
    assert f(jnp.ones(1)) == 1.0
    with pytest.raises(LostGradientError, match="none of its arguments"):
        jax.grad(f)(jnp.ones(1))


# -- JAX's functions, here -------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_an_adopted_function_has_derivatives_of_both_orders(xp, wrap):
    f = ag.bridge.from_jax(wrap(lambda x, y: jnp.sin(x) * y**2 + jnp.sum(x * y)))
    x, y = (leaf(xp, numbers).data for numbers in ([0.3, -0.7, 1.1], [0.5, 1.5, -2.0]))
    out = f(ag.Variable(x), y)
    assert out.__array_namespace__() is xp
    np.testing.assert_allclose(values(out), values(smooth(ag.Variable(x), ag.Variable(y))))
    ag.check_grad(f, x, y)

    def derivative(f):
        return lambda x: xp.sum(ag.grad(f)(x))

    third = ag.grad(derivative(derivative(lambda x: xp.sum(f(x, y)))))(x)
    expected = -np.cos(np.asarray(x)) * np.asarray(y) ** 2
    np.testing.assert_allclose(np.asarray(third), expected, rtol=1e-12)


def test_forward_mode_jacobians_and_checkpoints(xp):
    f = ag.bridge.from_jax(lambda x: jnp.tanh(x) * x)
    x = leaf(xp, [0.5, -1.0]).data
    slope = ag.grad(lambda x: xp.sum(xp.tanh(x) * x))(x)
    np.testing.assert_allclose(np.asarray(ag.jvp(f, x, xp.ones_like(x).data)[1]), slope)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(np.asarray(ag.jacobian(f, mode=mode)(x)), np.diag(slope))
    np.testing.assert_allclose(np.asarray(ag.grad(lambda x: xp.sum(ag.checkpoint(f)(x)))(x)), slope)


def test_complex_pytrees_integers_and_results_that_depend_on_nothing():
    @ag.bridge.from_jax
    def f(tree, rows, flag):
        assert flag is True
        z = tree["z"]
        return [jnp.abs(z) ** 2 + tree["x"][0][rows], (rows + 1, jnp.ones(2), 3.0)]

    x = leaf(ag.namespace("numpy"), [1.0, 2.0])
    z = leaf(ag.namespace("numpy"), [1 + 2j, 3 - 1j], dtype="complex128")
    out, (rows, ones, three) = f({"z": z, "x": (x,)}, np.asarray([1, 1]), True)
    assert rows.data.tolist() == [2, 2]
    assert ones.data.tolist() == [1.0, 1.0]
    assert three.item() == 3.0
    out.__array_namespace__().sum(out).backward()
    np.testing.assert_allclose(values(z.grad), 2 * values(z))
    assert x.grad.data.tolist() == [0.0, 2.0]
    ag.check_grad(lambda z: f({"z": z, "x": (x.data,)}, np.asarray([1, 1]), True)[0], z.data)


def test_an_adopted_function_without_arguments_that_are_differentiated():
    f = ag.bridge.from_jax(lambda x: {"y": x + 1})
    assert f(np.asarray([1, 2]))["y"].data.tolist() == [2, 3]
    assert not f(np.asarray([1.0]))["y"].requires_grad


def test_adopted_in_a_trace_of_jaxs_own():
    f = ag.bridge.from_jax(jnp.tanh)
    gradient = jax.jit(ag.grad(lambda x: f(x * x)))
    x = jnp.asarray(0.5)
    np.testing.assert_allclose(gradient(x), jax.grad(lambda x: jnp.tanh(x * x))(x))


def test_there_and_back_again():
    f = ag.bridge.jax(ag.bridge.from_jax(jnp.sin), backend="numpy")
    check_grads(f, (jnp.asarray([0.5, 1.0]),), order=2, modes=["rev"])
    g = ag.bridge.from_jax(ag.bridge.jax(lambda x: x**3, backend="strict"))
    ag.check_grad(g, np.asarray([0.5, 1.0]))
