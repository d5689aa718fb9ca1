"""Ops as functions that PyTorch differentiates, transforms, and compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from agnograd_engines import Calling, Engine, Primitive
from agnograd_torch import TorchBackend, _custom
from agnograd_torch._autocast import in_full
from agnograd_torch._functions import functions
from agnograd_torch._tangents import dual, is_forward_mode

__all__ = ["TorchEngine", "engine"]


class TorchEngine(Engine):
    """Ops become ``torch.autograd.Function``s, and custom ops where ``torch.compile`` traces."""

    backend = "torch"

    def function(self, primitive: Primitive) -> Calling:
        """Return what applies one of the op's functions."""
        plain, transformed = functions(primitive)
        one = primitive.op.outputs == "one"
        transforms = torch._C._are_functorch_transforms_active
        recording, tensor = torch.is_grad_enabled, torch.Tensor

        def call(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
            for x in arrays:
                if type(x) is not tensor:
                    for each in arrays:
                        if isinstance(each, tensor):
                            arrays = primitive.operands(arrays)
                            break
                    else:
                        return primitive.rebuilt(primitive.compute(arrays, options))
                    break
            if transforms():
                if is_forward_mode(primitive.op.name):
                    return dual(transformed, primitive, arrays, options)
                found = transformed.apply(options, *arrays)
            elif recording() or forward_ad._current_level >= 0:
                found = plain.apply(options, *arrays)
            else:  # as in most passes, where rules call functions
                return primitive.rebuilt(primitive.compute(arrays, options))
            return found if one else primitive.rebuilt(found)

        return in_full(call)

    def program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the program, without autocast."""
        return in_full(function)

    tracing = staticmethod(torch.compiler.is_compiling)
    traced = staticmethod(_custom.call)

    def asarray(self, raw: Callable[..., Any]) -> Callable[..., Any]:
        """Return what leaves tensors in PyTorch's graph: its own ``asarray`` may not."""

        def asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
            if isinstance(x, torch.Tensor):
                return x.to(device=device or x.device, dtype=dtype or x.dtype, copy=bool(copy))
            return raw(x, dtype=dtype, device=device, copy=copy)

        return asarray

    def constant(self, value: Any) -> torch.Tensor:
        """Return a tensor that shares the memory of NumPy's array if it can."""
        tensor: torch.Tensor = TorchBackend().constant(value)
        return tensor


engine = TorchEngine()
