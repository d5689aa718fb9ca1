"""array-api-compat's namespace of ``dask.array``, and functions of the standard that it lacks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import accumulate, pairwise
from operator import mul
from types import SimpleNamespace
from typing import Any

import array_api_compat.dask.array as compat
import dask.array as da
import numpy as np
from array_api_compat.dask.array import *  # noqa: F403

from agnograd.errors import UnsupportedArrayError
from agnograd_dask import _linalg as linalg
from agnograd_dask._axes import expand_dims, permute_dims, spread, squeeze, with_ones
from agnograd_dask._creation import filled, filled_like
from agnograd_dask._elements import astype, clip, elementwise
from agnograd_dask._layers import is_plain
from agnograd_dask._outside import watch
from agnograd_dask._sums import mean as mean_of
from agnograd_dask._sums import reduction

__all__ = [
    "astype",
    "broadcast_shapes",
    "broadcast_to",
    "clip",
    "diff",
    "expand_dims",
    "eye",
    "fft",
    "linalg",
    "matmul",
    "matrix_transpose",
    "mean",
    "ones",
    "ones_like",
    "permute_dims",
    "reshape",
    "squeeze",
    "take",
    "take_along_axis",
    "tensordot",
    "zeros",
    "zeros_like",
]

__array_api_version__ = compat.__array_api_version__
__array_namespace_info__ = compat.__array_namespace_info__

# Functions of elements that one NumPy function computes.
_ELEMENTWISE = [
    name
    for name, found in vars(np).items()
    if name == "where" or (isinstance(found, np.ufunc) and not found.signature and found.nout == 1)
    if hasattr(compat, name)
]
_REDUCTIONS = {
    "all": np.logical_and,
    "any": np.logical_or,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
    "sum": np.add,
}
globals().update(
    {name: elementwise(getattr(np, name), getattr(compat, name)) for name in _ELEMENTWISE},
    **{name: reduction(ufunc, getattr(compat, name)) for name, ufunc in _REDUCTIONS.items()},
)
zeros, zeros_like = filled(0, compat.zeros), filled_like(0, compat.zeros_like)
ones, ones_like = filled(1, compat.ones), filled_like(1, compat.ones_like)
mean = mean_of(reduction(np.add, compat.sum), compat.mean)
matmul, matrix_transpose, tensordot = linalg.matmul, linalg.matrix_transpose, linalg.tensordot


def _in_one_chunk(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Give a transform the axes that it runs over in one chunk each, as Dask's need them."""

    @functools.wraps(transform)
    def transformed(x: Any, /, **options: Any) -> Any:
        axes = options.get("axes", options.get("axis", -1))
        if axes is None:
            count = len(options["s"]) if options.get("s") is not None else x.ndim
            axes = range(-count, 0)
        over = (axes,) if isinstance(axes, int) else axes
        return transform(x.rechunk({axis % x.ndim: -1 for axis in over}), **options)

    return transformed


_TRANSFORMS = ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "irfftn", "rfft", "rfftn")
fft = SimpleNamespace(
    fftfreq=compat.fft.fftfreq,
    fftshift=compat.fft.fftshift,
    ifftshift=compat.fft.ifftshift,
    rfftfreq=compat.fft.rfftfreq,
    **{name: _in_one_chunk(getattr(compat.fft, name)) for name in _TRANSFORMS},
)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    return np.broadcast_shapes(*shapes)


def broadcast_to(x: Any, /, shape: tuple[int, ...]) -> Any:
    """Return ``x`` broadcast to a shape; unknown lengths are an error, not a wrong result."""
    if math.isnan(math.prod(shape)) and x.shape != shape:
        raise UnsupportedArrayError(
            f"an array of shape {x.shape} cannot be broadcast to chunks of unknown sizes, "
            f"{shape}: call compute_chunk_sizes() on the Dask array that has them"
        )
    return spread(x, tuple(shape)) if is_plain(x) else da.broadcast_to(x, shape)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Return differences: Dask's own computes what it is to put before and behind the array."""
    parts = [each for each in (prepend, x, append) if each is not None]
    if n > 0 and len(parts) > 1:
        x = da.concatenate(parts, axis=axis)
    return da.diff(x, n=n, axis=axis)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """Return ones on a diagonal: Dask's own loses chunks of matrices that are not square."""
    rows, columns = da.arange(n_rows), da.arange(n_rows if n_cols is None else n_cols)
    return compat.astype(rows[:, None] + k == columns, dtype or np.float64)


def reshape(x: Any, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Any:
    """Return the elements in another shape: by merged axes, where Dask's own only merges or splits.

    Dask's own finds no chunks for some arrays without elements, either.
    """
    if math.isnan(x.size):
        return compat.reshape(x, shape, copy=copy)
    if copy is not False and is_plain(x) and (out := with_ones(x, tuple(shape))) is not None:
        return out
    shape = np.broadcast_to(np.zeros(()), x.shape).reshape(shape).shape  # what -1 stands for
    if 0 in shape:
        return da.zeros(shape, dtype=x.dtype)
    try:
        return compat.reshape(x, shape, copy=copy)
    except NotImplementedError:
        return compat.reshape(compat.reshape(x, _merged(x.shape, shape)), shape)


def _merged(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the finest shape whose axes are each one, or several beside each other, in both."""
    ends = sorted({*accumulate(one, mul)} & {*accumulate(other, mul)})
    return tuple(end // before for before, end in pairwise([1, *ends]))


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Return slices along an axis, which a vector need not name."""
    from agnograd_dask import renamed

    return da.take(x, renamed(indices), axis=0 if axis is None and x.ndim == 1 else axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Return the elements that indices name along an axis, which becomes one chunk."""
    axis %= x.ndim
    x, indices = x.rechunk({axis: -1}), indices.rechunk({axis: -1})
    places = tuple(range(x.ndim))
    return da.blockwise(
        np.take_along_axis,
        places,
        x,
        tuple(x.ndim if place == axis else place for place in places),
        indices,
        places,
        axis=axis,
        concatenate=True,
        dtype=x.dtype,
        meta=x._meta,
    )


watch()
