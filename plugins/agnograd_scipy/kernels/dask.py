"""SciPy's functions on Dask's arrays: nothing is computed before it is asked for.

What belongs together, such as an axis of time, is put into one chunk.
"""

from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from agnograd_scipy import convolution, splines
from agnograd_scipy.kernels import numpy as kernels

__all__ = ["all_pole", "convolve", "solve_banded", "spline_filter1d"]


def _whole(function: Any, shape: tuple[int, ...], *arrays: Any) -> Any:
    """Call a function with whole arrays, of which it makes one of a shape."""
    dtype = np.result_type(*(each.dtype for each in arrays))
    given: list[Any] = []
    count = len(shape)
    for array in arrays:
        given += [array.rechunk(-1), tuple(range(count, count + array.ndim))]
        count += array.ndim
    return da.blockwise(
        function,
        tuple(range(len(shape))),
        *given,
        new_axes=dict(enumerate(shape)),
        concatenate=True,
        dtype=dtype,
        meta=np.empty((0,) * len(shape), dtype),
    )


def all_pole(x: Any, a: Any, /) -> Any:
    """Return ``lfilter`` with a numerator of 1, of each chunk of signals."""
    whole = x.rechunk({x.ndim - 1: -1}), a.rechunk(-1)
    dtype = np.result_type(x.dtype, a.dtype)
    return da.apply_gufunc(kernels.all_pole, "(i),(j)->(i)", *whole, output_dtypes=dtype)


def convolve(in1: Any, in2: Any, /, mode: str = "full", method: str = "auto") -> Any:
    """Return ``scipy.signal.convolve`` of whole arrays."""
    _, shape = convolution.result_block(mode, in1.shape, in2.shape)
    return _whole(partial(kernels.convolve, mode=mode, method=method), shape, in1, in2)


def solve_banded(ab: Any, b: Any, /, *, lower: int, upper: int) -> Any:
    """Return ``scipy.linalg.solve_banded`` of a whole system."""
    return _whole(partial(kernels.solve_banded, lower=lower, upper=upper), b.shape, ab, b)


def spline_filter1d(input: Any, /, order: int = 3, axis: int = -1, *, mode: str = "mirror") -> Any:
    """Return ``scipy.ndimage.spline_filter1d``, of each chunk of lines."""
    kept = splines.symmetry(mode) == "reflect" and input.shape[axis] < kernels.SHORT_SIGNAL
    if kept or not input.ndim or 0 in input.shape:
        return NotImplemented
    whole = input.rechunk({axis % input.ndim: -1})
    filtered = partial(kernels.spline_filter1d, order=order, axis=axis, mode=mode)
    # Given, so that Dask does not try the function on an array of no elements.
    return whole.map_blocks(filtered, meta=np.empty((0,) * input.ndim, input.dtype))
