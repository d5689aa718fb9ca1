"""CuPy's functions, ``cupyx.scipy.special``; single precision stays single."""

from collections.abc import Callable
from functools import partial
from typing import Any

import cupy
import cupyx.scipy.special as library

__all__ = ["compute", "polygamma", "zeta"]

_SINGLE = {"float64": "float32", "complex128": "complex64"}


def __getattr__(name: str) -> Callable[..., Any]:
    return partial(compute, getattr(library, name))


def compute(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return CuPy's result, of single precision if the arrays are.

    Some of its functions compute with integers, or with NumPy numbers, in double precision.
    """
    try:
        out = function(*args, **options)
    except NotImplementedError:  # some are of real numbers
        return NotImplemented
    kinds = [arg.dtype for arg in args if isinstance(arg, cupy.ndarray) and arg.dtype.kind in "fc"]
    if not kinds or any(kind not in ("float32", "complex64") for kind in kinds):
        return out
    return tuple(map(_single, out)) if isinstance(out, tuple) else _single(out)


def _single(out: Any) -> Any:
    kind = _SINGLE.get(out.dtype.name)
    return out if kind is None else out.astype(kind)


def zeta(x: Any, q: Any = None, /) -> Any:
    """Compute Hurwitz's zeta function, and Riemann's, for which CuPy wants the 1, too."""
    return compute(library.zeta, x, 1.0 if q is None else q)


def polygamma(n: Any, x: Any, /) -> Any:
    """Compute the derivatives of digamma, of which CuPy takes arrays only."""
    arrays = [each for each in (n, x) if isinstance(each, cupy.ndarray) and each.dtype.kind == "f"]
    dtype = cupy.result_type(*arrays) if arrays else cupy.float64
    return library.polygamma(cupy.asarray(n, dtype=dtype), cupy.asarray(x, dtype=dtype))
