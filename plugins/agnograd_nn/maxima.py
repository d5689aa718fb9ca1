"""The largest elements of windows, and the transposes of finding them.

Of equal largest elements of a window the first one counts, in row-major order, as in PyTorch, and
NaN counts as the largest. Windows are gone through along one axis after the other, and the places
of the largest elements are not kept: the rule finds them again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Set
from typing import Any

from agnograd.extend import Backend, device_of, in_full
from agnograd_nn import ops
from agnograd_nn.members import folded, unfolded
from agnograd_nn.windows import Window, cropped, padded

__all__ = ["max_picking", "max_pooling", "max_unpooling"]


def _lowest(x: Any, xp: Any) -> float:
    if xp.isdtype(x.dtype, "real floating"):
        return -math.inf
    lowest: float = xp.iinfo(x.dtype).min
    return lowest


def max_pooling(xp: Any, x: Any, *, window: Window) -> Any:
    """Return the largest element of each window."""
    counts = window.counts(x.shape[2:])
    x = padded(x, window, xp, _lowest(x, xp))
    for keys in window.keys_along(counts):
        x = functools.reduce(xp.maximum, (x[key] for key in keys))
    return x


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
    out = xp.nn.max_pooling(folded(x, xp), window=window)
    return unfolded(out, size, x.shape[1], xp)


def _folded_in_full(xp: Any, size: int, mapped: Set[str], **arrays: Any) -> list[Any]:
    return [
        folded(each if name in mapped else in_full(xp, size, each), xp)
        for name, each in arrays.items()
    ]


def _max_unpooling_batch(
    xp: Any, size: int, mapped: Set[str], y: Any, x: Any, top: Any, *, window: Window
) -> Any:
    whole = _folded_in_full(xp, size, mapped, y=y, x=x, top=top)
    out = xp.nn.max_unpooling(*whole, window=window)
    return unfolded(out, size, x.shape["x" in mapped], xp)


def _max_picking_batch(
    xp: Any, size: int, mapped: Set[str], values: Any, x: Any, top: Any, *, window: Window
) -> Any:
    whole = _folded_in_full(xp, size, mapped, values=values, x=x, top=top)
    out = xp.nn.max_picking(*whole, window=window)
    return unfolded(out, size, x.shape["x" in mapped], xp)


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
