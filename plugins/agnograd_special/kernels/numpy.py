"""SciPy's functions, on NumPy's arrays; single precision stays single."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

try:
    import scipy.special as library
except ImportError as error:
    raise ModuleNotFoundError(
        "special functions are computed by SciPy, which is not installed; install it with: "
        "pip install 'agnograd[special]'",
        name="scipy",
    ) from error

__all__ = ["compute", "function_of"]

# SciPy's loops of single precision have no integers, and warn of counts that are none.
_COUNTING = ("bdtr", "bdtrc", "bdtri")
# SciPy takes the largest element of an axis also where there is none, the sum of halves in half
# precision, and more time than the formula for a few elements.
_OF_AXES = ("log_softmax", "softmax")
_HALF = np.dtype("float16")


def __getattr__(name: str) -> Callable[..., Any]:
    if name in _OF_AXES:
        raise AttributeError(name)
    function = function_of(name)
    alone = isinstance(function, np.ufunc) and function.nin == 1
    return _keeping(function) if alone else partial(compute, name)


def _keeping(function: np.ufunc) -> Callable[..., Any]:
    """Return a function of one array, of which SciPy keeps the precision unless it is half."""

    def kernel(x: Any, /) -> Any:
        out = function(x)
        return _narrowed(out, _HALF) if getattr(x, "dtype", None) is _HALF else out

    return kernel


def function_of(name: str) -> Any:
    """Return SciPy's function; of a ufunc without what looks for the library of its arguments."""
    function = getattr(library, name)
    ufunc = getattr(function, "__wrapped__", None)
    return ufunc if isinstance(ufunc, np.ufunc) else function


def compute(name: str, *args: Any, **options: Any) -> Any:
    """Return SciPy's result, of the precision of the arrays: SciPy does not always see it.

    It gives double precision where one of the arguments is an integer or a Python number, and
    where all are of half precision.
    """
    if name in _COUNTING:
        args = tuple(np.int64(arg) if type(arg) is int else arg for arg in args)
    out = function_of(name)(*args, **options)
    kinds = [arg.dtype for arg in args if hasattr(arg, "dtype") and arg.dtype.kind in "fc"]
    return _narrowed(out, np.result_type(*kinds)) if kinds else out


def _narrowed(out: Any, dtype: np.dtype[Any]) -> Any:
    """Return SciPy's results in a precision, real and complex ones."""
    if isinstance(out, tuple):
        return tuple(_narrowed(each, dtype) for each in out)
    if out.dtype.kind == "c" and dtype.kind != "c":
        dtype = np.result_type(dtype, np.complex64)
    elif out.dtype.kind == "f" and dtype.kind == "c":
        dtype = np.finfo(dtype).dtype
    return out.astype(dtype, copy=False) if out.dtype.kind in "fc" else out
