"""Kinds of dtypes, as programs of NumPy's functions ask for them."""

from __future__ import annotations

from typing import Any

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import backend_of

__all__ = [
    "double",
    "dtype_named",
    "floating",
    "inexact",
    "is_bool",
    "is_complex",
    "is_floating",
    "promoted",
]

# The precision in which NumPy's ufuncs compute integers, by the number of their bits.
_PRECISIONS = {8: ("float16", "float32"), 16: ("float32",)}


def is_complex(xp: Any, x: Any) -> bool:
    """Return whether an array is complex."""
    return bool(xp.isdtype(x.dtype, "complex floating"))


def is_floating(xp: Any, x: Any) -> bool:
    """Return whether an array may have a gradient."""
    return bool(xp.isdtype(x.dtype, ("real floating", "complex floating")))


def is_bool(xp: Any, x: Any) -> bool:
    """Return whether an array is boolean."""
    return bool(xp.isdtype(x.dtype, "bool"))


def floating(xp: Any, x: Any) -> Any:
    """Return integers and booleans in double precision, as NumPy does."""
    return x if is_floating(xp, x) else xp.astype(x, dtype_named(xp, "float64"))


def double(xp: Any, x: Any) -> Any:
    """Return an array in double precision, real or complex."""
    dtype = backend_of(xp).dtype("complex128" if is_complex(xp, x) else "float64")
    return floating(xp, x) if dtype is None else xp.astype(x, dtype, copy=False)


def _precision(xp: Any, x: Any) -> Any:
    """Return the dtype in which NumPy's ufuncs compute an array."""
    if is_floating(xp, x):
        return x.dtype
    bits = 8 if is_bool(xp, x) else xp.iinfo(x.dtype).bits
    known = map(backend_of(xp).dtype, _PRECISIONS.get(bits, ()))
    narrow = next((each for each in known if each is not None), None)
    return dtype_named(xp, "float64") if narrow is None else narrow


def promoted(xp: Any, *arrays: Any) -> Any:
    """Return the dtype that arrays, and Python's numbers, have together.

    It is the library's, or NumPy's where the library refuses arrays of several kinds.
    """
    try:
        return xp.result_type(*arrays)
    except TypeError:
        pass
    found = [each for each in arrays if hasattr(each, "dtype")]
    numbers = [each for each in found if not is_bool(xp, each)] or found
    fractions = any(isinstance(each, float | complex) for each in arrays)
    if fractions or any(is_floating(xp, each) for each in numbers):
        return xp.result_type(
            *(_precision(xp, each) for each in numbers),
            *(each for each in arrays if isinstance(each, complex)),
        )
    return xp.result_type(*numbers)


def inexact(xp: Any, *arrays: Any) -> tuple[Any, ...]:
    """Return arrays in the one precision in which NumPy's ufuncs compute them."""
    if any(is_floating(xp, each) for each in arrays):
        dtype = promoted(xp, *arrays)
    else:
        dtype = xp.result_type(*(_precision(xp, each) for each in arrays))
    return tuple(xp.astype(each, dtype, copy=False) for each in arrays)


def dtype_named(xp: Any, name: str) -> Any:
    """Return a backend's dtype by its name in the standard.

    Raises
    ------
    UnsupportedArrayError
        If the backend has none.
    """
    backend = backend_of(xp)
    dtype = backend.dtype(name)
    if dtype is None:
        raise UnsupportedArrayError(f"backend {backend.name!r} has no dtype {name!r}")
    return dtype
