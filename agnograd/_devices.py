"""Devices of arrays, of any library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd._deferred import later

__all__ = ["device_of", "told"]


# What gives the device of arrays of a type whose backend tells it: ``Backend.device``.
told: dict[type, Callable[[Any], Any]] = {}


def device_of(x: Any) -> Any:
    """Return an array's device, from its backend or from array-api-compat.

    The latter is imported when it is first needed.
    """
    known = told.get(type(x))
    return later("array_api_compat", "device")(x) if known is None else known(x)
