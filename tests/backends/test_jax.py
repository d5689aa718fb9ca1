"""What is special to JAX: immutable arrays, tracers, precision."""

import subprocess
import sys

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named

jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")


@pytest.fixture
def xp():
    return ag.namespace("jax")


def loss(xp, x):
    y = xp.tanh(x[1:] * x[:-1])
    return xp.sum(xp.where(y > 0, xp.sqrt(y), 0.0)) + xp.take(x, xp.asarray([0, 0, -1])) @ x[:3]


def test_a_jitted_gradient_is_the_eager_one(xp):
    gradient = ag.grad(lambda x: loss(xp, x))
    x = jax.numpy.asarray([0.5, 1.0, -2.0, 3.0])
    compiled = jax.jit(gradient)
    np.testing.assert_allclose(compiled(x), gradient(x), rtol=1e-5)
    expected = jax.grad(lambda x: jax.numpy.sum(jax.numpy.sin(x)))(x)
    found = jax.jit(ag.grad(lambda x: xp.sum(xp.sin(x))))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_numpys_arrays_are_constants_under_jit(xp):
    x, c = jax.numpy.asarray([0.5, 1.0, -2.0]), np.asarray([1.0, 2.0, 3.0])
    for f in (lambda x: xp.sum(x * x * c), lambda x: np.sum(np.multiply(c, np.square(x)))):
        gradient = jax.jit(ag.grad(f))(x)
        assert isinstance(gradient, jax.Array)
        np.testing.assert_allclose(gradient, 2 * c * x, rtol=1e-6)


def test_a_jitted_gradient_is_compiled_once(xp):
    traced = []

    def f(x):
        traced.append(type(x))
        return xp.sum(xp.exp(x) * x)

    compiled = jax.jit(ag.grad(f))
    for value in (0.0, 1.0, 2.0):
        compiled(jax.numpy.asarray([value, 1.0]))
    assert len(traced) == 1


def test_second_derivatives_are_jitted_and_batched(xp):
    x = jax.numpy.asarray([0.5, 1.0, 2.0])
    hessian = jax.jit(ag.hessian(lambda x: xp.sum(x**3)))(x)
    np.testing.assert_allclose(hessian, np.diag([3.0, 6.0, 12.0]), rtol=1e-6)
    batch = jax.vmap(ag.grad(lambda x: xp.sum(x**3)))(jax.numpy.stack([x, 2 * x]))
    np.testing.assert_allclose(batch[1], 3 * (2 * x) ** 2, rtol=1e-6)


def test_a_loop_of_products_is_exported_for_batches_of_any_size(xp):
    from jax import export

    def f(w, x):
        for _ in range(4):
            x = xp.tanh(x @ w)
        return xp.sum(x)

    rng = np.random.default_rng(0)
    w, x = (jax.numpy.asarray(rng.standard_normal(shape)) for shape in ((3, 3), (7, 3)))
    (batch,) = export.symbolic_shape("batch")
    kinds = [jax.ShapeDtypeStruct(shape, x.dtype) for shape in ((3, 3), (batch, 3))]
    exported = export.export(jax.jit(ag.grad(f)))(*kinds)
    np.testing.assert_allclose(exported.call(w, x), ag.grad(f)(w, x), rtol=1e-4)


def test_forward_mode_is_jitted(xp):
    x, t = jax.numpy.asarray([0.5, 1.0]), jax.numpy.asarray([1.0, 0.0])
    _, tangent = jax.jit(lambda x, t: ag.jvp(lambda x: xp.sin(x), x, t))(x, t)
    np.testing.assert_allclose(tangent, [np.cos(0.5), 0.0], rtol=1e-6)
    _, push = ag.linearize(lambda x: xp.sin(x), x)
    for compiled in (jax.jit(push), jax.jit(lambda t: ag.linearize(lambda x: xp.sin(x), x)[1](t))):
        np.testing.assert_allclose(compiled(t), [np.cos(0.5), 0.0], rtol=1e-6)
    outer = jax.jit(lambda x, t: ag.linearize(lambda x: xp.sin(x), x)[1](t))
    np.testing.assert_allclose(outer(x, t), [np.cos(0.5), 0.0], rtol=1e-6)


def test_jacobians_are_jitted(xp):
    x = jax.numpy.asarray([0.5, 1.0, 2.0, 4.0])
    found = jax.jit(ag.jacobian(lambda x: xp.sin(x)))(x)
    np.testing.assert_allclose(found, np.diag(np.cos(x)), rtol=1e-6)


def test_a_solve_and_its_gradient_share_one_factorisation(xp):
    matrix = jax.numpy.asarray([[2.0, 1.0j], [-1.0, 3.0]])
    right = jax.numpy.asarray([1.0, 2.0])

    def gradient(matrix, right):
        f = lambda matrix, right: xp.sum(xp.abs(xp.linalg.solve(matrix, right)) ** 2)  # noqa: E731
        return ag.grad(f, argnums=(0, 1))(matrix, right)

    compiled = jax.jit(gradient).lower(matrix, right).compile()
    assert compiled.as_text().count('lapack_cgetrf_ffi"') == 1
    found = compiled(matrix, right)
    for one, other in zip(found, gradient(matrix, right), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
    inverse = np.linalg.inv(matrix)
    expected = np.real(2 * np.conj(inverse.T) @ inverse @ right)
    np.testing.assert_allclose(found[1], expected, rtol=1e-4)
    batch = jax.vmap(gradient, in_axes=(None, 0))(matrix, jax.numpy.stack([2 * right, right]))
    np.testing.assert_allclose(batch[1][0], 2 * expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("key", "padded"),
    [
        (np.s_[1:], True),
        (np.s_[::-1, 1:], True),
        (np.s_[..., 0::2], True),
        (np.s_[None, 1:, None], True),
        (np.s_[:0], False),
        (np.s_[2], False),
        (np.s_[1:3, -1], False),
    ],
)
def test_the_gradient_of_a_large_part_is_padded_in_a_trace(xp, key, padded):
    x = jax.numpy.arange(12.0).reshape(4, 3)
    gradient = ag.grad(lambda x: xp.sum(x[key] ** 2))
    expected = np.zeros((4, 3))
    expected[key] = 2 * np.asarray(x)[key]
    np.testing.assert_array_equal(jax.jit(gradient)(x), expected)
    np.testing.assert_array_equal(gradient(x), expected)
    names = str(jax.make_jaxpr(gradient)(x))
    assert (" pad[" in names) == padded


def test_jax_differentiates_what_agnograd_did(xp):
    x = jax.numpy.asarray(0.5)
    second = jax.grad(lambda x: ag.grad(lambda y: y**3)(x))(x)
    assert float(second) == pytest.approx(3.0)


def test_jax_differentiates_cotangents_that_are_zero_beside_a_mask(xp):
    def f(x):
        y = xp.sin(x)
        y[0] = 0.25
        return xp.mean(y**2)

    x = jax.numpy.asarray([0.4, 0.7, 0.0])
    second = jax.grad(lambda x: ag.grad(f)(x).sum())(x)
    expected = 2 / 3 * np.cos(2 * np.asarray(x)) * [0, 1, 1]
    np.testing.assert_allclose(second, expected, rtol=1e-6)


def test_writes_through_views_reach_the_base_in_a_trace(xp):
    def f(x):
        y = x * 1.0
        view = y[:2]
        view[0] = 5.0 * x[2]
        return xp.sum(y * y)

    x = jax.numpy.asarray([1.0, 2.0, 3.0])
    assert ag.grad(f)(x).tolist() == [0.0, 4.0, 156.0]
    assert jax.jit(ag.grad(f))(x).tolist() == [0.0, 4.0, 156.0]


def test_a_scalar_is_written_by_a_mask_in_a_trace(xp):
    def f(x):
        y = x * x
        y[x[:, 0] > 1.5] = 0.0
        return xp.sum(y)

    x = jax.numpy.asarray([[1.0, 2.0], [2.0, 3.0]])
    assert jax.jit(ag.grad(f))(x).tolist() == ag.grad(f)(x).tolist() == [[2.0, 4.0], [0.0, 0.0]]


def test_a_number_that_is_differentiated_is_written_by_a_mask_in_a_trace(xp):
    def f(x, number):
        y = x * x
        y[x > 1.5] = number**3
        return xp.sum(y)

    x, number = jax.numpy.asarray([[1.0, 2.0], [2.0, 3.0]]), jax.numpy.asarray(2.0)
    of_x, of_number = jax.jit(ag.grad(f, argnums=(0, 1)))(x, number)
    assert of_x.tolist() == [[2.0, 0.0], [0.0, 0.0]]
    assert float(of_number) == 3 * 12.0
    second = ag.grad(lambda number: ag.grad(f, argnums=1)(x, number))
    assert float(jax.jit(second)(number)) == 3 * 12.0


def test_what_depends_on_values_is_jaxs_own_error_in_a_trace(xp):
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(ag.grad(lambda x: x if x.item() > 0 else -x))(jax.numpy.asarray(1.0))


def test_arrays_stay_as_they_were(xp):
    backend = backend_named("jax")
    x = jax.numpy.zeros(3)
    assert backend.scatter_add(x, (jax.numpy.asarray([0, 0]),), jax.numpy.ones(2)).tolist()[0] == 2
    assert x.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(TypeError, match="complex64 does not fit float32"):
        backend.set(x, 0, 1j)
    backend.synchronize(x)
    backend.synchronize()


def test_precision_is_what_the_program_chose(xp):
    assert ag.grad(lambda x: x * x)(jax.numpy.asarray(2.0)).dtype == jax.numpy.float32
    with jax.enable_x64(True):
        assert ag.grad(lambda x: x * x)(jax.numpy.asarray(2.0)).dtype == jax.numpy.float64


def test_choosing_the_backend_changes_no_setting_and_warns_of_nothing():
    code = (
        "import agnograd as ag, jax; before = jax.config.values.copy(); ag.namespace('jax');"
        "changed = {k for k, v in jax.config.values.items() if before.get(k, v) is not v};"
        "assert not changed, changed"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
