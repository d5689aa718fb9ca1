"""Ops as functions of JAX: its own checker in both modes, in traces, and under vmap."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd.errors import MissingRuleError

jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")
jnp = pytest.importorskip("jax.numpy")
check_grads = pytest.importorskip("jax.test_util").check_grads

EVERY = 40  # JAX compiles each function for each shape


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def is_inexact(x):
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jnp.inexact)


X, A = [[0.1, -0.7, 0.4], [0.3, 0.2, -0.5]], [1.5, -0.4, 0.2]


# -- every op --------------------------------------------------------------------------------------


# JAX's own step, 1e-4, is for single precision. Over it, differences of the second derivatives of
# sosfilt, which are up to 5e3, are off by 1.4e-4 of an element. Their error falls as the square of
# the step, and by differences with 60 digits the derivatives themselves are right to 14.
STEP = 1e-5


@pytest.mark.slow
def test_check_grads_passes_in_both_modes(call, request):
    run, arrays = call.on(ag.bridge.library(call.library), domain_named("jax").raw, is_inexact)
    # Those of second order, in all four combinations of modes, take minutes for all ops.
    order = call.order if request.config.getoption("all_ops") else 1

    @jax.jit  # else JAX compiles each operation
    def inexact(*given):
        return tuple(filter(is_inexact, run(*map(jnp.asarray, given))))

    check_grads(inexact, tuple(arrays), order=order, modes=["fwd", "rev"], eps=STEP)


@pytest.mark.slow
def test_second_derivatives_of_each_kind(scipy, special):
    x, a = jnp.asarray(X), jnp.asarray(A)
    near = {"order": 2, "eps": STEP}
    check_grads(lambda x: special.kve(1.5, x), (jnp.abs(x) + 0.2,), **near)
    check_grads(lambda z: special.wofz(z).real, (x[0] + 0.5j,), modes=["rev"], **near)
    check_grads(lambda a: scipy.signal.all_pole(x, a), (a,), **near)
    check_grads(lambda m: scipy.linalg.lu_parts(m)[2], (x[:, :2],), modes=["rev"], **near)


def test_a_wrong_rule_is_found(special, monkeypatch):
    from agnograd_engines import Primitive

    right = Primitive._gradient
    x = jnp.asarray([0.5, 1.5])
    monkeypatch.setattr(Primitive, "_gradient", lambda *args: 1.01 * right(*args))
    with pytest.raises(AssertionError, match="JVP tangent"):
        check_grads(special.erfcx, (x,), order=1)


# -- transformations -------------------------------------------------------------------------------


def test_jit_of_vmap_of_grad(scipy):
    f = scipy.signal.all_pole
    x, a = jnp.asarray(X), jnp.asarray(A)

    def loss(x, a):
        return (f(x, a) ** 2).sum()

    for argnum in (0, 1):
        grad = jax.grad(loss, argnum)
        each = jax.jit(jax.vmap(grad, (0, None)))(x, a)
        np.testing.assert_allclose(each, jnp.stack([grad(row, a) for row in x]), rtol=1e-12)
        several = jnp.stack([a, 2 * a])
        each = jax.jit(jax.vmap(grad, (None, 0)))(x, several)
        np.testing.assert_allclose(each, jnp.stack([grad(x, row) for row in several]), rtol=1e-12)


def test_hessians_of_all_modes_agree(scipy):
    def loss(a):
        return (scipy.signal.all_pole(jnp.asarray(X), a) ** 2).sum()

    a = jnp.asarray(A)
    expected = jax.jacrev(jax.grad(loss))(a)
    for hessian in (jax.hessian(loss), jax.jacfwd(jax.jacfwd(loss)), jax.jacrev(jax.jacfwd(loss))):
        np.testing.assert_allclose(jax.jit(hessian)(a), expected, rtol=1e-10)


def test_what_scipy_computes_is_called_back_in_traces(special):
    x = jnp.asarray([0.5, 1.5])
    traced = jax.jit(jax.grad(lambda x: special.kve(1.5, x).sum()))
    assert "callback" in str(jax.make_jaxpr(traced)(x))
    np.testing.assert_allclose(traced(x), jax.grad(lambda x: special.kve(1.5, x).sum())(x))


def test_members_of_vmap_meet_their_own(scipy, special):
    """They do where SciPy computes all of them, though one array has more axes than the other."""
    v, x = jnp.asarray([0.5, 1.5, 2.5]), jnp.linspace(0.1, 1.0, 9).reshape(3, 3)
    expected = jnp.stack([special.kve(v[i], x[i]) for i in range(3)])
    for vmap in (jax.vmap(special.kve), jax.jit(jax.vmap(special.kve))):
        np.testing.assert_array_equal(vmap(v, x), expected)
    columns = jax.vmap(special.kve, (None, 1), 1)(1.5, x[:2])  # a number has no axes at all
    np.testing.assert_array_equal(columns, special.kve(1.5, x[:2]))
    a = jnp.stack([jnp.eye(2), 2 * jnp.eye(2)])
    b, q = jnp.ones((2, 3, 1, 1)), jnp.ones((2, 2, 1))
    found = jax.vmap(scipy.linalg.sylvester)(a, b, q)
    expected = jnp.stack([scipy.linalg.sylvester(a[i], b[i], q[i]) for i in range(2)])
    np.testing.assert_array_equal(found, expected)


def test_single_precision_stays_without_64_bits(scipy, special):
    with jax.enable_x64(False):
        x = jnp.asarray([0.5, 1.5])
        for f in (
            lambda x: special.kve(np.float64(1.5), x),  # SciPy computes it
            lambda x: special.xlogy(2.0, x),
            lambda x: scipy.signal.convolve(x, np.asarray(A)),
        ):
            grad = jax.grad(lambda x, f=f: f(x).sum())
            assert f(x).dtype == jax.jit(grad)(x).dtype == grad(x).dtype == jnp.float32


def test_functions_are_in_loops_and_branches(special):
    def looped(x):
        return jax.lax.scan(lambda c, y: (special.kve(1.5, c * y), None), 1.0, x)[0]

    def unrolled(x):
        return special.kve(1.5, special.kve(1.5, x[0]) * x[1])

    def branched(x):
        return jax.lax.cond(x[0] > 0, lambda x: special.kve(1.5, x).sum(), jnp.sum, x)

    x = jnp.asarray([0.5, 1.5])
    np.testing.assert_allclose(jax.grad(looped)(x), jax.grad(unrolled)(x), rtol=1e-12)
    kept = jax.grad(jax.checkpoint(branched))(x)
    np.testing.assert_allclose(kept, jax.grad(lambda x: special.kve(1.5, x).sum())(x), rtol=1e-12)


def test_functions_of_arrays_are_taken(scipy):
    def root(a):
        return scipy.optimize.root(lambda x, a: x**3 + a * x - 1.0, jnp.asarray([0.5]), (a,)).sum()

    a = jnp.asarray([0.5])
    x = root(a)
    np.testing.assert_allclose(jax.grad(root)(a), -x / (3 * x**2 + 0.5), rtol=1e-6)


def test_what_has_no_derivative_says_so(special):
    with pytest.raises(MissingRuleError, match="with respect to 'v'"):
        jax.grad(lambda v: jnp.abs(special.hankel1(v, 0.5)))(1.5)
    assert jnp.isfinite(jax.grad(lambda x: jnp.abs(special.hankel1(1.5, x)))(0.5))


def test_empty_arrays_constants_and_dtypes(scipy, special):
    empty = jnp.zeros((2, 0))
    assert jax.grad(lambda x: special.erfcx(x).sum())(empty).shape == (2, 0)
    single = jnp.asarray([0.5], jnp.float32)
    assert jax.grad(lambda x: special.erfcx(x).sum())(single).dtype == jnp.float32
    g = jax.grad(lambda x: scipy.signal.convolve(x, np.asarray(A), mode="same").sum())
    assert g(jnp.ones(4)).shape == (4,)
    assert isinstance(special.erfcx(single), jax.Array)
