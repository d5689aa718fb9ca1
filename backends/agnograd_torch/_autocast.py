"""Functions under PyTorch's autocast, which would compute parts of a rule in half precision.

As PyTorch has it for functions that need more digits (``torch.amp.custom_fwd``), they run without
autocast, on arrays of single precision in place of half precision.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

import torch

__all__ = ["in_full", "is_on", "widened"]

_HALF = (torch.float16, torch.bfloat16)
is_on = torch._C._is_any_autocast_enabled


def in_full(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is not subject to autocast, nor are its arguments in half precision.

    Without autocast the arguments stay what they are.
    """

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not is_on():
            return function(*args, **kwargs)
        devices = {"cpu"}
        args, kwargs = _widened(args, devices), _widened(kwargs, devices)
        with ExitStack() as stack:
            for device in devices:
                stack.enter_context(torch.autocast(device, enabled=False))
            return function(*args, **kwargs)

    return called


def widened(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor of half precision in single precision if there is autocast on its device."""
    return x.float() if x.dtype in _HALF and torch.is_autocast_enabled(x.device.type) else x


def _widened(value: Any, devices: set[str]) -> Any:
    """Return a value with tensors of single precision; add the kinds of their devices to a set."""
    if isinstance(value, torch.Tensor):
        devices.add(value.device.type)
        return widened(value)
    if isinstance(value, dict):
        return {name: _widened(each, devices) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_widened(each, devices) for each in value)
    return value
