"""PyTorch's settings that results depend on: the default dtype and device, and autocast."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from agnograd_torch._autocast import is_on

__all__ = ["reader"]

# A default device is a mode of the thread, and so is a `with torch.device(...)`. Where no mode is
# entered, there is none: to ask for the device itself takes 50 times as long.
_modes: Callable[[], int] = torch._C._len_torch_function_stack
_casts = torch.is_autocast_enabled


def reader(devices: tuple[str, ...]) -> Callable[[], str]:
    """Return what reads the settings; ``devices`` are the kinds of devices with autocast."""
    default_dtype = torch.get_default_dtype

    def read() -> str:
        device = torch.get_default_device() if _modes() else None
        kinds = devices if is_on() else ()
        casts = [(kind, torch.get_autocast_dtype(kind)) for kind in kinds if _casts(kind)]
        return _text(default_dtype(), device, tuple(casts))

    return read


@cache
def _text(dtype: Any, device: Any, casts: tuple[tuple[str, Any], ...]) -> str:
    parts = [f"{dtype} by default"]
    if device is not None:
        parts.append(f"on {device}")
    parts += [f"autocast to {half} on {kind}" for kind, half in casts]
    return ", ".join(parts)
