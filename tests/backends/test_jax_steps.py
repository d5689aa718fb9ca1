"""Steps that programs under ``jax.jit`` compute by what they have computed before; direct calls."""

import re
from collections import Counter

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._passes.passes import run as improved
from agnograd_compile._programs.straight import straight
from calls import profiled
from tests.helpers.lowered import both, lowered
from traced import traced
from under_jit import arrays_of, close, mlp

jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")
jnp = jax.numpy
xp = ag.namespace("jax")


def sources(program):
    from agnograd_jax.lowering import jit

    return jit.describe(program)["source"]


def operations(stage):
    """Return how often each operation stands in a program, before or after XLA's passes."""
    return Counter(re.findall(r"= \S+ (?:stablehlo\.)?([a-z-]+)[( ]", text_of(stage)))


def text_of(stage):
    if isinstance(stage, jax.stages.Lowered):
        return stage.as_text(dialect="hlo")
    return stage.as_text()


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "bool", "bfloat16"])
def test_products_of_transposed_matrices_and_vectors(dtype):
    rng = np.random.default_rng(1)
    a, b = (jnp.asarray(rng.integers(0, 4, (5, 3)) + 0).astype(dtype) for _ in range(2))
    u, v = (jnp.asarray(rng.integers(0, 4, length)).astype(dtype) for length in (5, 3))

    def f(a, b, u, v):
        turned = xp.matrix_transpose(a)
        return turned @ u, v @ turned, turned @ b, b @ turned, xp.stack([a, b]) @ v, a @ v

    program = traced("jax", f, a, b, u, v)
    assert sources(program).count("tensordot") == 2
    found, expected = both("jax.jax", program, [a, b, u, v])
    assert close(found, expected)
    assert [each.dtype for each in found] == [each.dtype for each in expected]
    small = jnp.ones(5, "int8")
    mixed = traced("jax", lambda a, u: xp.matrix_transpose(a) @ u, a, small)
    assert close(*both("jax.jax", mixed, [a, small]))


TAILS = {"float64": [0.0, -0.0, 1e-300, 0.3, -2.0, 19.0, -40.0, 300.0, 354.8, np.inf, -np.inf]}
TAILS["float32"] = [0.0, -0.0, 1e-30, 0.3, -2.0, 9.0, -20.0, 40.0, 43.0, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", TAILS)
@pytest.mark.parametrize("with_value", [False, True])
def test_the_derivative_of_tanh_keeps_its_digits(dtype, with_value):
    with jax.enable_x64(True):
        x = jnp.asarray([*TAILS[dtype], np.nan], dtype)
        transform = ag.value_and_grad if with_value else ag.grad
        program = improved(traced("jax", transform(lambda x: xp.sum(xp.tanh(x) * 3)), x))
        assert ("_with_tanh_" in sources(program)) is with_value
        exact = 3 / np.cosh(np.asarray(x, "longdouble")) ** 2
        for found in both("jax.jax", program, [x]):
            assert found[-1].dtype == dtype
            np.testing.assert_allclose(found[-1], exact, rtol=12 * np.finfo(dtype).eps)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="other devices have another form")
@pytest.mark.parametrize("with_value", [False, True])
def test_the_derivative_of_tanh_takes_no_exponential_and_one_division_at_most(with_value):
    with jax.enable_x64(True):
        x = jnp.linspace(-3.0, 3.0, 64)
        transform = ag.value_and_grad if with_value else ag.grad
        program = improved(traced("jax", transform(lambda x: xp.sum(xp.tanh(x))), x))
        count = operations(lowered("jax.jax", program).direct.lower([x]))
    assert (count["exponential"], count["divide"]) == (0, not with_value)
    assert count["tanh"] == with_value


@pytest.mark.parametrize("form", ["by_exponential", "with_tanh"])
def test_jax_differentiates_and_maps_the_derivative_of_tanh(form):
    from agnograd_jax import _tanh

    def slope(x):
        return getattr(_tanh, form)(1.0, x, *[jnp.tanh(x)] * (form == "with_tanh"))

    with jax.enable_x64(True):
        x = np.asarray([-300.0, -20.0, -2.0, -0.05, 0.4, 30.0, 200.0])
        t, s = np.tanh(x), 1 / np.cosh(x) ** 2
        first = jax.vmap(jax.grad(slope))(jnp.asarray(x))
        np.testing.assert_allclose(first, -2 * t * s, rtol=1e-12)
        second = jax.vmap(jax.grad(jax.grad(slope)))(jnp.asarray(x))
        np.testing.assert_allclose(second, s * (4 * t * t - 2 * s), rtol=1e-11)
        x = np.linspace(-350.0, 350.0, 20_001)
        exact = 1 / np.cosh(x.astype("longdouble")) ** 2
        np.testing.assert_allclose(slope(x), exact, rtol=8 * np.finfo("float64").eps)
        empty = slope(jnp.zeros((0, 3)))
        assert (empty.shape, empty.dtype) == ((0, 3), "float64")


def test_a_product_with_a_reciprocal_is_a_quotient_if_nothing_else_uses_that():
    x, y, row = (
        jnp.asarray([[0.5, 2.0, 3.0]] * 4),
        jnp.full((4, 3), 0.7),
        jnp.asarray([2.0, 0.0, 1]),
    )

    def count_of(f):
        program = improved(traced("jax", f, x, y, row))
        run = lowered("jax.jax", program)
        assert close(run([x, y, row]), straight(program)([x, y, row]))
        count = operations(run.direct.lower([x, y, row]))
        return count["divide"], count["multiply"]

    assert count_of(lambda x, y, row: y * (1 / x)) == (1, 0)
    assert count_of(lambda x, y, row: (1.0 / x) * y) == (1, 0)
    assert count_of(lambda x, y, row: row * (1 / row)) == (1, 0)  # 0 / 0 in both
    for f in (
        lambda x, y, row: (y * (1 / x), 1 / x),  # as it is computed anyway
        lambda x, y, row: x * (1 / row),  # many products of few quotients
        lambda x, y, row: x[:, :1] * (1 / row),
        lambda x, y, row: y * (2 / x),
    ):
        assert count_of(f) == (1, 1)


def test_a_softmax_takes_as_many_operations_as_by_jax():
    def loss(xp):
        def of(w, x, y):
            z = x @ w
            z = z - xp.max(z, axis=1, keepdims=True)
            total = xp.sum(xp.exp(z), axis=1, keepdims=True)
            return -xp.mean(xp.sum(y * (z - xp.log(total)), axis=1))

        return of

    w, x, y = jnp.ones((5, 4)), jnp.ones((8, 5)), jnp.eye(8, 4)
    run = lowered("jax.jax", improved(traced("jax", ag.grad(loss(xp)), w, x, y)))
    ours, jaxs = (
        operations(each.compile())
        for each in (run.direct.lower([w, x, y]), jax.jit(jax.grad(loss(jnp))).lower(w, x, y))
    )
    for name in ("fusion", "divide", "exponential", "log", "dot", "reduce"):
        assert ours[name] <= jaxs[name], name
    # The derivative of max at NaN is NaN in both directions, which takes a product.
    assert ours["multiply"] <= jaxs["multiply"] + 1


def test_the_derivative_of_tanh_of_complex_numbers_and_of_higher_orders():
    x = jnp.asarray([0.5 + 1j, -3.0 + 0.2j, 30.0 - 2j], "complex64")
    slope = ag.compile(ag.grad(lambda x: xp.sum(xp.real(xp.tanh(x)))))
    expected = 1 / np.cosh(np.asarray(x, "complex128")) ** 2
    np.testing.assert_allclose(slope(x), np.conj(expected), rtol=1e-5)
    second = ag.compile(ag.grad(lambda x: xp.sum(ag.grad(lambda x: xp.sum(xp.tanh(x)))(x))))
    y = np.linspace(-20.0, 20.0, 9)
    exact = -2 * np.tanh(y) / np.cosh(y) ** 2
    np.testing.assert_allclose(second(jnp.asarray(y, "float32")), exact, rtol=1e-5, atol=1e-30)


def test_a_call_goes_to_jit_directly():
    names = []
    f = ag.compile(ag.value_and_grad(mlp(xp), argnums=(1, 2, 3)))
    arrays = arrays_of(jnp.asarray, "float32")
    for _ in range(2):
        f(*arrays)

    def notice(frame, event, _):
        if event == "call" and "agnograd" in frame.f_globals.get("__name__", ""):
            names.append(frame.f_code.co_name)

    profiled(lambda: f(*arrays), notice)
    assert len(names) <= 6, names


def test_a_determinant_and_its_gradient_share_one_factorisation():
    regular = jnp.asarray([[3.0, 1.0], [0.5, 2.0]])
    singular = jnp.asarray([[1.0, 2.0], [2.0, 4.0]])

    def f(x):
        return xp.sum(xp.linalg.slogdet(x)[1][:2])

    for x in (regular[None], jnp.stack([regular, regular.T, singular])):
        program = improved(traced("jax", ag.grad(f), x))
        run = lowered("jax.jax", program)
        assert close(run([x]), straight(program)([x]))
        text = run.direct.lower([x]).as_text()
        assert text.count("getrf") == 1 or jax.default_backend() != "cpu"
    assert run([x])[0][2].tolist() == [[0.0, 0.0], [0.0, 0.0]]  # nothing is asked of it
    both_asked = ag.compile(ag.grad(lambda x: xp.sum(xp.linalg.slogdet(x)[1])))(x)
    assert np.isnan(both_asked[2]).all()
    np.testing.assert_allclose(both_asked[:2], jnp.linalg.inv(x[:2]).mT, rtol=1e-5)


def test_other_inverses_of_chosen_matrices():
    x, y = (jnp.asarray([[3.0, 1.0], [k, 2.0]]) for k in (0.5, -0.5))
    for f in (
        lambda x, y: xp.linalg.inv(xp.where(x > 0.0, xp.eye(2), x)),  # of elements
        lambda x, y: xp.linalg.inv(xp.where(x[0, 0] > 0.0, xp.ones((2, 2)) + xp.eye(2), x)),
        lambda x, y: xp.linalg.inv(xp.where(x[0, 0] > 0.0, y, x)),
        lambda x, y: xp.linalg.inv(xp.where(x[0, 0] > 0.0, xp.eye(2), x[0])),
        lambda x, y: xp.linalg.inv(xp.where(x[0, 0] > 0.0, xp.eye(2), 2.0)),
    ):
        program = traced("jax", f, x, y)
        assert close(*both("jax.jax", program, [x, y]))
