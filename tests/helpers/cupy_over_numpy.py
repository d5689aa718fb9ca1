"""A stand-in for CuPy, over NumPy: what runs on it mixes no array of the host with the device's.

It has the names and the parameters that CuPy has (``cupy_names.txt``). As there, an array that is
not its own is no operand, results without axes are arrays, elements are views, ufuncs take few
options and warn of nothing, views by strides refer to the memory alone, and atomic operations know
few dtypes: those of all versions. It is stricter in one thing: no function but ``array`` and
``asarray`` takes an array of NumPy's. The only way to the host is ``get``, and ``waits`` counts how
often something goes it.

As a plugin of pytest it takes the place of CuPy: ``python -m pytest -p cupy_over_numpy --backend
cupy``; the conformance suite then counts, too.
"""

import importlib
import importlib.machinery
import inspect
import sys
import time
from contextlib import contextmanager
from types import ModuleType

import numpy as np

import cupy_names

waits = 0
DROPPED = {"row_stack": "vstack"}  # names that later versions of NumPy lack, and CuPy has
ATOMIC = ("int32", "uint32", "uint64", "float16", "float32", "float64")


class PooledMemory:
    """Memory that is CuPy's own."""

    __slots__ = ("__weakref__",)


class UnownedMemory:
    """Memory of another library's."""


class MemoryPointer:
    """What an array has of its memory."""

    __slots__ = ("mem", "ptr")

    def __init__(self, mem, ptr):
        self.mem, self.ptr = mem, ptr


class _Pool:
    """What CuPy's pool holds: nothing is known of it."""

    used_bytes = total_bytes = staticmethod(lambda: 0)


class Device:
    """The only device; entering it changes nothing."""

    mem_info = (2**30, 2**31)

    def __init__(self, device=None):
        self.id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __eq__(self, other):
        return isinstance(other, Device)

    __hash__ = None

    def __repr__(self):
        return "<CUDA Device 0>"

    def __int__(self):
        return 0

    def synchronize(self):
        """Wait for nothing."""

    def use(self):
        """Change nothing."""


class Stream:
    """The only stream."""

    ptr = 0


class Event:
    """A time of the host's clock."""

    done = True

    def record(self, stream=None):
        """Take the time."""
        self.time = time.perf_counter()

    def synchronize(self):
        """Wait for nothing."""


def host_of(value):
    """Return a value with NumPy's array in the place of each of the stand-in."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, tuple | list):
        return type(value)(map(host_of, value))
    return value


def device_of(value, *given):
    """Return a result of NumPy's with an array of the stand-in in the place of each of NumPy's."""
    if isinstance(value, np.ndarray | np.generic):
        return ndarray._of(np.asarray(value), given)
    if isinstance(value, tuple | list):
        made = [device_of(each, *given) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def _signature(parameters):
    scope = {}
    exec(f"def function{parameters.replace('=', '=None')}: ...", scope)
    return inspect.signature(scope["function"])


def function(name, parameters, compute):
    """Return a function that takes what CuPy's takes, and computes by NumPy's."""
    signature = _signature(parameters)

    def call(*args, **kwargs):
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}{signature}: {error}") from error
        with np.errstate(all="ignore"):
            out = compute(*host_of(args), **{key: host_of(each) for key, each in kwargs.items()})
        return kwargs["out"] if kwargs.get("out") is not None else device_of(out, *args)

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__signature__ = signature
    return call


class ufunc:  # noqa: N801 - as CuPy calls it
    """One of CuPy's ufuncs."""

    def __init__(self, name, nin, nout, compute):
        self.__name__, self.nin, self.nout, self._compute = name, nin, nout, compute

    def __call__(self, *args, **kwargs):
        if set(kwargs) - {"out", "dtype", "casting"}:
            raise TypeError(f"Wrong arguments {kwargs}")
        if not self.nin <= len(args) <= self.nin + self.nout:
            raise TypeError(f"Wrong number of arguments for {self.__name__}")
        for each in args:
            if not isinstance(each, ndarray | bool | int | float | complex | np.generic):
                raise TypeError(f"Unsupported type {type(each)}")
        with np.errstate(all="ignore"):
            out = self._compute(*host_of(args), **{k: host_of(each) for k, each in kwargs.items()})
        return kwargs["out"] if kwargs.get("out") is not None else device_of(out, *args)

    def at(self, a, indices, b=None):
        """Compute in place; positions may repeat."""
        assert self.__name__ == "add"
        if a.dtype.name not in ATOMIC:
            raise TypeError(f"cupy.add.at only supports {', '.join(ATOMIC)} as data type")
        np.add.at(a._host, host_of(indices), host_of(b))

    def __repr__(self):
        return f"<ufunc 'cupy_{self.__name__}'>"


class ndarray:  # noqa: N801 - as CuPy calls it
    """An array of the device."""

    __slots__ = ("__weakref__", "_host", "base", "data")
    __module__ = "cupy"
    __hash__ = None
    __array_priority__ = 100
    device = Device()

    @classmethod
    def _of(cls, host, given=()):
        """Wrap an array; it is a view of the given one that it shares memory with."""
        self = object.__new__(cls)
        self._host, self.base = host, None
        if host.base is not None:
            for each in given:
                if isinstance(each, ndarray) and np.may_share_memory(each._host, host):
                    self.base = each if each.base is None else each.base
        memory = PooledMemory() if self.base is None else self.base.data.mem
        self.data = MemoryPointer(memory, host.__array_interface__["data"][0])
        return self

    def get(self, stream=None, order="C", out=None, blocking=True):
        """Return a copy on the host; it waits."""
        global waits
        waits += 1
        return self._host.copy()

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, by, method, *inputs, **kwargs):
        own = getattr(sys.modules["cupy"], by.__name__, None)
        if method != "__call__" or own is None:
            return NotImplemented
        return own(*inputs, **kwargs)

    def __array_function__(self, by, types, args, kwargs):
        module = sys.modules["cupy" + by.__module__.removeprefix("numpy")]
        own = getattr(module, by.__name__, None)
        if own is None or not all(issubclass(kind, ndarray | np.ndarray) for kind in types):
            return NotImplemented
        return own(*args, **kwargs)

    def __getitem__(self, key):
        key = host_of(key)
        keys = key if isinstance(key, tuple) else (key,)
        if all(isinstance(each, int | np.integer) for each in keys):
            key = (*keys, ...)  # an element is a view, too
        return device_of(self._host[key], self)

    def __setitem__(self, key, value):
        self._host[host_of(key)] = host_of(value)

    def __len__(self):
        return len(self._host)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return repr(self.get())

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        raise BufferError("the memory is the device's")

    def __copy__(self):
        return device_of(self._host.copy())

    def __deepcopy__(self, memo):
        return device_of(self._host.copy())

    def __reduce__(self):
        return _array, (self.get(),)


def _array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    if isinstance(obj, ndarray) and not copy and dtype in (None, obj._host.dtype) and not ndmin:
        return obj
    given = obj if isinstance(obj, np.ndarray) else host_of(obj)
    return device_of(np.array(given, dtype=dtype, order=order or "K", ndmin=ndmin))


def _asarray(a, dtype=None, order=None, *, blocking=False):
    return _array(a, dtype, copy=False, order=order)


def _as_strided(x, shape=None, strides=None):
    made = ndarray._of(np.lib.stride_tricks.as_strided(x._host, shape, strides))
    made.data = x.data  # and no array is its base
    return made


def _to_host(convert):
    return lambda self, *args: convert(self.get(), *args)


def _operators():
    """Give arrays Python's operators; another library's array that has its own has its turn."""
    import operator

    names = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift lt le gt ge eq ne"
    for name in names.split():
        compute = getattr(operator, f"__{name}__")
        swapped = f"__r{name}__"

        def forward(self, other, compute=compute):
            return _operate(compute, self, other)

        def reflected(self, other, compute=compute):
            return _operate(compute, other, self)

        def in_place(self, other, compute=getattr(operator, f"__i{name}__", compute)):  # noqa: B008
            with np.errstate(all="ignore"):
                compute(self._host, host_of(other))
            return self

        setattr(ndarray, f"__{name}__", forward)
        if hasattr(np.ndarray, swapped):
            setattr(ndarray, swapped, reflected)
            setattr(ndarray, f"__i{name}__", in_place)
    for name in ("neg", "pos", "abs", "invert"):
        compute = getattr(operator, f"__{name}__")
        setattr(ndarray, f"__{name}__", lambda self, f=compute: device_of(f(self._host)))
    for kind in (bool, int, float, complex):
        setattr(ndarray, f"__{kind.__name__}__", _to_host(kind))


def _operate(compute, left, right):
    for each in (left, right):
        if not isinstance(each, ndarray | bool | int | float | complex | np.generic):
            if isinstance(each, np.ndarray):
                raise TypeError(f"Unsupported type {type(each)}")
            return NotImplemented
    with np.errstate(all="ignore"):
        return device_of(compute(host_of(left), host_of(right)), left, right)


def _reshape(self, shape):
    self._host.shape = shape


def _methods(name, what):
    """Give arrays a method, or an attribute, of NumPy's."""
    if name in vars(ndarray) or name.startswith("__"):
        return
    if name == "shape":
        found = property(lambda self: self._host.shape, _reshape)
    elif what == "value":
        found = property(lambda self: device_of(getattr(self._host, name), self))
    elif name in ("item", "tolist", "tobytes"):
        found = _to_host(getattr(np.ndarray, name))
    else:
        found = function(f"ndarray.{name}", what, getattr(np.ndarray, name))
    setattr(ndarray, name, found)


def _module(name):
    module = sys.modules.get(name)
    if module is None:
        module = sys.modules[name] = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(_module(parent), last, module)
    return module


def _polygamma(n, x):
    for each in (n, x):
        if not isinstance(each, ndarray):
            raise ValueError("CuPy broadcasts arrays only")
    return device_of(importlib.import_module("scipy.special").polygamma(n._host, x._host))


def _complex(compute):
    """Return a function whose results are complex, where NumPy's are real if they can be."""

    def call(a):
        found = compute(a)
        if isinstance(found, tuple):
            return type(found)(*(each.astype(np.result_type(each, np.complex64)) for each in found))
        return found.astype(np.result_type(found, np.complex64))

    return call


OWN = {
    "cupyx.scipy.special.polygamma": _polygamma,
    "cupy.array": _array,
    "cupy.asarray": _asarray,
    "cupy.get_default_memory_pool": lambda: _Pool,
    "cupy.lib.stride_tricks.as_strided": _as_strided,
    "cupy.ndarray": ndarray,
    "cupy.cuda.Device": Device,
    "cupy.cuda.device.Device": Device,
    "cupy.cuda.Event": Event,
    "cupy.cuda.get_current_stream": lambda device_id=-1: Stream,
    "cupy.cuda.get_elapsed_time": lambda start, stop: 1000.0 * (stop.time - start.time),
    "cupy.cuda.memory.PooledMemory": PooledMemory,
    "cupy.cuda.runtime.CUDARuntimeError": RuntimeError,
    "cupy.cuda.runtime.getDeviceCount": lambda: 1,
}


def install():
    """Be the modules ``cupy`` and ``cupyx``."""
    for path in ("cupy", "cupyx.scipy", "cupy.cuda.memory", "cupy.cuda.runtime"):
        _module(path)
    _operators()
    for path, what in cupy_names.listed().items():
        place, _, name = path.rpartition(".")
        if place == "cupy.ndarray":
            _methods(name, what)
        elif place in cupy_names.MODULES:
            setattr(_module(place), name, OWN.get(path) or _made(path, name, what))
        elif path in OWN or place == "cupy.cuda.memory":
            setattr(_module(place), name, OWN.get(path) or type(name, (), {}))
    sys.modules["cupy"].__version__ = "14.0.stand-in"


def _made(path, name, what):
    place = path.rpartition(".")[0]
    theirs = getattr(importlib.import_module(cupy_names.MODULES[place]), DROPPED.get(name, name))
    if what in ("type", "value"):
        return theirs
    if what.startswith("ufunc "):
        return ufunc(name, *map(int, what.split()[1:]), theirs)
    if path in ("cupy.linalg.eig", "cupy.linalg.eigvals"):
        theirs = _complex(theirs)
    return function(path, what, theirs)


@contextmanager
def counting(_backend=None):
    """Count the ways to the host."""
    start = waits
    yield lambda: waits - start


def pytest_configure(config):
    """Let the conformance suite count."""
    from agnograd_cupy import CupyBackend

    CupyBackend.counting_waits = counting


install()
