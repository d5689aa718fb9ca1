"""JAX's own kernels: what XLA compiles for convolutions and windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from agnograd_nn.windows import Window

__all__ = [
    "convolution",
    "convolution_input",
    "convolution_weight",
    "max_pooling",
]

Shape = tuple[int, ...]


def convolution(x: Any, weight: Any, bias: Any = None, *, window: Window, groups: int = 1) -> Any:
    """Return ``lax.conv_general_dilated``."""
    dtype = jax.numpy.result_type(x, weight)
    out = lax.conv_general_dilated(
        x.astype(dtype),
        weight.astype(dtype),
        window.stride,
        window.padding,
        rhs_dilation=window.dilation,
        feature_group_count=groups,
        precision=lax.Precision.HIGHEST,
    )
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(window.kernel))


def convolution_input(y: Any, weight: Any, *, shape: Shape, window: Window, groups: int = 1) -> Any:
    """Return the transpose of ``convolution`` in its input, which has this shape."""
    convolve = lambda x: convolution(x, weight, window=window, groups=groups)  # noqa: E731
    return _transposed(convolve, shape, y, weight)


def convolution_weight(x: Any, y: Any, *, shape: Shape, window: Window, groups: int = 1) -> Any:
    """Return the transpose of ``convolution`` in its weights, which have this shape."""
    convolve = lambda weight: convolution(x, weight, window=window, groups=groups)  # noqa: E731
    return _transposed(convolve, shape, y, x)


def _transposed(function: Callable[[Any], Any], shape: Shape, y: Any, other: Any) -> Any:
    dtype = jax.numpy.result_type(y, other)
    (out,) = jax.linear_transpose(function, jax.ShapeDtypeStruct(shape, dtype))(y.astype(dtype))
    return out


def max_pooling(x: Any, *, window: Window) -> Any:
    """Return the largest element of each window, by ``lax.reduce_window``."""
    inexact = jax.numpy.issubdtype(x.dtype, jax.numpy.inexact)
    lowest = -math.inf if inexact else jax.numpy.iinfo(x.dtype).min
    return lax.reduce_window(
        x,
        jax.numpy.asarray(lowest, dtype=x.dtype)[()],
        lax.max,
        (1, 1, *window.kernel),
        (1, 1, *window.stride),
        ((0, 0), (0, 0), *window.padding),
        window_dilation=(1, 1, *window.dilation),
    )
