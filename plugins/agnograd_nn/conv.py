"""The functions ``conv1d`` to ``conv_transpose3d``, with PyTorch's options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agnograd.extend import conjugate_if_complex
from agnograd_nn import ops
from agnograd_nn.convolution import bias_gradient
from agnograd_nn.windows import Sizes, Window, cropped, padded, per_axis, window_of

__all__ = ["conv", "conv_transpose"]

Shape = tuple[int, ...]


def conv(
    xp: Any,
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    """Return the cross-correlation of ``x`` and ``weight``, plus ``bias``, as PyTorch's conv does.

    Parameters
    ----------
    x : array, shape (batch, channels, *lengths)
    weight : array, shape (outputs, channels / groups, *kernel)
    bias : array, shape (outputs,), optional
    stride : int or tuple of int
        How far apart windows are.
    dilation : int or tuple of int
        How far apart the elements of a window are.
    padding : int, tuple of int, "same" or "valid"
        How many zeros are added at both ends of each spatial axis; ``"same"`` keeps their lengths.
    groups : int
        In how many groups the channels are, each with outputs of its own.

    Returns
    -------
    array, shape (batch, outputs, *counts)

    Raises
    ------
    ValueError
        If shapes and options do not belong together.
    """
    window = window_of(weight.shape[2:], stride, padding, dilation)
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ValueError(
            f"weights of shape {weight.shape} in {groups} groups do not belong to an array of "
            f"shape {x.shape}: they are (outputs, channels / groups, *kernel), and the array is "
            "(batch, channels, *lengths)"
        )
    window.counts(x.shape[2:])  # an error if there is no window
    return xp.nn.convolution(x, weight, bias, window=window, groups=groups)


def conv_transpose(
    xp: Any,
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Any:
    """Return the transposed convolution of ``x``, plus ``bias``, as PyTorch's conv_transpose does.

    It is the gradient of the convolution with these options by its input (Dumoulin and Visin, "A
    guide to convolution arithmetic for deep learning", 2016, section 4).

    Parameters
    ----------
    x : array, shape (batch, channels, *lengths)
    weight : array, shape (channels, outputs / groups, *kernel)
    bias : array, shape (outputs,), optional
    stride, padding, dilation, groups
        The options of that convolution.
    output_padding : int or tuple of int
        How much longer the result is than the shortest one that the convolution takes to ``x``;
        less than the larger of stride and dilation.

    Returns
    -------
    array, shape (batch, outputs, *lengths)

    Raises
    ------
    ValueError
        If shapes and options do not belong together.
    """
    window, extra, beyond = _reaching(weight.shape, stride, padding, output_padding, dilation)
    if x.shape[1] != weight.shape[0] or x.shape[1] % groups:
        raise ValueError(
            f"weights of shape {weight.shape} in {groups} groups do not belong to an array of "
            f"shape {x.shape}: they are (channels, outputs / groups, *kernel), and the array is "
            "(batch, channels, *lengths)"
        )
    lengths = tuple(
        (count - 1) * step - before - after + extent + more
        for count, step, (before, after), extent, more in zip(
            x.shape[2:], window.stride, window.padding, window.extent, extra, strict=True
        )
    )
    if min(lengths) < 1:
        raise ValueError(f"padding {padding!r} leaves nothing: the lengths would be {lengths}")
    shape = (x.shape[0], weight.shape[1] * groups, *lengths)
    out = xp.nn.convolution_input(x, weight, shape=shape, window=window, groups=groups)
    out = padded(out, beyond, xp)
    return out if bias is None else out + xp.reshape(bias, (-1, *(1,) * len(lengths)))


def _reaching(
    weight_shape: Shape, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes
) -> tuple[Window, Shape, Window]:
    """Return the window of a transposed convolution, and how its result is prolonged.

    Of an output padding below the stride the convolution makes nothing else. A longer one would be
    one more window to it: it takes the place of the padding after the elements, and beyond that it
    is zeros, which a second window adds.
    """
    window = window_of(weight_shape[2:], stride, padding, dilation)
    more = per_axis(output_padding, len(window.kernel), "output_padding")
    most = tuple(map(max, window.stride, window.dilation))
    if any(not 0 <= each < limit for each, limit in zip(more, most, strict=True)):
        raise ValueError(
            f"output_padding {more} must be less than the stride or the dilation, {most}"
        )
    long = [each >= step for each, step in zip(more, window.stride, strict=True)]
    rest = [each if apart else 0 for each, apart in zip(more, long, strict=True)]
    around = list(zip(window.padding, rest, strict=True))
    inner = tuple((before, max(after - each, 0)) for (before, after), each in around)
    outer = tuple((0, max(each - after, 0)) for (_, after), each in around)
    extra = tuple(0 if apart else each for each, apart in zip(more, long, strict=True))
    return replace(window, padding=inner), extra, replace(window, padding=outer)


def _of_rank(rank: int, function: Any) -> Any:
    """Return a function for arrays with this many spatial axes, which get one dtype."""

    def forward(xp: Any, x: Any, weight: Any, bias: Any = None, **options: Any) -> Any:
        if x.ndim != rank + 2 or weight.ndim != rank + 2 or (bias is not None and bias.ndim != 1):
            raise ValueError(
                f"{function.__name__}{rank}d takes an array and weights with {rank + 2} axes, and "
                f"a bias with one: not shapes {x.shape}, {weight.shape}"
                f"{'' if bias is None else f' and {bias.shape}'}"
            )
        arrays = [x, weight] if bias is None else [x, weight, bias]
        dtype = xp.result_type(*arrays)
        arrays = [xp.astype(each, dtype, copy=False) for each in arrays]
        return function(xp, *arrays, **options)

    forward.__doc__ = function.__doc__
    return forward


def _conv_x(
    g: Any,
    weight: Any,
    x_shape: Shape,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
    xp: Any,
) -> Any:
    window = window_of(weight.shape[2:], stride, padding, dilation)
    weight = conjugate_if_complex(weight, xp)
    return xp.nn.convolution_input(g, weight, shape=x_shape, window=window, groups=groups)


def _conv_weight(
    g: Any,
    x: Any,
    weight_shape: Shape,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
    xp: Any,
) -> Any:
    window = window_of(weight_shape[2:], stride, padding, dilation)
    x = conjugate_if_complex(x, xp)
    return xp.nn.convolution_weight(x, g, shape=weight_shape, window=window, groups=groups)


def _transpose_x(
    g: Any,
    weight: Any,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    dilation: Sizes,
    groups: int,
    xp: Any,
) -> Any:
    window, _, beyond = _reaching(weight.shape, stride, padding, output_padding, dilation)
    g = cropped(g, beyond)
    return xp.nn.convolution(g, conjugate_if_complex(weight, xp), window=window, groups=groups)


def _transpose_weight(
    g: Any,
    x: Any,
    weight_shape: Shape,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    dilation: Sizes,
    groups: int,
    xp: Any,
) -> Any:
    window, _, beyond = _reaching(weight_shape, stride, padding, output_padding, dilation)
    x, g = conjugate_if_complex(x, xp), cropped(g, beyond)
    return xp.nn.convolution_weight(g, x, shape=weight_shape, window=window, groups=groups)


for _rank in (1, 2, 3):
    ops.vjp(
        f"nn.conv{_rank}d(x, weight, /, bias=None, *, stride=1, padding=0, dilation=1, groups=1)",
        x=_conv_x,
        weight=_conv_weight,
        bias=bias_gradient,
        forward=_of_rank(_rank, conv),
        contracts=True,
    )
    ops.vjp(
        f"nn.conv_transpose{_rank}d"
        "(x, weight, /, bias=None, *, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
        x=_transpose_x,
        weight=_transpose_weight,
        bias=bias_gradient,
        forward=_of_rank(_rank, conv_transpose),
        contracts=True,
    )
