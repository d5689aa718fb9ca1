"""Callbacks from JAX's programs: every dtype, and 64 bits where the thread has none."""

import threading

import numpy as np
import pytest

import agnograd as ag

jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")
jnp = pytest.importorskip("jax.numpy")

DTYPES = ("bool", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def called_back(*args, **options):
    return ag.namespace("jax").asarray(0)._domain.backend.called_back(*args, **options)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_arrays_go_back_and_forth(dtype, shape):
    seen = []

    def function(x, y):
        seen.append((x.dtype, x.shape))
        return x, {"sum": x + y}

    def program(x):
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return called_back(function, (like, {"sum": like}), x, x)

    values = np.arange(np.prod(shape, dtype=int)).reshape(shape) * (1.1 + 0.3j)
    x = jnp.asarray((values if "complex" in dtype else values.real).astype(dtype))
    one, found = jax.jit(program)(x)
    assert seen == [(x.dtype, shape)] or not x.size  # XLA computes nothing of no elements
    assert one.dtype == found["sum"].dtype == x.dtype
    np.testing.assert_array_equal(one, x)
    np.testing.assert_array_equal(found["sum"], x + x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_members_come_at_once(dtype):
    shapes = []

    def function(x):
        shapes.append(x.shape)
        return 2 * x

    x = jnp.arange(6.0).reshape(2, 3).astype(dtype)
    like = jax.ShapeDtypeStruct((2,), x.dtype)
    found = jax.jit(jax.vmap(lambda x: called_back(function, like, x), 1, 1))(x)
    np.testing.assert_array_equal(found, 2 * x)
    assert shapes == [(3, 2)]


def test_a_thread_without_64_bits_gets_them():
    """JAX runs callbacks of longer programs in its own threads, where no context holds."""
    like = jax.ShapeDtypeStruct((2,), jnp.float64)
    run = jax.jit(lambda x: called_back(np.sqrt, like, x)).lower(jnp.ones(2)).compile()
    x, found = jnp.asarray([2.0, 3.0]), []
    thread = threading.Thread(target=lambda: found.append(np.asarray(run(x))))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], np.sqrt([2.0, 3.0]))


def test_a_long_program_of_numpys_arrays():
    xp = ag.namespace("numpy")

    def f(x):
        y = x
        for _ in range(4):
            y = xp.special.kve(1.5, y * 0.1 + 1.0) + 1e-3 * xp.exp(-y) @ x
        return xp.sum(y)

    with jax.enable_x64(False):
        x = np.linspace(0.5, 1.5, 200 * 200).reshape(200, 200)
        expected = ag.grad(f)(x)
        for _ in range(2):
            found = ag.compile(ag.grad(f), lowering="jax")(x)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
