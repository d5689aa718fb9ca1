"""The CuPy backend of agnograd: NVIDIA and AMD devices, on the current device and stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from sys import getrefcount
from types import ModuleType
from typing import Any

from agnograd.errors import PluginError
from agnograd.extend import Backend, Capabilities, adjoint, hookimpl, is_basic

__all__ = ["CupyBackend", "backend"]


class CupyBackend(Backend):
    """CuPy's arrays, through the namespace of array-api-compat.

    Nothing here waits for the device but what gives a value to the host: ``item``, ``to_host``,
    ``synchronize`` and ``elapsed``.
    """

    name = "cupy"
    modules = ("cupy",)
    extra = "cupy"
    capabilities = Capabilities(devices=("cuda",))

    def namespace(self) -> ModuleType:
        """Return ``array_api_compat.cupy``; it raises if there is no device."""
        import array_api_compat.cupy as xp

        _check_device()
        return xp

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return what reads the triangle that NumPy's function reads."""
        xp = self.namespace()

        def cholesky(x: Any, /, *, upper: bool = False) -> Any:
            if not upper:
                return xp.linalg.cholesky(x)
            return adjoint(xp.linalg.cholesky(adjoint(x, xp)), xp)

        return {"linalg.cholesky": cholesky}

    def array_types(self) -> tuple[type, ...]:
        """Return ``cupy.ndarray``."""
        import cupy

        return (cupy.ndarray,)

    def dtype(self, name: str) -> Any:
        """Return a dtype without making an array, which would need a device."""
        import numpy as np

        named = getattr(self.namespace(), name, None)
        return None if named is None else np.dtype(named)

    def own(self, array: Any) -> Any:
        """Return the array, or a copy on its own device if others may share its memory."""
        if _owns(array):
            return array
        with array.device:
            return array.copy()

    def on_device(self, array: Any) -> AbstractContextManager[Any]:
        """Return the array's device, which is a context."""
        device: AbstractContextManager[Any] = array.device
        return device

    def set(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy of ``x``, on its own device, with ``value`` at ``key``."""
        with x.device:
            out = x.copy()
            out[key] = value
            return out

    def put(self, x: Any, key: Any, value: Any) -> Any:
        """Write ``value`` into ``x`` at ``key``, on its own device."""
        with x.device:
            x[key] = value
        return x

    def alone(self, x: Any) -> bool:
        """Return whether the array owns its memory: views refer to the array that does."""
        return _owns(x)

    def may_share(self, x: Any, y: Any) -> bool:
        """Return whether the memory that two arrays reach overlaps."""
        import cupy

        return bool(cupy.may_share_memory(x, y))

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        """Add in place; positions that may repeat are added by atomic operations."""
        with into.device:
            if is_basic(key):
                into[key] += values
            elif str(getattr(key, "dtype", "")) == "bool":
                _add_at_mask(into, key, values)
            else:
                _add_at(into, key, values)
        return into

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Add in place by atomic operations."""
        with into.device:
            _add_at(into, (slice(None),) * (axis % into.ndim) + (indices,), values)
        return into

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a copy on the host; it waits for the device."""
        if copy is False:
            raise ValueError("an array on a CUDA device needs a copy to the host, but copy=False")
        host = array.get()
        return host if dtype is None else host.astype(dtype, copy=False)

    def sparse(
        self, values: Any, rows: Any, columns: Any, starts: Any, shape: tuple[int, int]
    ) -> Any:
        """Return a CSR matrix of CuPy, or NotImplemented for dtypes that these do not have."""
        from cupyx.scipy.sparse import csr_matrix

        if values.dtype.char not in "fdFD":
            return NotImplemented
        return csr_matrix((values, columns, starts), shape=shape)

    def synchronize(self, array: Any = None) -> None:
        """Wait for all streams of the array's device, or of the current one."""
        import cupy

        device = cupy.cuda.Device() if array is None else array.device
        device.synchronize()

    def mark(self) -> Any:
        """Return a CUDA event, recorded on the current stream."""
        import cupy

        event = cupy.cuda.Event()
        event.record()
        return event

    def elapsed(self, start: Any, stop: Any) -> float:
        """Return the seconds between two events; it waits for the second one."""
        import cupy

        stop.synchronize()
        milliseconds: float = cupy.cuda.get_elapsed_time(start, stop)
        return milliseconds / 1000

    def memory(self) -> dict[str, int]:
        """Return what CuPy's memory pool, and the current device, hold."""
        import cupy

        pool = cupy.get_default_memory_pool()
        free, total = cupy.cuda.Device().mem_info
        return {
            "used": pool.used_bytes(),
            "pool": pool.total_bytes(),
            "free": free,
            "device": total,
        }


@cache
def _check_device() -> None:
    """Raise if CuPy finds no device to compute on."""
    from cupy.cuda import runtime

    try:
        count, reason = runtime.getDeviceCount(), "it counts none"
    except runtime.CUDARuntimeError as error:
        count, reason = 0, str(error)
    if not count:
        raise PluginError(
            f"backend 'cupy' needs a GPU, and CuPy finds none ({reason}): see whether `nvidia-smi` "
            "(for AMD, `rocm-smi`) lists one, whether its driver is as new as CuPy's CUDA, "
            "and what CUDA_VISIBLE_DEVICES says; or use another backend, such as "
            "ag.namespace('numpy')"
        )


@cache
def _own_memory() -> tuple[type, ...]:
    """Return the types of memory that CuPy has allocated, each block for one array.

    Other memory belongs to who shares it: DLPack's, that of ``__cuda_array_interface__`` (and of
    allocators that are built on it), and the host's.
    """
    from cupy.cuda import memory

    names = ("PooledMemory", "Memory", "MemoryAsync", "ManagedMemory")
    return tuple(getattr(memory, name) for name in names)


def _owns(x: Any) -> bool:
    """Return whether an array has CuPy memory to itself, and views of it refer to it.

    Views by strides, and arrays that are made over a pointer, refer only to the memory.
    """
    if x.base is not None:
        return False
    pointer = x.data
    memory = pointer.mem
    # Three: the name here, what holds it, and the argument of getrefcount.
    alone = getrefcount(pointer) == 3 and getrefcount(memory) == 3
    return alone and isinstance(memory, _own_memory())


# The dtypes that atomic operations add, in every version of CuPy, on every device; and in which
# others are added. Sums of integers that overflow are the same in a wider dtype, cut to the narrow
# one, and with or without a sign.
_ADDED = frozenset({"int32", "uint32", "uint64", "float32", "float64"})
_ADDED_AS = {"float16": "float32", "int8": "int32", "int16": "int32"}
_ADDED_AS |= {"uint8": "uint32", "uint16": "uint32", "bool": "uint32"}


def _add_at(into: Any, key: Any, values: Any) -> None:
    """Add by ``cupy.add.at``, which knows few dtypes: part by part, or in another one."""
    import cupy

    name = into.dtype.name
    if name in _ADDED:
        cupy.add.at(into, key, values)
    elif into.dtype.kind == "c":
        cupy.add.at(into.real, key, values.real)
        cupy.add.at(into.imag, key, values.imag)
    elif name == "int64":
        cupy.add.at(into.view("uint64"), key, values.astype("int64").view("uint64"))
    else:
        wide = into.astype(_ADDED_AS[name])
        cupy.add.at(wide, key, values.astype(wide.dtype))
        into[...] = wide


def _add_at_mask(into: Any, mask: Any, values: Any) -> None:
    """Add each value at its rank in the mask; CuPy's own would ask the device for their number."""
    import cupy

    if values.size == 0:
        return
    rank = cupy.cumsum(mask.reshape(-1)).reshape(mask.shape) - 1
    spread = cupy.take(values, cupy.maximum(rank, 0), axis=0)
    into += cupy.where(mask.reshape(mask.shape + (1,) * (into.ndim - mask.ndim)), spread, 0)


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return CupyBackend()
