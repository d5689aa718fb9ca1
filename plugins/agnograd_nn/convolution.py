"""Convolutions, and transposed ones, over any number of spatial axes.

The cross-correlation y of x and weights w is linear in each, so that its product with a third
array of y's shape is linear in all three, and the gradient by each is an op of the other two:
``convolution`` (of x and w), ``convolution_input`` (of y and w, the transposed convolution) and
``convolution_weight`` (of x and y). The rules of each are the other two, so that derivatives of
every order are these ops.

Here is how they are computed by functions of the standard: windows become the columns of a matrix
(Chellapilla, Puri and Simard, "High performance convolutional neural networks for document
processing", 2006). ``kernels`` has libraries' own ways.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any

from agnograd.extend import Backend, conjugate_if_complex, device_of
from agnograd_nn import ops
from agnograd_nn.members import merged, parted
from agnograd_nn.windows import Window, cropped, padded

__all__ = ["bias_gradient", "convolution", "convolution_input", "convolution_weight"]

Shape = tuple[int, ...]


# Reshapes that split axes, and those that join them, are two steps: Dask takes only these.


def _columns(x: Any, window: Window, groups: int, xp: Any) -> Any:
    """Return each window as a column: (batch, groups, channels * kernel, windows)."""
    counts, size = window.counts(x.shape[2:]), math.prod(window.kernel)
    batch, channels = x.shape[0], x.shape[1] // groups
    x = padded(x, window, xp)
    taps = xp.stack([x[window.key(tap, counts)] for tap in window.taps()], axis=2)
    taps = xp.reshape(taps, (batch, groups, channels, size, *counts))
    return xp.reshape(taps, (batch, groups, channels * size, math.prod(counts)))


def _rows(y: Any, groups: int, xp: Any) -> Any:
    """Return an array of a convolution's results by groups: (batch, groups, outputs, windows)."""
    batch, outputs, *counts = y.shape
    y = xp.reshape(y, (batch, groups, outputs // groups, *counts))
    return xp.reshape(y, (batch, groups, outputs // groups, math.prod(counts)))


def _by_group(weight: Any, groups: int, xp: Any) -> Any:
    """Return weights as one matrix for each group, with a row for each output channel."""
    outputs, channels, *kernel = weight.shape
    weight = xp.reshape(weight, (groups, outputs // groups, channels, *kernel))
    return xp.reshape(weight, (groups, outputs // groups, channels * math.prod(kernel)))


def convolution(
    xp: Any, x: Any, weight: Any, bias: Any = None, *, window: Window, groups: int = 1
) -> Any:
    """Return the cross-correlation of ``x`` and ``weight`` over any number of spatial axes."""
    counts = window.counts(x.shape[2:])
    out = xp.matmul(_by_group(weight, groups, xp), _columns(x, window, groups, xp))
    out = xp.reshape(out, (*out.shape[:3], *counts))
    out = xp.reshape(out, (x.shape[0], weight.shape[0], *counts))
    return out if bias is None else out + xp.reshape(bias, (-1, *(1,) * len(counts)))


def convolution_input(
    xp: Any, backend: Backend, y: Any, weight: Any, *, shape: Shape, window: Window, groups: int = 1
) -> Any:
    """Return the transpose of ``convolution`` in its input, which has this shape."""
    counts, size = y.shape[2:], math.prod(window.kernel)
    matrix = xp.matrix_transpose(_by_group(weight, groups, xp))
    taps = xp.matmul(matrix, _rows(y, groups, xp))
    taps = xp.reshape(taps, (shape[0], groups, shape[1] // groups, size, *counts))
    taps = xp.reshape(taps, (*shape[:2], size, *counts))
    full = (*shape[:2], *window.padded(shape[2:]))
    into = xp.zeros(full, dtype=taps.dtype, device=device_of(taps))
    for place, tap in enumerate(window.taps()):
        into = backend.scatter_add(into, window.key(tap, counts), taps[:, :, place, ...])
    return cropped(into, window)


def convolution_weight(
    xp: Any, x: Any, y: Any, *, shape: Shape, window: Window, groups: int = 1
) -> Any:
    """Return the transpose of ``convolution`` in its weights, which have this shape."""
    columns = xp.matrix_transpose(_columns(x, window, groups, xp))
    out = xp.sum(xp.matmul(_rows(y, groups, xp), columns), axis=0)
    out = xp.reshape(out, (groups, shape[0] // groups, *shape[1:]))
    return xp.reshape(out, shape)


def bias_gradient(g: Any, xp: Any) -> Any:
    """Sum over the batch and the spatial axes, which a bias is added along."""
    return xp.sum(g, axis=(0, *range(2, g.ndim)))


# Of many members at once. Those that share the weights lie along the axis of the batch; others
# along axes of channels, in groups of their own if both arrays differ.


def _nothing(xp: Any, shape: Shape, x1: Any, x2: Any) -> Any:
    """Return what no members are convolved to: there are no groups without channels."""
    return xp.zeros((0, *shape), dtype=xp.result_type(x1, x2), device=device_of(x1))


def _convolution_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    window: Window,
    groups: int = 1,
) -> Any:
    count, _, *lengths = x.shape["x" in mapped :]
    if not size:
        outputs = weight.shape["weight" in mapped]
        return _nothing(xp, (count, outputs, *window.counts(lengths)), x, weight)
    inside = bias if mapped == {"x"} else None  # what the convolution itself can add
    if "weight" in mapped:
        out = _by_own_weights(xp, size, "x" in mapped, x, weight, window, groups)
    elif "x" in mapped:
        out = xp.nn.convolution(merged(x, 0, xp), weight, inside, window=window, groups=groups)
        out = parted(out, 0, size, count, xp)
    else:
        out = xp.nn.convolution(x, weight, window=window, groups=groups)
    if bias is None or inside is not None:
        return out
    return out + xp.reshape(bias, (*bias.shape[:-1], 1, bias.shape[-1], *(1,) * len(lengths)))


def _by_own_weights(
    xp: Any, size: int, x_mapped: bool, x: Any, weight: Any, window: Window, groups: int
) -> Any:
    outputs = weight.shape[1]
    if not x_mapped:
        weight = merged(weight, 0, xp, groups)
        out = xp.nn.convolution(x, weight, window=window, groups=groups)
        return parted(out, 1, size, outputs, xp, groups)
    x, weight = merged(x, 1, xp), merged(weight, 0, xp)
    out = xp.nn.convolution(x, weight, window=window, groups=size * groups)
    return parted(out, 1, size, outputs, xp)


def _convolution_input_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    y: Any,
    weight: Any,
    *,
    shape: Shape,
    window: Window,
    groups: int = 1,
) -> Any:
    count, channels, *lengths = shape
    if not size:
        return _nothing(xp, shape, y, weight)
    if "weight" not in mapped:
        shape, y = (size * count, channels, *lengths), merged(y, 0, xp)
        out = xp.nn.convolution_input(y, weight, shape=shape, window=window, groups=groups)
        return parted(out, 0, size, count, xp)
    shape = (count, size * channels, *lengths)
    if "y" not in mapped:
        weight = merged(weight, 1, xp)
        out = xp.nn.convolution_input(y, weight, shape=shape, window=window, groups=groups)
        return parted(out, 1, size, channels, xp, groups)
    y, weight = merged(y, 1, xp), merged(weight, 0, xp)
    out = xp.nn.convolution_input(y, weight, shape=shape, window=window, groups=size * groups)
    return parted(out, 1, size, channels, xp)


def _convolution_weight_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    x: Any,
    y: Any,
    *,
    shape: Shape,
    window: Window,
    groups: int = 1,
) -> Any:
    outputs, channels, *kernel = shape
    if not size:
        return _nothing(xp, shape, x, y)
    if "y" not in mapped:
        shape, x = (outputs, size * channels, *kernel), merged(x, 1, xp, groups)
        out = xp.nn.convolution_weight(x, y, shape=shape, window=window, groups=groups)
        return parted(out, 1, size, channels, xp)
    shape = (size * outputs, channels, *kernel)
    if "x" not in mapped:
        y = merged(y, 1, xp, groups)
        out = xp.nn.convolution_weight(x, y, shape=shape, window=window, groups=groups)
        return parted(out, 0, size, outputs, xp, groups)
    x, y = merged(x, 1, xp), merged(y, 1, xp)
    out = xp.nn.convolution_weight(x, y, shape=shape, window=window, groups=size * groups)
    return parted(out, 0, size, outputs, xp)


ops.vjp(
    "nn.convolution(x, weight, /, bias=None, *, window, groups=1)",
    x=lambda g, weight, x_shape, window, groups, xp: xp.nn.convolution_input(
        g, conjugate_if_complex(weight, xp), shape=x_shape, window=window, groups=groups
    ),
    weight=lambda g, x, weight_shape, window, groups, xp: xp.nn.convolution_weight(
        conjugate_if_complex(x, xp), g, shape=weight_shape, window=window, groups=groups
    ),
    bias=bias_gradient,
    forward=convolution,
    contracts=True,
    batch=_convolution_batch,
)
ops.multilinear(
    "nn.convolution_input(y, weight, /, *, shape, window, groups=1)",
    y=lambda g, weight, window, groups, xp: xp.nn.convolution(
        g, conjugate_if_complex(weight, xp), window=window, groups=groups
    ),
    weight=lambda g, y, weight_shape, window, groups, xp: xp.nn.convolution_weight(
        g, conjugate_if_complex(y, xp), shape=weight_shape, window=window, groups=groups
    ),
    forward=convolution_input,
    contracts=True,
    batch=_convolution_input_batch,
)
ops.multilinear(
    "nn.convolution_weight(x, y, /, *, shape, window, groups=1)",
    x=lambda g, y, x_shape, window, groups, xp: xp.nn.convolution_input(
        conjugate_if_complex(y, xp), g, shape=x_shape, window=window, groups=groups
    ),
    y=lambda g, x, window, groups, xp: xp.nn.convolution(
        conjugate_if_complex(x, xp), g, window=window, groups=groups
    ),
    forward=convolution_weight,
    contracts=True,
    batch=_convolution_weight_batch,
)
