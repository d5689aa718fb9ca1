"""SciPy's functions on NumPy's arrays; results have the dtype to which the arrays are promoted."""

from typing import Any

import numpy as np

try:
    import scipy.linalg
    import scipy.ndimage
    import scipy.signal
except ImportError as error:
    raise ModuleNotFoundError(
        "xp.signal, xp.ndimage and their like are computed by SciPy, which is not installed; "
        "install it with: pip install 'agnograd[scipy]'",
        name="scipy",
    ) from error

from agnograd.extend import switch
from agnograd_scipy.splines import symmetry

__all__ = ["SHORT_SIGNAL", "all_pole", "convolve", "solve_banded", "spline_filter1d"]

# From how many elements on the terms are less than the rounding, for splines of all orders.
SHORT_SIGNAL = switch("SHORT_SIGNAL", 64, least=64, most=2**62, module=__name__)


def all_pole(x: Any, a: Any, /) -> Any:
    """Return ``lfilter`` with a numerator of 1."""
    dtype = np.result_type(x, a)
    if not x.size:
        return x.astype(dtype)
    return scipy.signal.lfilter(np.ones(1, dtype), a.astype(dtype), x.astype(dtype))


def convolve(in1: Any, in2: Any, /, mode: str = "full", method: str = "auto") -> Any:
    """Return ``scipy.signal.convolve``; what it does not take is computed by the standard."""
    if not in1.size or not in2.size or in1.ndim != in2.ndim:
        return NotImplemented
    dtype = np.result_type(in1, in2)
    in1, in2 = in1.astype(dtype, copy=False), in2.astype(dtype, copy=False)
    if method == "direct" and mode != "same" and in1.ndim == 1:
        how: Any = mode
        return np.convolve(in1, in2, how)
    long = [axis for axis, length in enumerate(in2.shape) if length > 1]
    if mode == "valid" and method == "direct" and len(long) == 1 < in2.ndim and dtype.kind == "f":
        return _along_a_line(in1, in2, long[0])
    out = scipy.signal.convolve(in1, in2, mode=mode, method=method)
    return out.astype(dtype, copy=False)


def _along_a_line(x: Any, weights: Any, axis: int) -> Any:
    """Return what needs no padding of the convolution with weights along one axis.

    ``scipy.ndimage`` is many times as fast at it as ``scipy.signal``.
    """
    size, length = weights.size, x.shape[axis]
    if length < size:
        return NotImplemented
    out = scipy.ndimage.convolve1d(x, weights.reshape(-1), axis, mode="constant")
    start = (size - 1) // 2
    return out[(*(slice(None),) * axis, slice(start, start + length - size + 1))]


def spline_filter1d(input: Any, /, order: int = 3, axis: int = -1, *, mode: str = "mirror") -> Any:
    """Return ``scipy.ndimage.spline_filter1d``, in the precision of the array.

    SciPy leaves out terms of the reflected signal that short ones still have.
    """
    if symmetry(mode) == "reflect" and input.shape[axis] < SHORT_SIGNAL:
        return NotImplemented
    double = np.complex128 if input.dtype.kind == "c" else np.float64
    out = scipy.ndimage.spline_filter1d(input, order, axis, output=double, mode=mode)
    return out.astype(input.dtype, copy=False)


def solve_banded(ab: Any, b: Any, /, *, lower: int, upper: int) -> Any:
    """Return ``scipy.linalg.solve_banded``."""
    dtype = np.result_type(ab, b)
    if not b.size:
        return b.astype(dtype)
    out = scipy.linalg.solve_banded((lower, upper), ab, b, check_finite=False)
    return out.astype(dtype, copy=False)
