"""Filters of ``scipy.ndimage``: correlations of arrays that go on beyond their ends.

Weights are differentiable where they are arrays, and so is the width of a Gaussian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnograd.extend import device_of
from agnograd_scipy import ndimage
from agnograd_scipy._arrays import composed, inexact, real_like
from agnograd_scipy.boundaries import extended, modes_of

__all__ = ["correlate", "correlate1d"]

Mode = str | Sequence[str]
Whole = int | Sequence[int]


def correlate(
    xp: Any, input: Any, weights: Any, mode: Mode = "reflect", cval: float = 0.0, origin: Whole = 0
) -> Any:
    """Return the correlation of an array with weights, ``scipy.ndimage.correlate``.

    Parameters
    ----------
    input, weights : array
        Of the same number of axes.
    mode : str or sequence of str
        What the array has beyond its ends: "reflect", "mirror", "nearest", "wrap" or "constant",
        for each axis or for all.
    cval : float
        The constant.
    origin : int or sequence of int
        How far the weights' centre lies beside their middle.

    Returns
    -------
    array
        Of the shape of ``input``, of floating-point or complex dtype.
    """
    input, weights = inexact(xp, input, weights)
    if input.ndim != weights.ndim or 0 in weights.shape:
        raise ValueError(
            f"weights have as many axes as the array, and elements: shapes {weights.shape} and "
            f"{input.shape}"
        )
    if 0 in input.shape:
        return input
    modes = modes_of(mode, input.ndim)
    for axis, shift in enumerate(_each(origin, input.ndim)):
        size = weights.shape[axis]
        before = size // 2 + shift
        if not 0 <= before < size:
            raise ValueError(f"origin {shift} puts the centre beside the {size} weights")
        if size > 1:
            input = extended(input, axis, before, size - 1 - before, modes[axis], cval, xp)
    return xp.signal.convolve(input, xp.flip(weights), mode="valid", method="direct")


def convolve(
    xp: Any, input: Any, weights: Any, mode: Mode = "reflect", cval: float = 0.0, origin: Whole = 0
) -> Any:
    """Return the convolution of an array with weights, ``scipy.ndimage.convolve``.

    It is the correlation with reversed weights, whose options it has.
    """
    weights = xp.asarray(weights)
    origins = [
        -shift - (1 - size % 2)
        for shift, size in zip(_each(origin, weights.ndim), weights.shape, strict=True)
    ]
    return correlate(xp, input, xp.flip(weights), mode, cval, origins)


def correlate1d(
    xp: Any,
    input: Any,
    weights: Any,
    axis: int = -1,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """Return the correlation along an axis, ``scipy.ndimage.correlate1d``.

    ``weights`` is an array of shape (size,); see ``correlate``.
    """
    return _along(correlate, xp, input, weights, axis, mode, cval, origin)


def convolve1d(
    xp: Any,
    input: Any,
    weights: Any,
    axis: int = -1,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """Return the convolution along an axis, ``scipy.ndimage.convolve1d``.

    ``weights`` is an array of shape (size,); see ``convolve``.
    """
    return _along(convolve, xp, input, weights, axis, mode, cval, origin)


def gaussian_filter1d(
    xp: Any,
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    mode: str = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """Return an array after a Gaussian filter along an axis, ``scipy.ndimage.gaussian_filter1d``.

    Parameters
    ----------
    input : array
        The array.
    sigma : float or 0-d array
        The standard deviation, in elements. It has a gradient if it is an array; the radius has
        none, and is then better given.
    axis : int
        The axis.
    order : int
        How often the Gaussian is differentiated.
    mode, cval
        What the array has beyond its ends; see ``correlate``.
    truncate : float
        The radius in standard deviations.
    radius : int, optional
        The number of weights at both sides of the middle.

    Returns
    -------
    array
        Of the shape of ``input``, of floating-point or complex dtype.
    """
    if order < 0:
        raise ValueError(f"order must not be negative: {order}")
    (input,) = inexact(xp, input)
    if radius is None:
        radius = int(truncate * (sigma.item() if hasattr(sigma, "item") else sigma) + 0.5)
    (sigma,) = real_like(xp, input, sigma)
    device = device_of(input)
    x = xp.arange(-radius, radius + 1, dtype=sigma.dtype, device=device)
    gaussian = xp.exp(-0.5 * (x / sigma) ** 2)
    gaussian = gaussian / xp.sum(gaussian)
    # Derivatives are Hermite polynomials times the Gaussian: each by the two before it.
    before, factor = x * 0, x * 0 + 1
    for k in range(order):
        before, factor = factor, -(x * factor + k * before) / sigma**2
    weights = xp.flip(gaussian * factor)
    return correlate1d(xp, input, weights, axis, mode, cval)


def gaussian_filter(
    xp: Any,
    input: Any,
    sigma: Any,
    order: Whole = 0,
    mode: Mode = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: Whole | None = None,
) -> Any:
    """Return an array after a Gaussian filter along all axes, ``scipy.ndimage.gaussian_filter``.

    Parameters are those of ``gaussian_filter1d``; each may be a sequence, with one for each axis.
    Axes whose ``sigma`` is the number 0 stay as they are.
    """
    (input,) = inexact(xp, input)
    rank = input.ndim
    options = zip(
        _each(sigma, rank),
        _each(order, rank),
        modes_of(mode, rank),
        _each(radius, rank),
        strict=True,
    )
    for axis, (width, degree, at_ends, reach) in enumerate(options):
        if hasattr(width, "shape") or width > 1e-15:
            input = gaussian_filter1d(
                xp, input, width, axis, degree, at_ends, cval, truncate, radius=reach
            )
    return input


def uniform_filter1d(
    xp: Any,
    input: Any,
    size: int,
    axis: int = -1,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """Return the mean of ``size`` elements along an axis, ``scipy.ndimage.uniform_filter1d``.

    See ``correlate`` for the options.
    """
    return correlate1d(xp, input, [1 / size] * size, axis, mode, cval, origin)


def uniform_filter(
    xp: Any,
    input: Any,
    size: Whole = 3,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: Whole = 0,
) -> Any:
    """Return the mean of ``size`` elements along all axes, ``scipy.ndimage.uniform_filter``.

    Parameters are those of ``uniform_filter1d``; each may be a sequence, with one for each axis.
    """
    (input,) = inexact(xp, input)
    rank = input.ndim
    options = zip(_each(size, rank), modes_of(mode, rank), _each(origin, rank), strict=True)
    for axis, (length, at_ends, shift) in enumerate(options):
        input = uniform_filter1d(xp, input, length, axis, at_ends, cval, shift)
    return input


def _along(
    function: Callable[..., Any],
    xp: Any,
    input: Any,
    weights: Any,
    axis: int,
    mode: str,
    cval: float,
    origin: int,
) -> Any:
    """Call a function of all axes with weights along one."""
    input, weights = inexact(xp, input, weights)
    if weights.ndim != 1:
        raise ValueError(f"weights have one axis, not shape {weights.shape}")
    shape, origins = [1] * input.ndim, [0] * input.ndim
    shape[axis], origins[axis] = -1, origin
    return function(xp, input, xp.reshape(weights, tuple(shape)), mode, cval, origins)


def _each(value: Any, rank: int) -> list[Any]:
    """Return an option for each axis, of one for all or a sequence of them."""
    if not isinstance(value, list | tuple):
        return [value] * rank
    if len(value) != rank:
        raise ValueError(f"there are {rank} axes, and {len(value)} values of an option: {value}")
    return list(value)


composed(ndimage, correlate, convolve, correlate1d, convolve1d)
composed(ndimage, gaussian_filter1d, gaussian_filter, uniform_filter1d, uniform_filter)
