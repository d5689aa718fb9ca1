"""What is special to CuPy: devices, streams, events; and what is said where there is none.

Where no device is to be had all but streams and kernels is tested on a stand-in:
``python -m pytest -p cupy_over_numpy --backend cupy``, as one test here does.
"""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import agnograd as ag
import agnograd_cupy
from agnograd._plugins.backends import backend_named
from agnograd.errors import PluginError
from on_cupy import passes_on_the_stand_in


def test_importing_the_backend_needs_no_library():
    code = "import agnograd_cupy, sys; assert 'cupy' not in sys.modules; agnograd_cupy.backend()"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_asking_for_it_says_what_is_missing():
    with pytest.raises(ImportError, match=r"pip install 'agnograd\[cupy\]'"):
        ag.namespace("cupy")


@pytest.fixture
def device(cupy):
    """Return the library; skip where it is the stand-in, which has no streams and kernels."""
    if not hasattr(cupy, "RawKernel"):
        pytest.skip("this needs a device")
    return cupy


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
@pytest.mark.slow
def test_these_and_those_of_every_backend_on_the_stand_in():
    passes_on_the_stand_in("test_cupy.py", "test_backend.py")


def test_without_a_device_the_first_use_says_what_is_missing(cupy, monkeypatch):
    def none():
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorNoDevice")

    for count, reason in ((lambda: 0, "it counts none"), (none, "cudaErrorNoDevice")):
        agnograd_cupy._check_device.cache_clear()
        monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", count)
        with pytest.raises(PluginError, match=rf"needs a GPU.*{reason}.*nvidia-smi.*'numpy'"):
            agnograd_cupy.CupyBackend().namespace()


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


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_add_up_and_wrap_around(cupy, dtype):
    backend, facts = backend_named("cupy"), np.iinfo(dtype)
    values = np.asarray([facts.max, 2, 5, facts.min], dtype=dtype)
    index = np.asarray([0, 0, 2, 2])
    expected = np.asarray([1, 2, 3], dtype=dtype)
    into = backend.scatter_add(cupy.asarray(expected), cupy.asarray(index), cupy.asarray(values))
    with np.errstate(over="ignore"):
        np.add.at(expected, index, values)
    assert into.dtype == dtype
    np.testing.assert_array_equal(into.get(), expected)
    matrix = cupy.zeros((2, 3), dtype=dtype)[:, ::2]  # not contiguous, along an axis
    backend.scatter_add_axis(matrix, cupy.asarray([0, 0]), cupy.asarray(values[1:3]) + matrix, 1)
    assert matrix.get().tolist() == [[7, 0], [7, 0]]


def test_numpys_functions_that_count(cupy):
    x = ag.Variable(cupy.asarray([3.0, 1.0, 3.0, 2.0]))
    values, inverse = np.unique(x, return_inverse=True)
    assert inverse.data.get().tolist() == [2, 0, 2, 1]
    gradient = ag.grad(lambda v: np.sum(np.unique(v, return_inverse=True)[0] ** 2))(x.data)
    assert values.data.get().tolist() == [1.0, 2.0, 3.0]
    assert gradient.get().sum() == pytest.approx(12.0)
    counts = ag.asarray(cupy.asarray([0, 2, 2]))
    assert np.bincount(counts).data.get().tolist() == [1, 0, 2]
    heights, edges = np.histogram(x.detach(), bins=2, range=(1.0, 3.0))
    assert heights.data.get().tolist() == [1, 3]
    assert edges.data.get().tolist() == [1.0, 2.0, 3.0]


def test_a_write_reaches_no_array_that_shares_the_memory(cupy):
    whole = cupy.zeros(3)
    as_strided = importlib.import_module("cupy.lib.stride_tricks").as_strided
    x = ag.Variable(as_strided(whole, (3,), whole.strides), requires_grad=False)
    x[0] = 5.0  # CuPy does not say that this array is a view
    assert whole.get().tolist() == [0.0, 0.0, 0.0]
    assert x.data.get().tolist() == [5.0, 0.0, 0.0]
    backend = backend_named("cupy")
    strided = as_strided(whole, (2,), (8,))
    assert not backend.alone(strided)
    assert backend.own(strided) is not strided
    assert not backend.alone(whole)
    del strided
    assert backend.alone(whole)
    assert backend.own(whole) is whole


def test_a_write_into_an_array_of_its_own_is_in_place(cupy):
    x = ag.Variable(cupy.zeros(3), requires_grad=False)
    before = id(x.data)
    x[0] = 5.0
    assert id(x.data) == before


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_repeated_indices_and_masks_add_up(cupy, dtype):
    backend = backend_named("cupy")
    values = cupy.asarray([1.0, 2.0, 4.0], dtype=dtype)
    into = backend.scatter_add(cupy.zeros(3, dtype=dtype), cupy.asarray([0, -1, 0]), values)
    assert into.get().tolist() == [5.0, 0.0, 2.0]
    mask = cupy.asarray([[True, False], [True, True]])
    into = backend.scatter_add(cupy.ones((2, 2), dtype=dtype), mask, values)
    assert into.get().tolist() == [[2.0, 1.0], [3.0, 5.0]]


def test_work_is_done_on_the_current_stream(device):
    cupy = device
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


def test_no_pass_waits_for_the_device(device):
    """A kernel that spins for seconds still runs when all of the passes have been launched."""
    cupy = device
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
    used = backend.memory()["used"]
    assert used >= x.nbytes or not hasattr(cupy, "RawKernel")
    assert backend.own(x) is x
    assert backend.own(x[1:]).base is None
    assert backend.to_host(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy=False"):
        backend.to_host(x, copy=False)
