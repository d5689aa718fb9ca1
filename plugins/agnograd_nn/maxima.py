"""The largest elements of windows, and the transposes of finding them.

Of equal largest elements of a window the first one counts, in row-major order, as in PyTorch, and
NaN counts as the largest. Windows are gone through along one axis after the other, and the places
of the largest elements are not kept: the rule finds them again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Set
from typing import Any

from agnograd.extend import Backend, device_of
from agnograd_nn import ops
from agnograd_nn.members import all_mapped, of_one_batch
from agnograd_nn.windows import Window, combined, cropped, padded

__all__ = ["max_picking", "max_pooling", "max_unpooling"]


def _lowest(x: Any, xp: Any) -> float:
    if xp.isdtype(x.dtype, "real floating"):
        return -math.inf
    lowest: float = xp.iinfo(x.dtype).min
    return lowest


def max_pooling(xp: Any, x: Any, *, window: Window) -> Any:
    """Return the largest element of each window."""
    return combined(x, window, xp.maximum, xp, _lowest(x, xp))


def _first_largest(x: Any, top: Any, window: Window, xp: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the key of each element of windows, and where it is the first of the largest."""
    x = padded(x, window, xp, _lowest(x, xp))
    left: Any = True  # the windows of which none is found yet
    for tap in window.taps():
        key = window.key(tap, top.shape[2:])
        part = x[key]
        here = xp.logical_or(part == top, part != part)  # NaN differs from itself
        here = here if left is True else xp.logical_and(here, left)
        left = xp.logical_not(here) if left is True else xp.logical_xor(left, here)
        yield key, here


def max_unpooling(xp: Any, backend: Backend, y: Any, x: Any, top: Any, *, window: Window) -> Any:
    """Return zeros of the shape of ``x`` with ``y`` added at the largest elements of windows."""
    full = (*x.shape[:2], *window.padded(x.shape[2:]))
    into = xp.zeros(full, dtype=y.dtype, device=device_of(y))
    for key, here in _first_largest(x, top, window, xp):
        into = backend.scatter_add(into, key, xp.where(here, y, 0.0))
    return cropped(into, window)


def max_picking(xp: Any, values: Any, x: Any, top: Any, *, window: Window) -> Any:
    """Return the elements of ``values`` where those of ``x`` are the largest of windows."""
    values = padded(values, window, xp)
    out = xp.zeros(top.shape, dtype=values.dtype, device=device_of(values))
    for key, here in _first_largest(x, top, window, xp):
        out = xp.where(here, values[key], out)
    return out


def _max_pooling_batch(xp: Any, size: int, x: Any, *, window: Window) -> Any:
    return of_one_batch(xp, xp.nn.max_pooling, size, [x], window=window)


def _max_unpooling_batch(
    xp: Any, size: int, mapped: Set[str], y: Any, x: Any, top: Any, *, window: Window
) -> Any:
    arrays = all_mapped(xp, size, mapped, y=y, x=x, top=top)
    return of_one_batch(xp, xp.nn.max_unpooling, size, arrays, window=window)


def _max_picking_batch(
    xp: Any, size: int, mapped: Set[str], values: Any, x: Any, top: Any, *, window: Window
) -> Any:
    arrays = all_mapped(xp, size, mapped, values=values, x=x, top=top)
    return of_one_batch(xp, xp.nn.max_picking, size, arrays, window=window)


ops.vjp(
    "nn.max_pooling(x, /, *, window)",
    x=lambda g, x, out, window, xp: xp.nn.max_unpooling(g, x, out, window=window),
    forward=max_pooling,
    batch=_max_pooling_batch,
)
ops.linear(
    "nn.max_unpooling(y, x, top, /, *, window)",
    y=lambda g, x, top, window, xp: xp.nn.max_picking(g, x, top, window=window),
    forward=max_unpooling,
    batch=_max_unpooling_batch,
)
ops.linear(
    "nn.max_picking(values, x, top, /, *, window)",
    values=lambda g, x, top, window, xp: xp.nn.max_unpooling(g, x, top, window=window),
    forward=max_picking,
    batch=_max_picking_batch,
)
