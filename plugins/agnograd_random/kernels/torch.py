"""Draws of PyTorch's tensors: on the host they share memory with NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from agnograd.extend import Backend
from agnograd_random import standard, vectors
from agnograd_random._draws import DRAWS
from agnograd_random._exact import Arithmetic
from agnograd_random.kernels import numpy as host

__all__ = ["exp", "expit", "factor"]


class Tensors(Arithmetic):
    """PyTorch's own arithmetic, on devices and where tensors have no values."""

    def parts(self, x: Any) -> tuple[Any, Any]:
        """Return PyTorch's ``frexp``."""
        mantissa, exponent = torch.frexp(x)
        return mantissa, exponent.to(x.dtype)

    def finished(self, done: Any) -> bool:
        """Return whether all are known to be done: on a device, and in a trace, nobody looks."""
        return type(done) is torch.Tensor and done.device.type == "cpu" and bool(done.all())


def _is_on_host(x: Any) -> bool:
    """Return whether a tensor has values on the host; a trace has tensors of other classes."""
    return type(x) is torch.Tensor and x.device.type == "cpu"


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in DRAWS:
        raise AttributeError(name)

    def kernel(
        xp: Any, backend: Backend, key: Any, *args: Any, dtype: Any = None, device: Any = None
    ) -> Any:
        *given, shape = (*args, ()) if len(args) == DRAWS[name] else args
        tensors = [each for each in (key, *given) if isinstance(each, torch.Tensor)]
        if device is None and not tensors:
            device = torch.get_default_device()
        here = device is None or torch.device(device).type == "cpu"
        if not (here and all(map(_is_on_host, tensors))):
            return standard.draw(name, Tensors, xp, backend, key, given, shape, dtype, device)
        bits = standard.precision(name, dtype, given, xp)
        return torch.from_numpy(host.drawn(name, key, given, shape, bits))

    return kernel


def _elementwise(name: str, xp: Any, x: Any) -> Any:
    if not isinstance(x, torch.Tensor) or x.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    if _is_on_host(x):
        return torch.from_numpy(getattr(host, name)(x.numpy()))
    return getattr(Tensors(xp, 8 * x.dtype.itemsize), name)(x)


exp = partial(_elementwise, "exp")
expit = partial(_elementwise, "expit")


def factor(backend: Backend, x: Any) -> Any:
    """Compute ``vectors.factor`` by NumPy: on processors PyTorch rounds some roots wrongly."""
    if not _is_on_host(x):
        return NotImplemented
    try:
        array = x.numpy()
    except (RuntimeError, TypeError):  # in torch.func, with a PyTorch gradient, or of bfloat16
        return NotImplemented
    return torch.from_numpy(vectors.factor(np, backend, array))
