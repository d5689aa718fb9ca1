"""Programs on CuPy: on the arrays' device, by the stand-in where there is none."""

import importlib.util

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd_compile._lowerings import lowering_for
from agnograd_compile._programs.program import Missed
from agnograd_compile._programs.straight import straight
from on_cupy import passes_on_the_stand_in
from traced import traced


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
@pytest.mark.slow
def test_these_on_the_stand_in():
    passes_on_the_stand_in("test_cupy_lowering.py")


def text_of(program):
    from agnograd_cupy.lowering import OutWriter

    return OutWriter(program).source()


def test_results_are_the_same_bit_for_bit(cupy):
    xp = ag.namespace("cupy")

    def loss(x, w):
        hidden = xp.tanh(x @ w) * 2.0 + xp.exp(x[:, :2])
        return xp.sum(hidden**2) / xp.mean(hidden)

    x, w = cupy.asarray(np.linspace(0.1, 1.0, 12).reshape(4, 3)), cupy.asarray(np.eye(3, 2))
    program = traced("cupy", ag.value_and_grad(loss, argnums=(0, 1)), x, w)
    assert "out=" in text_of(program)
    run, plain = lowering_for("cupy", "auto").lower(program), straight(program)
    for given in ([x, w], [x * 0.5, w + 1.0]):
        kept = [each.get() for each in given]
        found = run(given)
        for one, other in zip(found, plain(given), strict=True):
            assert type(one) is cupy.ndarray
            assert one.strides == other.strides
            np.testing.assert_array_equal(one.get(), other.get())
        for one, before in zip(given, kept, strict=True):
            np.testing.assert_array_equal(one.get(), before)
        assert not any(cupy.may_share_memory(a, b) for a in found for b in given)


def test_what_a_view_reads_is_not_written_to(cupy):
    xp = ag.namespace("cupy")

    def f(x):
        y = xp.exp(x)
        return y + xp.matrix_transpose(y)

    x = cupy.asarray(np.arange(9.0).reshape(3, 3))
    program = traced("cupy", f, x)
    assert "out=" not in text_of(program)
    found = lowering_for("cupy", "cupy").lower(program)([x])[0]
    np.testing.assert_array_equal(found.get(), np.exp(x.get()) + np.exp(x.get()).T)


def test_a_guard_that_finds_another_value_is_missed(cupy):
    xp = ag.namespace("cupy")
    x = cupy.ones(3)
    program = traced("cupy", lambda x: xp.exp(x) if bool(xp.sum(x) > 2.0) else x / 2.0, x)
    run = lowering_for("cupy", "cupy").lower(program)
    np.testing.assert_array_equal(run([x])[0].get(), np.exp(np.ones(3)))
    with pytest.raises(Missed) as raised:
        run([-x])
    assert raised.value.args == (0, False)


def test_a_compiled_function_is_one_of_the_device(cupy):
    xp = ag.namespace("cupy")
    f = ag.value_and_grad(lambda x: xp.sum(xp.sin(x) * xp.exp(x)))
    compiled, x = ag.compile(f), cupy.asarray([0.5, 1.0])
    for given in (x, x * 2.0):
        for one, other in zip(compiled(given), f(given), strict=True):
            assert one.device == x.device
            np.testing.assert_array_equal(one.get(), other.get())


def test_runs_on_the_device_of_the_arrays(cupy):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("CuPy finds one device")
    xp = ag.namespace("cupy")
    with cupy.cuda.Device(1):
        x = cupy.asarray([0.5, 1.0])
        program = traced("cupy", lambda x: xp.exp(x) + 1.0, x)
    found = lowering_for("cupy", "cupy").lower(program)([x])[0]
    assert found.device == x.device
    assert cupy.cuda.Device() == cupy.cuda.Device(0)


def test_arrays_of_one_block_may_share_memory(cupy):
    backend, x = domain_named("cupy").backend, cupy.ones((4, 4))
    assert backend.may_share(x, x[0])
    assert backend.may_share(x.T, x)
    assert not backend.may_share(x, x.copy())
