"""Convolutions by columns, on libraries with strided views and writable arrays: NumPy and CuPy.

The columns of a few samples at a time are copied from a view into one buffer, and multiplied while
they are in the processor's cache: there is never a matrix of all columns, and the backward pass
makes them again instead of keeping them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

from agnograd.extend import Backend
from agnograd_nn.windows import Window, cropped

__all__ = ["convolution", "convolution_input", "convolution_weight"]

Shape = tuple[int, ...]

# Bytes of columns that are made at a time, at least those of one sample: on NumPy as many as its
# processor's cache may hold; on a device it is the number of kernels launched that counts.
_BYTES = {"numpy": 2**20, "cupy": 2**28}


def _samples(backend: Backend, batch: int, columns: int, itemsize: int) -> int:
    """Return how many samples to make columns of at a time."""
    fitting: int = _BYTES[backend.name] // max(columns * itemsize, 1)
    return min(max(fitting, 1), max(batch, 1))


def _columns(
    xp: Any, backend: Backend, x: Any, window: Window, groups: int
) -> Iterator[tuple[slice, Any]]:
    """Yield samples, and their windows as columns: (samples, groups, channels * kernel, windows).

    The next ones are written over them.
    """
    batch, channels, *lengths = x.shape
    counts, size = window.counts(lengths), math.prod(window.kernel)
    shape = (groups, channels * size // groups, math.prod(counts))
    if size == 1 and window.padded(lengths) == counts:  # each window is an element
        yield slice(None), x.reshape(batch, *shape)
        return
    step = _samples(backend, batch, channels * size * shape[-1], x.dtype.itemsize)
    full = xp.zeros((step, channels, *window.padded(lengths)), dtype=x.dtype)
    inside = cropped(full, window)
    windows = _windows(full, window, counts)
    buffer = xp.empty(windows.shape, dtype=x.dtype)
    columns = buffer.reshape(step, *shape)
    for start in range(0, batch, step):
        part = slice(start, min(start + step, batch))
        count = part.stop - start
        inside[:count] = x[part]
        buffer[:count] = windows[:count]
        yield part, columns[:count]


def _windows(x: Any, window: Window, counts: Shape) -> Any:
    """Return a view of each element of each window: (batch, channels, *kernel, *counts)."""
    library = type(x).__module__
    as_strided = importlib.import_module(f"{library}.lib.stride_tricks").as_strided
    strides = x.strides
    within = (step * dilation for step, dilation in zip(strides[2:], window.dilation, strict=True))
    between = (step * stride for step, stride in zip(strides[2:], window.stride, strict=True))
    shape = (*x.shape[:2], *window.kernel, *counts)
    return as_strided(x, shape, (*strides[:2], *within, *between))


def _by_group(weight: Any, groups: int) -> Any:
    return weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))


def convolution(
    xp: Any,
    backend: Backend,
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    window: Window,
    groups: int = 1,
) -> Any:
    """Return the cross-correlation of ``x`` and ``weight`` over any number of spatial axes."""
    counts = window.counts(x.shape[2:])
    shape = (x.shape[0], groups, weight.shape[0] // groups, math.prod(counts))
    out = xp.empty(shape, dtype=xp.result_type(x, weight))
    matrix = _by_group(weight, groups)
    for part, columns in _columns(xp, backend, x, window, groups):
        xp.matmul(matrix, columns, out=out[part])
    out = out.reshape(x.shape[0], weight.shape[0], *counts)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * len(counts))
    return out


def convolution_input(
    xp: Any,
    backend: Backend,
    y: Any,
    weight: Any,
    *,
    shape: Shape,
    window: Window,
    groups: int = 1,
) -> Any:
    """Return the transpose of ``convolution`` in its input, which has this shape."""
    counts, batch, channels = y.shape[2:], shape[0], shape[1]
    matrix = xp.matrix_transpose(_by_group(weight, groups))
    rows = y.reshape(batch, groups, y.shape[1] // groups, math.prod(counts))
    dtype = xp.result_type(y, weight)
    size = channels * math.prod(window.kernel) * math.prod(counts)
    step = _samples(backend, batch, size, dtype.itemsize)
    full = xp.zeros((batch, channels, *window.padded(shape[2:])), dtype=dtype)
    for start in range(0, batch, step):
        columns = xp.matmul(matrix, rows[start : start + step])
        taps = columns.reshape(-1, channels, *window.kernel, *counts)
        into = full[start : start + step]
        for tap in window.taps():
            into[window.key(tap, counts)] += taps[(slice(None), slice(None), *tap)]
    return cropped(full, window)


def convolution_weight(
    xp: Any,
    backend: Backend,
    x: Any,
    y: Any,
    *,
    shape: Shape,
    window: Window,
    groups: int = 1,
) -> Any:
    """Return the transpose of ``convolution`` in its weights, which have this shape."""
    batch = y.shape[0]
    rows = y.reshape(batch, groups, y.shape[1] // groups, math.prod(y.shape[2:]))
    total = xp.zeros((groups, shape[0] // groups, math.prod(shape[1:])), dtype=xp.result_type(x, y))
    for part, columns in _columns(xp, backend, x, window, groups):
        total += xp.matmul(rows[part], xp.matrix_transpose(columns)).sum(axis=0)
    return total.reshape(shape)
