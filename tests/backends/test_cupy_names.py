"""CuPy's wheel, which imports without a device: what the stand-in for it says of it is true.

The conformance suite and the tests run on the stand-in, which has the names of ``cupy_names.txt``
and refuses calls that do not fit: so what agnograd asks of CuPy is there. Arrays over an address
can be made here, and looked at; nothing can be computed.
"""

import importlib
import warnings

import numpy as np
import pytest

import agnograd as ag
import agnograd_cupy
import cupy_names
from agnograd.errors import PluginError

cupy = pytest.importorskip(
    "cupy", reason="CuPy's wheel is not installed: pip install 'agnograd[cupy]'"
)
if not hasattr(cupy, "RawKernel"):
    pytest.skip("this is the stand-in, not CuPy", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # that NCCL is missing
    nccl = importlib.import_module("cupy.cuda.nccl")
try:
    DEVICES = cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    DEVICES = 0


def array(shape=(4,), dtype="float32"):
    """Return an array over memory that nobody reads."""
    memory = cupy.cuda.UnownedMemory(1 << 20, 4096, None, 0)
    return cupy.ndarray(shape, dtype=dtype, memptr=cupy.cuda.MemoryPointer(memory, 0))


@pytest.mark.skipif(
    cupy.__version__ != cupy_names.version(),
    reason=f"the list is of CuPy {cupy_names.version()}, and this is {cupy.__version__}",
)
def test_the_list_of_names_and_parameters_is_true():
    listed, found = cupy_names.listed(), cupy_names.found()
    assert len(found) > 500
    assert found == listed, "write it again: python tests/helpers/cupy_names.py"


@pytest.mark.skipif(
    not nccl.available, reason="NCCL is not installed: pip install nvidia-nccl-cu13"
)
def test_so_is_that_of_nccl():
    assert cupy_names.of_nccl(nccl) == cupy_names.NCCL
    types = {"FLOAT16", "FLOAT32", "FLOAT64", "INT32", "INT64", "SUM"}
    assert {f"NCCL_{each}" for each in types} <= {*dir(nccl)}
    assert issubclass(nccl.NcclError, RuntimeError)


@pytest.mark.skipif(DEVICES > 0, reason="there is a device")
def test_without_a_device_the_first_use_says_what_is_missing():
    with pytest.raises(PluginError, match=r"needs a GPU, and CuPy finds none \(.*\): see whether"):
        ag.namespace("cupy")


def test_memory_of_others_is_not_its_own(monkeypatch):
    x = array()
    assert x.base is None
    assert x.flags.owndata  # CuPy says so, and it is not true
    assert not agnograd_cupy._owns(x)
    assert not agnograd_cupy.CupyBackend().alone(x)
    # If memory of this kind were CuPy's own:
    monkeypatch.setattr(agnograd_cupy, "_own_memory", lambda: (cupy.cuda.UnownedMemory,))
    assert agnograd_cupy._owns(x)
    assert not agnograd_cupy._owns(x[1:])
    strided = cupy.lib.stride_tricks.as_strided(x, (2,), (8,))
    assert strided.base is None
    assert not agnograd_cupy._owns(strided)
    assert not agnograd_cupy._owns(x)
    del strided
    assert agnograd_cupy._owns(x)
    other = cupy.ndarray((2,), dtype="float32", memptr=x.data + 8)
    assert not agnograd_cupy._owns(x)
    assert not agnograd_cupy._owns(other)


def test_memory_that_cupy_allocates_is_its_own():
    from cupy._core import dlpack

    memory = cupy.cuda.memory
    own = agnograd_cupy._own_memory()
    assert memory.PooledMemory in own
    for kind in (memory.UnownedMemory, memory.SystemMemory, dlpack.DLPackMemory):
        assert not issubclass(kind, own)


@pytest.mark.skipif(DEVICES > 0, reason="a device would compute at an address that is not its own")
@pytest.mark.parametrize("dtype", sorted(agnograd_cupy._ADDED))
def test_atomic_operations_add_what_the_backend_gives_them(dtype):
    index = array((2,), "int64")
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):  # after types have been looked at
        cupy.add.at(array((3,), dtype), index, array((2,), dtype))
    for other in ("int8", "uint16", "complex64"):
        with pytest.raises(TypeError, match="only supports"):
            cupy.add.at(array((3,), other), index, array((2,), other))


def test_operators_leave_variables_their_turn():
    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs):
            return ufunc.__name__, method

    assert array() * Other() == ("multiply", "__call__")
    assert array() @ Other() == ("matmul", "__call__")
    assert (array() < Other()) == ("less", "__call__")


def test_numpy_is_refused_implicitly():
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(array())
    with pytest.raises(TypeError):
        [0, 1][array((), "int64")]
    assert not hasattr(array(), "__index__")


def test_views_and_devices_are_what_the_backend_takes_them_for():
    x = array((2, 3), "int64")
    assert x[0].base is x
    assert x[0, 0].base is x  # an element is a view, too
    assert x.reshape(6).base is x
    assert x[:, ::2].view("uint64").dtype == np.uint64
    assert hasattr(x.device, "__enter__")
