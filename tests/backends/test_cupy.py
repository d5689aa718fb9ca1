"""What is special to CuPy: devices, streams, events; and what is said where there is none."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import agnograd as ag
from agnograd._backends import backend_named


def test_importing_the_backend_needs_no_library():
    code = "import agnograd_cupy, sys; assert 'cupy' not in sys.modules; agnograd_cupy.backend()"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_asking_for_it_says_what_is_missing():
    with pytest.raises(ImportError, match=r"pip install 'agnograd\[cupy\]'"):
        ag.namespace("cupy")


@pytest.fixture
def cupy():
    """Return the library; skip where it, or a device, is missing."""
    library = pytest.importorskip("cupy", reason="CuPy: pip install 'agnograd[cupy]'")
    try:
        count = library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy finds no device: {error}")
    if not count:
        pytest.skip("CuPy finds no device")
    return library


def test_gradients_stay_on_the_device(cupy):
    xp = ag.namespace("cupy")
    x = cupy.asarray([0.5, 1.0])
    gradient = ag.grad(lambda x: xp.sum(xp.sin(x) ** 2))(x)
    assert gradient.device == x.device
    np.testing.assert_allclose(gradient.get(), np.sin([1.0, 2.0]))


def test_a_graph_over_two_devices(cupy):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("CuPy finds one device")
    xp = ag.namespace("cupy")
    with cupy.cuda.Device(1):
        x = cupy.asarray([0.5, 1.0])

    def f(x):
        with cupy.cuda.Device(1):
            y = xp.sin(x) ** 2
        return xp.sum(xp.to_device(y, cupy.cuda.Device(0)))

    gradient = ag.grad(f)(x)
    assert gradient.device == x.device
    assert cupy.cuda.Device() == cupy.cuda.Device(0)
    np.testing.assert_allclose(gradient.get(), np.sin([1.0, 2.0]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_repeated_indices_and_masks_add_up(cupy, dtype):
    backend = backend_named("cupy")
    values = cupy.asarray([1.0, 2.0, 4.0], dtype=dtype)
    into = backend.scatter_add(cupy.zeros(3, dtype=dtype), cupy.asarray([0, -1, 0]), values)
    assert into.get().tolist() == [5.0, 0.0, 2.0]
    mask = cupy.asarray([[True, False], [True, True]])
    into = backend.scatter_add(cupy.ones((2, 2), dtype=dtype), mask, values)
    assert into.get().tolist() == [[2.0, 1.0], [3.0, 5.0]]


def test_work_is_done_on_the_current_stream(cupy):
    backend, stream = backend_named("cupy"), cupy.cuda.Stream(non_blocking=True)
    xp = ag.namespace("cupy")
    with stream:
        start = backend.mark()
        gradient = ag.grad(lambda x: xp.sum(x * x))(cupy.ones(1 << 20))
        stop = backend.mark()
    assert backend.elapsed(start, stop) > 0
    stream.synchronize()
    backend.synchronize(gradient)
    assert float(gradient[0]) == 2.0


SPIN = """
extern "C" __global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
}
"""


def test_no_pass_waits_for_the_device(cupy):
    """A kernel that spins for seconds still runs when all of the passes have been launched."""
    xp = ag.namespace("cupy")
    x, index = cupy.linspace(0.1, 1.0, 1000), cupy.asarray([0, 2, 2])

    def f(x):
        taken = xp.take(x, index, axis=0)
        return xp.sum(xp.exp(-x * taken[0])) + xp.sum(taken**3 + xp.where(taken > 0.5, taken, 0.0))

    def spin(cycles):
        kernel((1,), (1,), (np.int64(cycles),))

    def passes():
        ag.grad(f)(x)
        ag.hvp(f, x, x)

    kernel = cupy.RawKernel(SPIN, "spin")
    spin(1)
    passes()  # now everything is compiled, and the pool has the memory
    cupy.cuda.Device().synchronize()
    spin(10**10)
    end = cupy.cuda.Event()
    end.record()
    passes()
    assert not end.done
    end.synchronize()


def test_memory_and_the_way_to_the_host(cupy):
    backend = backend_named("cupy")
    x = cupy.ones(1000)
    assert backend.memory()["used"] >= x.nbytes
    assert backend.own(x) is x
    assert backend.own(x[1:]).base is None
    assert backend.to_host(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy=False"):
        backend.to_host(x, copy=False)
