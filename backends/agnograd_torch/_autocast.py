"""Functions under PyTorch's autocast, which would compute parts of a rule in half precision.

As PyTorch has it for functions that need more digits (``torch.amp.custom_fwd``), they run without
autocast, on arrays of single precision in place of half precision.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

import optree
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
        given: Any = (args, kwargs)
        leaves, structure = optree.tree_flatten(given, none_is_leaf=True)
        tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
        devices = {"cpu", *(x.device.type for x in tensors)}
        wide = [widened(x) if isinstance(x, torch.Tensor) else x for x in leaves]
        given = optree.tree_unflatten(structure, wide)
        with ExitStack() as stack:
            for device in devices:
                stack.enter_context(torch.autocast(device, enabled=False))
            return function(*given[0], **given[1])

    return called


def widened(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor of half precision in single precision if there is autocast on its device."""
    return x.float() if x.dtype in _HALF and torch.is_autocast_enabled(x.device.type) else x
