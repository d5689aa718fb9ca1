"""Sums over windows, and their transpose, along one axis after the other."""

from __future__ import annotations

import operator
from typing import Any

from agnograd.extend import Backend, device_of
from agnograd_nn import ops
from agnograd_nn.members import of_one_batch
from agnograd_nn.windows import Window, combined, cropped

__all__ = ["sum_pooling", "sum_unpooling"]

Shape = tuple[int, ...]


def sum_pooling(xp: Any, x: Any, *, window: Window) -> Any:
    """Return the sum of each window."""
    return combined(x, window, operator.add, xp)


def sum_unpooling(xp: Any, backend: Backend, y: Any, *, shape: Shape, window: Window) -> Any:
    """Return zeros of ``shape`` with each element of ``y`` added all over its window."""
    full = window.padded(shape[2:])
    device = device_of(y)
    for axis, keys in enumerate(window.keys_along(y.shape[2:]), 2):
        wider = (*y.shape[:axis], full[axis - 2], *y.shape[axis + 1 :])
        into = xp.zeros(wider, dtype=y.dtype, device=device)
        for key in keys:
            into = backend.scatter_add(into, key, y)
        y = into
    return cropped(y, window)


def _sum_pooling_batch(xp: Any, size: int, x: Any, *, window: Window) -> Any:
    return of_one_batch(xp, xp.nn.sum_pooling, size, [x], window=window)


def _sum_unpooling_batch(xp: Any, size: int, y: Any, *, shape: Shape, window: Window) -> Any:
    whole = (size * shape[0], *shape[1:])
    return of_one_batch(xp, xp.nn.sum_unpooling, size, [y], shape=whole, window=window)


ops.linear(
    "nn.sum_pooling(x, /, *, window)",
    x=lambda g, x_shape, window, xp: xp.nn.sum_unpooling(g, shape=x_shape, window=window),
    forward=sum_pooling,
    batch=_sum_pooling_batch,
)
ops.linear(
    "nn.sum_unpooling(y, /, *, shape, window)",
    y=lambda g, window, xp: xp.nn.sum_pooling(g, window=window),
    forward=sum_unpooling,
    batch=_sum_unpooling_batch,
)
