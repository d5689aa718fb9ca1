"""Devices of arrays, of any library."""

from __future__ import annotations

from typing import Any

from agnograd._deferred import later

__all__ = ["device_of"]


def device_of(x: Any) -> Any:
    """Return an array's device: what array-api-compat, imported when it is first asked, says."""
    return later("array_api_compat", "device")(x)
