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
_SINGLE = {np.dtype("float64"): np.float32, np.dtype("complex128"): np.complex64}


def __getattr__(name: str) -> Callable[..., Any]:
    function = function_of(name)
    alone = isinstance(function, np.ufunc) and function.nin == 1  # keeps the precision itself
    return function if alone else partial(compute, name)


def function_of(name: str) -> Any:
    """Return SciPy's function; of a ufunc without what looks for the library of its arguments."""
    function = getattr(library, name)
    ufunc = getattr(function, "__wrapped__", None)
    return ufunc if isinstance(ufunc, np.ufunc) else function


def compute(name: str, *args: Any, **options: Any) -> Any:
    """Return SciPy's result, of single precision if the arrays are: SciPy does not always see it.

    It gives double precision where one of the arguments is an integer or a Python number.
    """
    if name in _COUNTING:
        args = tuple(np.int64(arg) if type(arg) is int else arg for arg in args)
    out = function_of(name)(*args, **options)
    kinds = [arg.dtype for arg in args if hasattr(arg, "dtype") and arg.dtype.kind in "fc"]
    if not kinds or any(kind not in ("float32", "complex64") for kind in kinds):
        return out
    if isinstance(out, tuple):
        return tuple(_single(each) for each in out)
    return _single(out)


def _single(out: Any) -> Any:
    kind = _SINGLE.get(out.dtype)
    return out if kind is None else out.astype(kind)
