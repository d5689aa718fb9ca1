"""The PyTorch backend of agnograd: tensors on any device, without PyTorch's own autograd."""

from __future__ import annotations

import contextlib
import operator
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agnograd.errors import LostGradientError
from agnograd.extend import (
    Backend,
    Bridge,
    Capabilities,
    hookimpl,
    is_basic,
    is_plain_numpy,
    switch,
)
from agnograd_torch._indices import (
    as_key,
    forward_steps,
    has_backward_steps,
    index_kernels,
    positions,
)
from agnograd_torch._operators import standard_operator

if TYPE_CHECKING:
    import torch

__all__ = ["TorchBackend", "backend"]

# From how many elements on tensors leave the caches between one op and the next.
LARGE_TENSOR = switch("LARGE_TENSOR", 2**17, least=1, most=2**62, module=__name__)
# So many elements PyTorch shares with no other thread.
THREAD_ELEMENTS = switch("THREAD_ELEMENTS", 2**15, least=2**6, most=2**62, module=__name__)


class TorchBackend(Backend):
    """PyTorch's tensors, through the namespace of array-api-compat.

    Tensors that require a PyTorch gradient are refused: two engines would each hold a part of
    the graph, and a gradient would be lost between them.
    """

    name = "torch"
    modules = ("torch",)
    extra = "torch"
    capabilities = Capabilities(devices=("cpu", "cuda"))
    large = LARGE_TENSOR

    def namespace(self) -> ModuleType:
        """Return ``array_api_compat.torch``."""
        import array_api_compat.torch as xp
        import torch

        # As NumPy's backend does, so that glibc keeps freed memory for arrays to come: programs
        # have more of these than PyTorch's own passes. It is the most that glibc heeds.
        torch.empty(2**25 - 2**13, dtype=torch.uint8, device="cpu")
        return xp

    def settings(self) -> Callable[[], str]:
        """Return what reads the default dtype and device, and autocast, which are the thread's."""
        from agnograd_torch._settings import reader

        return reader(self.capabilities.devices)

    def array_types(self) -> tuple[type, ...]:
        """Return ``torch.Tensor``."""
        import torch

        return (torch.Tensor,)

    def array(self, value: Any) -> Any:
        """Return a tensor as it is; one that requires a PyTorch gradient raises."""
        if value.requires_grad:
            raise LostGradientError(
                "a tensor that requires a gradient of PyTorch's cannot be differentiated by "
                "agnograd, too: pass x.detach() to ag.Variable, or as a constant to an op"
            )
        return value

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return linear algebra beyond the standard, or checked, and functions of indices.

        That ``~`` has to be of integers or booleans is a TypeError of PyTorch's operator, not of
        its function.
        """
        from agnograd_torch._linalg import KERNELS

        kernels = {**KERNELS, **index_kernels(self.namespace())}
        return {**kernels, "bitwise_invert": operator.invert}

    def pullbacks(self) -> Mapping[str, Mapping[str, Callable[..., Any]]]:
        """Return the derivative of the hyperbolic tangent, in one tensor.

        PyTorch's own kernel for it takes the output, which is 1 where the derivative is not 0.
        """
        import torch

        def tanh(g: Any, x: Any) -> Any:
            if x.is_complex():
                return NotImplemented
            return torch.cosh(x).reciprocal_().square_().mul_(g)

        return {"tanh": {"x": tanh}}

    def accepts(self, value: object) -> bool:
        """Return whether the operand is NumPy's, which PyTorch's operators take."""
        return is_plain_numpy(value)

    def constant(self, value: Any, beside: Any = None) -> Any:
        """Return a tensor on the host; read-only memory and negative strides are not shared."""
        import torch

        shared = value.flags.writeable and min(value.strides, default=0) >= 0
        return torch.asarray(value if shared else value.copy())

    def own(self, array: Any) -> torch.Tensor:
        """Return the tensor, or a copy if it is a view or was imported.

        PyTorch does not tell which tensors share memory that ``detach`` gave: no rule calls it.
        """
        tensor: torch.Tensor = self.array(array)
        storage = tensor.untyped_storage()
        whole = storage.nbytes() == tensor.nbytes and storage.resizable()
        return tensor if whole and not tensor._is_view() else tensor.clone()

    def operator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return an operator whose operands are promoted as the standard has it.

        PyTorch's own leave 0-d tensors out of it, and refuse slices with negative steps.
        """
        return standard_operator(function, self.namespace())

    def reflected(self) -> Mapping[str, Callable[..., Any]]:
        """Return what PyTorch makes of a number divided by a tensor: a product."""
        return {"truediv": lambda x1, x2, xp: xp.multiply(xp.reciprocal(x2), x1)}

    def may_share(self, x: Any, y: Any) -> bool:
        """Return whether two tensors are of one storage."""
        import torch

        if not x.layout == y.layout == torch.strided:
            return True
        try:
            one: int = x.untyped_storage().data_ptr()
            return one == y.untyped_storage().data_ptr() and one != 0
        except RuntimeError:  # a transformation's tensor has none of its own
            return True

    def strides(self, x: Any) -> tuple[int, ...] | None:
        """Return PyTorch's strides in bytes; sparse tensors have none."""
        import torch

        if x.layout is not torch.strided:
            return None
        return tuple(each * x.itemsize for each in x.stride())

    def fingerprint(self, x: Any) -> Any:
        """Return PyTorch's count of the writes to a tensor, which tensors for inference lack."""
        return None if x.is_inference() else x._version

    def has_zeros(self, x: Any) -> bool | None:
        """Count those of a host's tensor; None where a transformation of PyTorch's runs."""
        import torch

        if not x.is_cpu or torch.compiler.is_compiling():
            return None
        try:
            return bool(torch.count_nonzero(x).item() != x.numel())
        except RuntimeError:  # vmap has no values to give
            return None

    def has_nan(self, x: Any) -> bool:
        """Look at the sum: opposite infinities make it NaN, too."""
        total = x.sum().item()
        return bool(total != total)

    def counter(self) -> Callable[[Any], int]:
        """Return PyTorch's own function."""
        import torch

        count: Callable[[Any], int] = torch.Tensor.numel
        return count

    @property
    def block(self) -> int:
        """Of how many elements blocks are: PyTorch shares fewer with no other thread."""
        import torch

        threads = torch.get_num_threads()
        return super().block if threads == 1 else threads * THREAD_ELEMENTS

    def flat(self, x: Any) -> Any:
        """Return a view of a host's tensor that is contiguous, or of which all elements are one."""
        import torch

        if not x.is_cpu or x.layout is not torch.strided:
            return None
        value = self.uniform(x)
        if value is not None:
            return value.expand(x.numel())
        return x.view(-1) if x.is_contiguous() else None

    def uniform(self, x: Any) -> Any:
        """Return the one element of a tensor whose strides are 0."""
        import torch

        if x.layout is not torch.strided or any(x.stride()):
            return None
        return x[(0,) * x.ndim]

    def set(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy of ``x`` with ``value`` at ``key``."""
        return self.put(x.clone(), key, value)

    def put(self, x: Any, key: Any, value: Any) -> Any:
        """Write ``value`` into ``x`` at ``key``; steps may be negative.

        PyTorch casts what it writes to slices, but refuses to for masks and index arrays.
        """
        if is_basic(key):
            key, turned = forward_steps(key, x.shape)
            if turned and getattr(value, "shape", ()):
                value = value.broadcast_to(x[key].shape).flip(turned)
            x[key] = value
        else:
            key = as_key(key)
            value = value.to(x.dtype) if hasattr(value, "dtype") else value
            if has_backward_steps(key):
                places = positions(x, key)
                x.put_(places, self.namespace().asarray(value, dtype=x.dtype).expand(places.shape))
            else:
                x[key] = value
        return x

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        """Add in place: to a view, by ``index_add_``, or by ``index_put_``."""
        import torch

        if is_basic(key):
            key, turned = forward_steps(key, into.shape)
            part = into[key]
            part += values.flip(turned) if turned else values
            return into
        if not into.numel():
            return into
        key = as_key(key)
        parts = key if isinstance(key, tuple) else (key,)
        if not into.ndim or any(_is_no_index(part) for part in parts):
            every = positions(into, key)
            flat = into.reshape(-1)
            values = values.broadcast_to(every.shape).reshape(-1)
            return flat.index_add_(0, every.reshape(-1), values).reshape(into.shape)
        indices = tuple(torch.as_tensor(part, device=into.device) for part in parts)
        if len(indices) > 1 or indices[0].dtype == torch.bool:
            return into.index_put_(indices, values, accumulate=True)
        index = indices[0].reshape(-1)
        return self.scatter_add_axis(into, index, values.reshape(-1, *into.shape[1:]), 0)

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Add in place by ``index_add_``."""
        import torch

        indices = indices.to(torch.int64)  # a narrow dtype may not hold the sum
        indices = torch.where(indices < 0, indices + into.shape[axis], indices)
        return into.index_add_(axis, indices, values)

    def from_dlpack(self, x: Any, **options: Any) -> Any:
        """Return a tensor; what has negative strides is copied: PyTorch would end the process."""
        import numpy as np

        # Not all arrays tell their strides, and NumPy's view of what is on the host does.
        with contextlib.suppress(AttributeError, BufferError, RuntimeError, TypeError):
            x = np.from_dlpack(x)
        strides = getattr(x, "strides", ())
        if isinstance(strides, tuple) and min(strides, default=0) < 0:
            x = x.copy()
        return self.namespace().from_dlpack(x, **options)

    def item(self, array: Any) -> Any:
        """Return PyTorch's own conversion to a Python scalar."""
        return array.item()

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a NumPy array; it shares the tensor's memory on the host."""
        import numpy as np

        if copy is False and array.device.type != "cpu":
            raise ValueError(f"a tensor on {array.device} needs a copy to the host: copy=False")
        return np.asarray(array.numpy(force=True), dtype=dtype, copy=copy)

    def sparse(
        self, values: Any, rows: Any, columns: Any, starts: Any, shape: tuple[int, int]
    ) -> Any:
        """Return a sparse CSR tensor, of which PyTorch says once that it is in beta state."""
        import torch

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
            return torch.sparse_csr_tensor(
                starts.clone(), columns.clone(), values, size=shape, check_invariants=False
            )

    def bridge(self) -> Bridge:
        """Return the bridge to PyTorch's own derivatives."""
        from agnograd_torch._bridge import TorchBridge

        return TorchBridge()

    def synchronize(self, array: Any = None) -> None:
        """Wait for the tensor's CUDA device, or for the current one."""
        import torch

        if array is None and torch.cuda.is_initialized():
            torch.cuda.synchronize()
        elif array is not None and array.is_cuda:
            torch.cuda.synchronize(array.device)

    def mark(self) -> Any:
        """Return a CUDA event on the current stream where CUDA is used, else the host's clock."""
        import torch

        if not torch.cuda.is_initialized():
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def elapsed(self, start: Any, stop: Any) -> float:
        """Return the seconds between two marks; it waits for the second one of two events."""
        if isinstance(start, float):
            return super().elapsed(start, stop)
        stop.synchronize()
        milliseconds: float = start.elapsed_time(stop)
        return milliseconds / 1000

    def memory(self) -> dict[str, int]:
        """Return what PyTorch's allocator holds on the current CUDA device."""
        import torch

        if not torch.cuda.is_initialized():
            return {}
        return {
            "allocated": torch.cuda.memory_allocated(),
            "peak": torch.cuda.max_memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
        }

    @contextlib.contextmanager
    def conformance(self) -> Iterator[None]:
        """Leave out what PyTorch says, once in a process, of copies that it makes."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.searchsorted.*non-contiguous", UserWarning)
            yield


def _is_no_index(part: Any) -> bool:
    """Return whether ``index_put_`` does not take a part of a key: slices and 0-d masks."""
    if isinstance(part, bool | slice | type(...) | None):
        return True
    return str(getattr(part, "dtype", "")) == "torch.bool" and not part.ndim


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return TorchBackend()
