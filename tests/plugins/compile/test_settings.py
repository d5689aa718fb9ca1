"""Settings of a library that results depend on: programs are made for each of them."""

import warnings

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named
from agnograd.errors import CompileWarning
from agnograd_compile._surroundings.differences import difference
from threads import in_threads

jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")
jnp = jax.numpy
xp = ag.namespace("jax")
WIDTHS = ["float32", "float64"]


@pytest.fixture(autouse=True)
def _narrowed():
    with warnings.catch_warnings():  # without 64-bit numbers JAX says so of each
        warnings.filterwarnings("ignore", message="Explicitly requested dtype")
        yield


def wide(x):
    return xp.astype(x, xp.float64) / 3


@pytest.mark.parametrize("lowering", ["jax", "plain"])
def test_each_width_of_numbers_has_a_program(lowering):
    compiled = ag.compile(wide, lowering=lowering)
    gradient = ag.compile(ag.grad(lambda x: xp.sum(xp.exp(wide(x)))), lowering=lowering)
    x = jnp.asarray([1.0, 2.0], "float32")
    for number in range(8):  # by key, and by what looks at calls
        with jax.enable_x64(bool(number % 2)):
            for _ in range(3):
                found = compiled(x)
                assert found.dtype == WIDTHS[number % 2]
                assert found.tolist() == wide(x).tolist()
                expected = np.exp(np.asarray(x, WIDTHS[number % 2]) / 3) / 3
                np.testing.assert_allclose(gradient(x), expected, rtol=1e-6)
    assert len(compiled._entries) == len(gradient._entries) == 2


def test_by_the_configuration_and_in_threads():
    compiled = ag.compile(wide)
    x = jnp.ones(3, "float32")
    before = jax.config.jax_enable_x64
    try:
        for number in (0, 1, 0, 1, 1):
            jax.config.update("jax_enable_x64", bool(number))
            assert compiled(x).dtype == WIDTHS[number]
    finally:
        jax.config.update("jax_enable_x64", before)

    def call(number):
        with jax.enable_x64(bool(number % 2)):
            return [str(compiled(x).dtype) for _ in range(20)]

    assert in_threads(call, range(4)) == [[WIDTHS[number % 2]] * 20 for number in range(4)]


def test_arrays_that_the_function_finds_and_variables():
    x = jnp.ones(3, "float32")
    held = ag.Variable(x, requires_grad=False)
    for compiled in (ag.compile(lambda: wide(xp.asarray(x))), ag.compile(lambda: wide(held))):
        for number in (0, 1, 0, 1, 1):
            with jax.enable_x64(bool(number)):
                assert compiled().dtype == WIDTHS[number]
    compiled = ag.compile(wide)
    for number in (0, 1, 0, 1, 1):
        with jax.enable_x64(bool(number)):
            tracked = ag.Variable(x)
            out = compiled(tracked)
            assert out.dtype == WIDTHS[number]
            xp.sum(out).backward()
            assert tracked.grad.dtype == "float32"


def test_functions_without_arrays(monkeypatch):
    monkeypatch.setattr("agnograd._arrays.domains.default_name", lambda: "jax")
    compiled = ag.compile(lambda: xp.zeros(2, dtype=xp.float64) + 1)
    for number in (0, 1, 0, 1, 1):
        with jax.enable_x64(bool(number)):
            assert compiled().dtype == WIDTHS[number]


def test_a_message_names_the_setting():
    compiled = ag.compile(wide)
    for number in (0, 1):
        with jax.enable_x64(bool(number)):
            compiled(jnp.ones(3, "float32"))
    old, new = compiled._entries
    said = "argument 0 has the setting jax_enable_x64=True where it had jax_enable_x64=False"
    assert difference(old, new) == said


def test_no_setting_of_numpy_is_asked_for():
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        compiled = ag.compile(lambda x: x * 2.0)
        for number in range(4):
            with jax.enable_x64(bool(number % 2)):
                compiled(np.ones(3))
    assert len(compiled._entries) == 1


def test_where_there_are_two_devices_the_device_is_looked_at(monkeypatch):
    backend = backend_named("jax")
    assert backend.one_device() == (jax.device_count() == 1)
    for one in (True, False):
        monkeypatch.setattr(type(backend), "one_device", lambda self, one=one: one)
        compiled = ag.compile(lambda x: x * 2.0)
        for _ in range(3):
            compiled(jnp.ones(3))
        names = compiled._quick[0].__code__.co_names
        assert ("sharding" in names) is not one
        assert "aval" in names
