"""Convolutions by columns, on libraries with strided views and writable arrays: NumPy and CuPy.

The columns of a few samples at a time are copied from a view into one buffer, and multiplied: there
is never a matrix of all columns, and the backward pass makes them again instead of keeping them.
Samples share a product of matrices, since threads wait for each other at the end of each product.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

from agnograd.extend import Backend, switch
from agnograd_nn.windows import Window, cropped

__all__ = ["convolution", "convolution_input", "convolution_weight"]

Shape = tuple[int, ...]

# Bytes of columns that are made at a time, at least those of one sample. More make fewer products,
# and more traffic between the processor and its memory; on a device the launches count.
HOST_COLUMNS = switch("HOST_COLUMNS", 2**24, least=1, most=2**62, module=__name__)
DEVICE_COLUMNS = switch("DEVICE_COLUMNS", 2**28, least=1, most=2**62, module=__name__)
_BYTES = {"numpy": HOST_COLUMNS, "cupy": DEVICE_COLUMNS}


def _parts(backend: Backend, batch: int, columns: int, itemsize: int) -> Iterator[slice]:
    """Yield the samples whose columns are made together, of so many elements each."""
    step = max(_BYTES[backend.name] // max(columns * itemsize, 1), 1)
    for start in range(0, batch, step):
        yield slice(start, min(start + step, batch))


def _columns(
    xp: Any, backend: Backend, x: Any, window: Window, groups: int
) -> Iterator[tuple[slice, Any]]:
    """Yield samples, and their windows as columns: (groups, channels * kernel, samples * windows).

    The next ones are written over them.
    """
    batch, channels, *lengths = x.shape
    counts = window.counts(lengths)
    rows = channels * math.prod(window.kernel)
    each = rows * math.prod(counts)
    full: Any = None
    buffer: Any = None
    for part in _parts(backend, batch, each, x.dtype.itemsize):
        count = part.stop - part.start
        if full is None:  # the first part is the longest one
            full = xp.zeros((count, channels, *window.padded(lengths)), dtype=x.dtype)
            buffer = xp.empty((count * each,), dtype=x.dtype)
        cropped(full, window)[:count] = x[part]
        columns = buffer[: count * each]
        taps = columns.reshape(channels, *window.kernel, count, *counts)
        taps[...] = _windows(full[:count], window, counts)
        yield part, columns.reshape(groups, rows // groups, -1)


def _windows(x: Any, window: Window, counts: Shape) -> Any:
    """Return a view of each element of each window: (channels, *kernel, batch, *counts)."""
    library = type(x).__module__
    as_strided = importlib.import_module(f"{library}.lib.stride_tricks").as_strided
    sample, channel, *strides = x.strides
    within = (step * dilation for step, dilation in zip(strides, window.dilation, strict=True))
    between = (step * stride for step, stride in zip(strides, window.stride, strict=True))
    shape = (x.shape[1], *window.kernel, x.shape[0], *counts)
    return as_strided(x, shape, (channel, *within, sample, *between))


def _rows(y: Any, groups: int) -> Any:
    """Return results of some samples by channels: (groups, outputs, samples * windows)."""
    return y.swapaxes(0, 1).reshape(groups, y.shape[1] // groups, -1)


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
    counts, outputs = window.counts(x.shape[2:]), weight.shape[0]
    out = xp.empty((x.shape[0], outputs, *counts), dtype=xp.result_type(x, weight))
    matrix = _by_group(weight, groups)
    for part, columns in _columns(xp, backend, x, window, groups):
        product = xp.matmul(matrix, columns).reshape(outputs, -1, *counts)
        out[part] = product.swapaxes(0, 1)
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
    counts, channels = y.shape[2:], shape[1]
    matrix = xp.matrix_transpose(_by_group(weight, groups))
    dtype = xp.result_type(y, weight)
    each = channels * math.prod(window.kernel) * math.prod(counts)
    full = xp.zeros((*shape[:2], *window.padded(shape[2:])), dtype=dtype)
    for part in _parts(backend, shape[0], each, dtype.itemsize):
        columns = xp.matmul(matrix, _rows(y[part], groups))
        taps = columns.reshape(channels, *window.kernel, -1, *counts)
        for tap in window.taps():
            into = full[part][window.key(tap, counts)]
            into += taps[(slice(None), *tap)].swapaxes(0, 1)
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
    wide = (groups, shape[0] // groups, math.prod(shape[1:]))
    total = xp.zeros(wide, dtype=xp.result_type(x, y))
    for part, columns in _columns(xp, backend, x, window, groups):
        total += xp.matmul(_rows(y[part], groups), xp.matrix_transpose(columns))
    return total.reshape(shape)
