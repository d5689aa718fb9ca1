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

from agnograd_scipy.splines import symmetry

__all__ = ["SHORT", "all_pole", "convolve", "solve_banded", "spline_filter1d"]

SHORT = 64  # from here on the terms are less than the rounding, for splines of all orders


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
    out = scipy.signal.convolve(in1.astype(dtype), in2.astype(dtype), mode=mode, method=method)
    return out.astype(dtype, copy=False)


def spline_filter1d(input: Any, /, order: int = 3, axis: int = -1, *, mode: str = "mirror") -> Any:
    """Return ``scipy.ndimage.spline_filter1d``, in the precision of the array.

    SciPy leaves out terms of the reflected signal that short ones still have.
    """
    if symmetry(mode) == "reflect" and input.shape[axis] < SHORT:
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
