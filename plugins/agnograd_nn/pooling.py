"""The functions ``max_pool1d`` to ``avg_pool3d``, with PyTorch's options."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

from agnograd.extend import device_of, switch
from agnograd_nn import ops
from agnograd_nn.normalisation import single
from agnograd_nn.windows import Sizes, Window, per_axis, window_of

__all__ = ["avg_pool", "max_pool"]

Shape = tuple[int, ...]

# From how many elements of a window on a half has no exact share of them.
HALF_WINDOW = switch("HALF_WINDOW", 2**15, least=0, most=2**15, module=__name__)


def _window(
    x_shape: Shape,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil: bool,
) -> Window:
    """Return the window of a pooling; with ``ceil`` the last one may begin near the end.

    It is one more window along an axis, if it begins inside the array or its first padding.
    """
    lengths = x_shape[2:]
    kernel = per_axis(kernel_size, len(lengths), "kernel_size")
    window = window_of(kernel, kernel if stride is None else stride, padding, dilation)
    if any(2 * before > size for (before, _), size in zip(window.padding, kernel, strict=True)):
        raise ValueError(f"padding {padding!r} must be at most half of the kernel size {kernel}")
    if not ceil:
        return window
    pairs = []
    for length, (before, after), extent, step in zip(
        lengths, window.padding, window.extent, window.stride, strict=True
    ):
        windows = -(-(before + length + after - extent) // step)  # after the first one
        if windows * step >= length + before:
            windows -= 1
        pairs.append((before, max(after, windows * step + extent - length - before)))
    return replace(window, padding=tuple(pairs))


def max_pool(
    xp: Any,
    x: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    *,
    ceil_mode: bool = False,
) -> Any:
    """Return the largest element of each window, as PyTorch's max_pool does.

    Parameters
    ----------
    x : array, shape (batch, channels, *lengths)
    kernel_size : int or tuple of int
        The size of windows.
    stride : int or tuple of int, optional
        How far apart they are; by default their size.
    padding : int or tuple of int
        How many elements that are never the largest are added at both ends.
    dilation : int or tuple of int
        How far apart a window's elements are.
    ceil_mode : bool
        Whether there is one more window for elements at the end that would be left out.

    Returns
    -------
    array, shape (batch, channels, *counts)

    Raises
    ------
    ValueError
        If shapes and options do not belong together.
    """
    window = _window(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    return xp.nn.max_pooling(x, window=window)


def _max_pool_x(
    g: Any,
    x: Any,
    out: Any,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    xp: Any,
) -> Any:
    window = _window(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    return xp.nn.max_unpooling(g, x, out, window=window)


def avg_pool(
    xp: Any,
    x: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: float | None = None,
) -> Any:
    """Return the mean of each window, as PyTorch's avg_pool does.

    Parameters
    ----------
    x : array, shape (batch, channels, *lengths)
    kernel_size : int or tuple of int
        The size of windows.
    stride : int or tuple of int, optional
        How far apart they are; by default their size.
    padding : int or tuple of int
        How many zeros are added at both ends.
    ceil_mode : bool
        Whether there is one more window for elements at the end that would be left out.
    count_include_pad : bool
        Whether a mean is over the zeros of the padding, too.
    divisor_override : float, optional
        What sums are divided by, instead of how many elements they have.

    Returns
    -------
    array, shape (batch, channels, *counts)

    Raises
    ------
    ValueError
        If shapes and options do not belong together.
    """
    window = _window(x.shape, kernel_size, stride, padding, 1, ceil_mode)
    wide = _wide(x, window, xp)
    divisor = _divisor(x.shape, wide, window, padding, count_include_pad, divisor_override, xp)
    return xp.astype(xp.nn.sum_pooling(wide, window=window) / divisor, x.dtype, copy=False)


def _wide(x: Any, window: Window, xp: Any) -> Any:
    """Return an array that can hold how many elements a window has: a half holds no 65,520."""
    if math.prod(window.kernel) < HALF_WINDOW:
        return x
    return single(x, xp)


def _divisor(
    shape: Shape,
    like: Any,
    window: Window,
    padding: Sizes,
    count_include_pad: bool,
    divisor_override: float | None,
    xp: Any,
) -> Any:
    """Return what sums are divided by: a number, or an array if windows at the end are smaller."""
    if divisor_override is not None:
        return divisor_override
    counts = window.counts(shape[2:])
    around = per_axis(padding, len(counts), "padding")
    sizes = [
        [_overlap(i, size, step, length, pad, count_include_pad) for i in range(count)]
        for count, size, step, length, pad in zip(
            counts, window.kernel, window.stride, shape[2:], around, strict=True
        )
    ]
    if all(len(set(along)) == 1 for along in sizes):
        return math.prod(along[0] for along in sizes)
    values = [float(math.prod(each)) for each in itertools.product(*sizes)]
    device = device_of(like)
    return xp.reshape(xp.asarray(values, dtype=like.dtype, device=device), counts)


def _overlap(place: int, size: int, step: int, length: int, pad: int, include: bool) -> int:
    """Return how many elements a window has along an axis; what ceil_mode adds is none."""
    start = place * step - pad
    stop = min(start + size, length + pad)
    return stop - start if include else min(stop, length) - max(start, 0)


def _avg_pool_x(
    g: Any,
    x_shape: Shape,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: float | None,
    xp: Any,
) -> Any:
    window = _window(x_shape, kernel_size, stride, padding, 1, ceil_mode)
    wide = _wide(g, window, xp)
    divisor = _divisor(x_shape, wide, window, padding, count_include_pad, divisor_override, xp)
    return xp.nn.sum_unpooling(wide / divisor, shape=x_shape, window=window)


def _of_rank(rank: int, function: Any) -> Any:
    """Return a function for arrays with this many spatial axes."""

    def forward(xp: Any, x: Any, kernel_size: Sizes, *args: Any, **options: Any) -> Any:
        if x.ndim != rank + 2:
            raise ValueError(
                f"{function.__name__}{rank}d takes an array with a batch, channels and {rank} "
                f"spatial axes, not of shape {x.shape}"
            )
        return function(xp, x, kernel_size, *args, **options)

    forward.__doc__ = function.__doc__
    return forward


for _rank in (1, 2, 3):
    ops.vjp(
        f"nn.max_pool{_rank}d"
        "(x, /, kernel_size, stride=None, padding=0, dilation=1, *, ceil_mode=False)",
        x=_max_pool_x,
        forward=_of_rank(_rank, max_pool),
    )
    ops.linear(
        f"nn.avg_pool{_rank}d"
        "(x, /, kernel_size, stride=None, padding=0, *, ceil_mode=False, count_include_pad=True, "
        "divisor_override=None)",
        x=_avg_pool_x,
        forward=_of_rank(_rank, avg_pool),
    )
