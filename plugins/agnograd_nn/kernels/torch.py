"""PyTorch's own kernels, without its autograd."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from agnograd.extend import Backend
from agnograd_nn import attention
from agnograd_nn import convolution as standard
from agnograd_nn.activations import HALF_CLASSES
from agnograd_nn.windows import Window, cropped

__all__ = [
    "convolution",
    "convolution_input",
    "convolution_weight",
    "log_softmax",
    "max_picking",
    "max_pooling",
    "max_unpooling",
    "scaled_dot_product_attention",
    "softmax",
]

Shape = tuple[int, ...]


def _padding(window: Window) -> list[int] | None:
    """Return the padding as PyTorch's functions take it, or None if its two ends differ."""
    if any(before != after for before, after in window.padding):
        return None
    return [before for before, _ in window.padding]


def _padded(x: Any, window: Window, value: float = 0.0) -> Any:
    """Return an array with a window's padding; PyTorch names the last axis first."""
    around = [length for pair in reversed(window.padding) for length in pair]
    return functional.pad(x, around, value=value)


def _options(window: Window, groups: int, padding: list[int] | None) -> tuple[Any, ...]:
    """Return the options of PyTorch's convolutions; no padding where the array has it already."""
    none = [0] * len(window.kernel)
    return window.stride, padding or none, window.dilation, False, none, groups


# PyTorch has no kernels for complex convolutions: these are computed by functions of the standard.


def convolution(
    xp: Any, x: Any, weight: Any, bias: Any = None, *, window: Window, groups: int = 1
) -> Any:
    """Return PyTorch's ``conv1d`` to ``conv3d``."""
    dtype = torch.result_type(x, weight)
    if dtype.is_complex:
        return standard.convolution(xp, x, weight, bias, window=window, groups=groups)
    padding = _padding(window)
    x = x if padding is not None else _padded(x, window)
    options = _options(window, groups, padding)
    return torch.ops.aten.convolution(x.to(dtype), weight.to(dtype), bias, *options)


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
    """Return what ``conv2d``'s backward pass computes for its input."""
    dtype = torch.result_type(y, weight)
    if dtype.is_complex:
        return standard.convolution_input(
            xp, backend, y, weight, shape=shape, window=window, groups=groups
        )
    padding = _padding(window)
    full = shape if padding is not None else (*shape[:2], *window.padded(shape[2:]))
    x = weight.new_empty(1, dtype=dtype).expand(full)  # of which only the shape is used
    given = y.to(dtype), x, weight.to(dtype), None, *_options(window, groups, padding)
    out, _, _ = torch.ops.aten.convolution_backward(*given, [True, False, False])
    return out if padding is not None else cropped(out, window)


def convolution_weight(
    xp: Any, x: Any, y: Any, *, shape: Shape, window: Window, groups: int = 1
) -> Any:
    """Return what ``conv2d``'s backward pass computes for its weights."""
    dtype = torch.result_type(x, y)
    if dtype.is_complex:
        return standard.convolution_weight(xp, x, y, shape=shape, window=window, groups=groups)
    padding = _padding(window)
    x = x if padding is not None else _padded(x, window)
    weight = y.new_empty(1, dtype=dtype).expand(shape)  # of which only the shape is used
    given = y.to(dtype), x.to(dtype), weight, None, *_options(window, groups, padding)
    _, out, _ = torch.ops.aten.convolution_backward(*given, [False, True, False])
    return out


_POOLS = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)


def _max_pool(x: Any, window: Window, indices: bool) -> Any:
    """Return the largest elements, and with ``indices`` their places in the padded array, too."""
    padding = None if indices else _padding(window)
    if padding is None:
        lowest = -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
        x, padding = _padded(x, window, lowest), [0] * len(window.kernel)
    pool: Any = _POOLS[len(window.kernel) - 1]
    options = {"dilation": window.dilation, "return_indices": indices}
    return pool(x, window.kernel, window.stride, padding, **options)


def max_pooling(x: Any, *, window: Window) -> Any:
    """Return PyTorch's ``max_pool1d`` to ``max_pool3d``."""
    return _max_pool(x, window, indices=False)


def max_unpooling(y: Any, x: Any, top: Any, *, window: Window) -> Any:
    """Return zeros of the shape of ``x`` with ``y`` added at the largest elements of windows."""
    places = _max_pool(x, window, indices=True)[1].flatten(2)
    full = (*x.shape[:2], *window.padded(x.shape[2:]))
    into = y.new_zeros((*x.shape[:2], math.prod(full[2:])))
    return cropped(into.scatter_add_(-1, places, y.flatten(2)).reshape(full), window)


def max_picking(values: Any, x: Any, top: Any, *, window: Window) -> Any:
    """Return the elements of ``values`` where those of ``x`` are the largest of windows."""
    places = _max_pool(x, window, indices=True)[1]
    return _padded(values, window).flatten(2).gather(-1, places.flatten(2)).reshape(places.shape)


def softmax(x: Any, *, axis: int = -1) -> torch.Tensor:
    """Return PyTorch's ``softmax``."""
    return torch.softmax(x, axis)


def log_softmax(x: Any, *, axis: int = -1) -> torch.Tensor:
    """Return PyTorch's ``log_softmax``, whose sum of many halves overflows on the CPU."""
    if x.dtype == torch.float16 and 0 not in x.shape and x.shape[axis] >= HALF_CLASSES:
        return torch.log_softmax(x, axis, dtype=torch.float32).to(x.dtype)
    return torch.log_softmax(x, axis)


def scaled_dot_product_attention(
    xp: Any,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Return PyTorch's own, which chooses among several kernels, and takes one mask."""
    if attn_mask is not None and is_causal:
        return attention.scaled_dot_product_attention(
            xp, q, k, v, attn_mask, is_causal=is_causal, scale=scale
        )
    return functional.scaled_dot_product_attention(
        q, k, v, attn_mask, is_causal=is_causal, scale=scale
    )
