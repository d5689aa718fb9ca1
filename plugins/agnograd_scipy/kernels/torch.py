"""SciPy's functions on tensors that lie on the CPU; on other devices functions of the standard."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from agnograd_scipy.kernels import numpy as kernels

__all__: list[str] = []


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in kernels.__all__:
        raise AttributeError(name)
    return partial(_on_cpu, getattr(kernels, name))


def _on_cpu(function: Callable[..., Any], *args: torch.Tensor, **options: Any) -> Any:
    """Call a function with the memory of tensors."""
    if any(not isinstance(arg, torch.Tensor) or arg.device.type != "cpu" for arg in args):
        return NotImplemented
    out = function(*(arg.numpy(force=True) for arg in args), **options)
    return out if out is NotImplemented else torch.from_numpy(out)
