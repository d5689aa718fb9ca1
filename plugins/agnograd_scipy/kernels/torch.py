"""SciPy's functions on tensors that lie on the CPU; on other devices functions of the standard."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from agnograd_scipy.kernels import numpy as kernels

__all__ = ["on_cpu"]


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in kernels.__all__:
        raise AttributeError(name)
    return partial(on_cpu, getattr(kernels, name))


def on_cpu(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function with the memory of tensors."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    if any(tensor.device.type != "cpu" for tensor in tensors):
        return NotImplemented
    host = [arg.numpy(force=True) if isinstance(arg, torch.Tensor) else arg for arg in args]
    out = function(*host, **options)
    if out is NotImplemented:
        return out
    # SciPy may return elements in reverse order, which tensors cannot have.
    return torch.from_numpy(out.copy() if min(out.strides, default=0) < 0 else np.asarray(out))
