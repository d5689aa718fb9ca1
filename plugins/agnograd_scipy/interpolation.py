"""Interpolation of arrays on a grid by splines, as ``scipy.ndimage`` has it.

A value is the sum of B-splines around its place, times their coefficients: it is linear in the
array, and a piecewise polynomial of the coordinates, so that both have gradients (Unser, "Splines:
a perfect fit for signal and image processing", 1999). Orders 0 and 1 are the nearest element, whose
derivative by the coordinates is 0, and linear interpolation. At its knots a spline of order n has
n - 1 derivatives; one more is that of the piece to the right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnograd.extend import device_of
from agnograd_scipy import ndimage
from agnograd_scipy._arrays import composed, inexact, real_like, weighted
from agnograd_scipy.boundaries import extended, inside, wrapped
from agnograd_scipy.splines import symmetry, weights

__all__ = ["affine_transform", "map_coordinates"]

_PADDING = 12  # elements that SciPy adds where a mode has no exact filter


def map_coordinates(
    xp: Any,
    input: Any,
    coordinates: Any,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """Return an array's values between its elements, ``scipy.ndimage.map_coordinates``.

    Parameters
    ----------
    input : array, shape (n1, ..., nd)
        The array, whose elements stand at the integers.
    coordinates : array, shape (d, ...)
        Where values are wanted.
    order : int
        The order of the splines, 0 to 5.
    mode : str
        What the array has beyond its ends: "constant", "grid-constant", "nearest", "reflect",
        "grid-mirror", "mirror", "wrap" or "grid-wrap".
    cval : float
        The constant.
    prefilter : bool
        Whether the array holds values; otherwise it holds the coefficients of a spline.

    Returns
    -------
    array, shape ``coordinates.shape[1:]``
        Of the floating-point or complex dtype of the array.
    """
    (input,) = inexact(xp, input)
    (coordinates,) = real_like(xp, input, coordinates)
    if not input.ndim or coordinates.shape[:1] != (input.ndim,):
        raise ValueError(
            f"coordinates of shape {coordinates.shape} have not one row for each of the axes of an "
            f"array of shape {input.shape}"
        )
    if 0 in input.shape and 0 not in coordinates.shape:
        raise ValueError(f"there is nothing to interpolate in an array of shape {input.shape}")
    shape = coordinates.shape[1:]
    if 0 in shape:  # nothing, of both arrays: not every library reshapes it
        return xp.sum(coordinates, axis=0) * xp.sum(input)
    places = xp.reshape(coordinates, (input.ndim, math.prod(shape)))
    return xp.reshape(_interpolated(xp, input, places, order, mode, cval, prefilter), shape)


def _interpolated(
    xp: Any,
    input: Any,
    places: Any,
    order: int,
    mode: str,
    cval: float,
    prefilter: bool,
) -> Any:
    """Return the values at places, shape (d, count), in the first d axes of an array.

    Any axes that follow have the same places: the result is of shape (count, ...).
    """
    around, (rank, count) = symmetry(mode), places.shape
    if not 0 <= order <= 5:
        raise ValueError(f"order must be 0 to 5, not {order}")
    before = 0
    if prefilter and order > 1:
        before = _PADDING if mode in ("nearest", "grid-constant") else 0
        for axis in range(rank):
            input = extended(input, axis, before, before, mode, cval, xp)
        for axis in range(rank):
            input = xp.ndimage.spline_filter1d(input, order, axis, mode=mode)
    if mode == "grid-constant":  # all beyond the ends is one more element there
        for axis in range(rank):
            input = extended(input, axis, 1, 1, mode, cval, xp)
        before += 1
    if mode in ("nearest", "grid-constant"):
        around = "nearest"
    lengths = input.shape[:rank]
    taps = [
        _taps(xp, places[axis, :] + before, length, order, mode, around)
        for axis, length in enumerate(lengths)
    ]
    out = weighted(xp, input, taps)
    if mode == "constant":
        last = xp.asarray(lengths, dtype=places.dtype, device=device_of(places)) - 1
        known = xp.all((places >= 0) & (places <= xp.expand_dims(last, axis=1)), axis=0)
        out = xp.where(xp.reshape(known, (count, *(1,) * (out.ndim - 1))), out, cval)
    return out


def _taps(xp: Any, x: Any, length: int, order: int, mode: str, around: str) -> tuple[Any, Any]:
    """Return which elements places along an axis are between, and their weights."""
    x = inside(x, length, mode, xp)
    shifted = x if order % 2 else x + 0.5
    floor = xp.floor(shifted)
    offsets = xp.arange(-(order // 2), order - order // 2 + 1, dtype=xp.int64, device=device_of(x))
    # A place that is not a number has elements, and weights that are none.
    first = xp.astype(xp.where(xp.isfinite(floor), floor, 0.0), xp.int64)
    index = xp.expand_dims(first, axis=0) + xp.expand_dims(offsets, axis=1)
    return wrapped(index, length, around, xp), xp.stack(weights(shifted - floor, order))


def affine_transform(
    xp: Any,
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Sequence[int] | None = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """Return an array under an affine map, ``scipy.ndimage.affine_transform``.

    Element o of the result is the array at ``matrix @ o + offset``.

    Parameters
    ----------
    input : array, shape (n1, ..., nd)
    matrix : array, shape (d, d), (d,), (d, d + 1) or (d + 1, d + 1)
        The matrix; its diagonal; or both matrix and offset, in homogeneous coordinates.
    offset : array, shape (d,), or float
    output_shape : sequence of int, optional
        By default that of ``input``.
    order, mode, cval, prefilter
        As of ``map_coordinates``.

    Returns
    -------
    array, shape ``output_shape``
    """
    (input,) = inexact(xp, input)
    rank, shape = input.ndim, tuple(input.shape if output_shape is None else output_shape)
    matrix, offset = real_like(xp, input, matrix, offset)
    if matrix.shape in ((rank, rank + 1), (rank + 1, rank + 1)):
        matrix, offset = matrix[:rank, :rank], matrix[:rank, rank]
    if matrix.shape not in ((rank, rank), (rank,)) or len(shape) != rank:
        raise ValueError(
            f"a matrix of shape {matrix.shape} and an output_shape {shape} do not belong to an "
            f"array of shape {input.shape}"
        )
    grid = _grid(xp, shape, matrix)
    diagonal = matrix.ndim == 1
    turned = xp.expand_dims(matrix, axis=1) * grid if diagonal else xp.matmul(matrix, grid)
    places = turned + xp.reshape(offset, (-1, 1))
    return xp.reshape(_interpolated(xp, input, places, order, mode, cval, prefilter), shape)


def _grid(xp: Any, shape: Sequence[int], like: Any) -> Any:
    """Return the coordinates of all elements of a shape, as an array (d, count)."""
    device = device_of(like)
    return _product(xp, [xp.arange(n, dtype=like.dtype, device=device) for n in shape])


def _product(xp: Any, lines: Sequence[Any]) -> Any:
    """Return the points of a grid with these coordinates along its axes, as an array (d, count)."""
    return xp.stack([xp.reshape(each, (-1,)) for each in xp.meshgrid(*lines, indexing="ij")])


def shift(
    xp: Any,
    input: Any,
    shift: Any,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """Return an array moved by ``shift``, ``scipy.ndimage.shift``.

    Parameters
    ----------
    input : array, shape (n1, ..., nd)
    shift : array, shape (d,), or float
        How far its elements move.
    order, mode, cval, prefilter
        As of ``map_coordinates``.
    """
    (input,) = inexact(xp, input)
    (moved,) = real_like(xp, input, shift)
    if moved.shape not in ((), (input.ndim,)):
        raise ValueError(f"shift has an element for each of {input.ndim} axes, not {moved.shape}")
    places = _grid(xp, input.shape, moved) - xp.reshape(moved, (-1, 1))
    return xp.reshape(_interpolated(xp, input, places, order, mode, cval, prefilter), input.shape)


def zoom(
    xp: Any,
    input: Any,
    zoom: float | Sequence[float],
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """Return an array of another resolution, ``scipy.ndimage.zoom``.

    Parameters
    ----------
    input : array, shape (n1, ..., nd)
    zoom : float or sequence of float
        The factors by which axes get longer. They are numbers, and have no gradient.
    order, mode, cval, prefilter
        As of ``map_coordinates``.
    grid_mode : bool
        Whether elements have an extent, so that the ends of the first and the last one, and not
        their middles, stay where they are.
    """
    (input,) = inexact(xp, input)
    factors = [zoom] * input.ndim if isinstance(zoom, int | float) else list(zoom)
    if len(factors) != input.ndim:
        raise ValueError(f"there are {input.ndim} axes, and {len(factors)} zoom factors")
    if prefilter and all(each == 1 for each in factors):
        return input + 0
    axes = []
    for length, factor in zip(input.shape, factors, strict=True):
        count = round(length * factor)
        above, below = (length, count) if grid_mode else (length - 1, count - 1)
        step = above / below if below else 1.0
        start = 0.5 * step - 0.5 if grid_mode else 0.0
        # The last place is not to lie behind the last element by an error of rounding.
        axes.append([start + min(k * step, above) for k in range(count)])
    places = _product(xp, real_like(xp, input, *axes))
    out = _interpolated(xp, input, places, order, mode, cval, prefilter)
    return xp.reshape(out, tuple(map(len, axes)))


def rotate(
    xp: Any,
    input: Any,
    angle: Any,
    axes: Sequence[int] = (1, 0),
    reshape: bool = True,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """Return an array rotated in the plane of two axes, ``scipy.ndimage.rotate``.

    Parameters
    ----------
    input : array
        Of two axes or more.
    angle : float or 0-d array
        In degrees. It has a gradient if it is an array.
    axes : sequence of two int
        The plane.
    reshape : bool
        Whether the result is as large as it has to be, by the value of the angle.
    order, mode, cval, prefilter
        As of ``map_coordinates``.
    """
    (input,) = inexact(xp, input)
    plane = tuple(sorted(axis % input.ndim for axis in axes)) if input.ndim > 1 else ()
    if len(set(plane)) != 2:
        raise ValueError(f"axes {tuple(axes)} are not a plane of an array of shape {input.shape}")
    (turned,) = real_like(xp, input, angle)
    turned = turned * (math.pi / 180)
    cos, sin = xp.cos(turned), xp.sin(turned)
    x = xp.moveaxis(input, plane, (0, 1))
    lengths = tuple(x.shape[:2])
    if reshape:
        degrees = math.radians(angle.item() if hasattr(angle, "item") else angle)
        lengths = _bounds(lengths, math.cos(degrees), math.sin(degrees))
    grid = _grid(xp, lengths, cos)
    y, z = (grid[k, :] - (lengths[k] - 1) / 2 for k in (0, 1))
    middle = [(length - 1) / 2 for length in x.shape[:2]]
    places = xp.stack([cos * y + sin * z + middle[0], cos * z - sin * y + middle[1]])
    out = _interpolated(xp, x, places, order, mode, cval, prefilter)
    out = xp.reshape(out, (*lengths, *x.shape[2:]))
    return xp.moveaxis(out, (0, 1), plane)


def _bounds(lengths: tuple[int, int], cos: float, sin: float) -> tuple[int, int]:
    """Return the lengths of what holds a rotated rectangle, rounded."""
    y, x = lengths
    corners = [(cos * a + sin * b, cos * b - sin * a) for a in (0, y) for b in (0, x)]
    extents = [max(each) - min(each) for each in zip(*corners, strict=True)]
    return int(extents[0] + 0.5), int(extents[1] + 0.5)


composed(ndimage, map_coordinates, affine_transform, shift, zoom, rotate)
