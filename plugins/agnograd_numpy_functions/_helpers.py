"""What programs share: kinds of dtypes, axes, counts, and arrays of one dtype or shape."""

from __future__ import annotations

import math
from typing import Any

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import backend_of

__all__ = [
    "along",
    "as_asked",
    "as_axis",
    "at_least",
    "axes_of",
    "count_along",
    "double",
    "dtype_named",
    "flat",
    "floating",
    "inexact",
    "is_bool",
    "is_complex",
    "is_floating",
    "mask_of",
    "part",
    "promoted",
    "real_only",
    "together",
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


def together(xp: Any, *arrays: Any) -> list[Any]:
    """Return arrays of the dtype that they promote to: not every library joins others."""
    first = arrays[0].dtype
    if all(each.dtype == first for each in arrays):
        return list(arrays)
    dtype = promoted(xp, *arrays)
    return [xp.astype(each, dtype, copy=False) for each in arrays]


def mask_of(xp: Any, where: Any, shape: tuple[int, ...]) -> Any:
    """Return what ``where=`` was given as a mask of a shape.

    Raises
    ------
    TypeError
        If it is not an array of booleans: NumPy takes no numbers for a mask.
    """
    mask = xp.asarray(where)
    if not is_bool(xp, mask):
        raise TypeError(f"where= is a mask of booleans, not of {mask.dtype}: write x != 0")
    return xp.broadcast_to(mask, shape)


def real_only(xp: Any, name: str, *arrays: Any) -> None:
    """Refuse complex arrays, whose imaginary parts NumPy does not drop either."""
    if any(is_complex(xp, each) for each in arrays):
        raise TypeError(f"{name} is of real numbers: give it xp.real(x), or xp.abs(x)")


def flat(xp: Any, x: Any) -> Any:
    """Return an array of one axis, a view."""
    return xp.reshape(x, (-1,))


def at_least(xp: Any, x: Any, rank: int) -> Any:
    """Return an array with this many axes or more: new ones come first."""
    return xp.reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x


def as_asked(xp: Any, x: Any, dtype: Any) -> Any:
    """Return a result in the dtype that was asked for, if any was."""
    return x if dtype is None else xp.astype(x, dtype, copy=False)


def along(xp: Any, x: Any, axis: int | None) -> tuple[Any, int]:
    """Return an array and an axis of it, from 0; None is the axis of the flat array."""
    if axis is None:
        return flat(xp, x), 0
    return x, axes_of(axis, x.ndim)[0]


def as_axis(xp: Any, x: Any, axis: int, rank: int, copy: bool | None = None) -> Any:
    """Return an array of one axis, or of none, as one with so many axes that lies along one."""
    (place,) = axes_of(axis, rank)
    shape = tuple(-1 if i == place else 1 for i in range(rank))
    return xp.reshape(x, shape, copy=copy)


def part(x: Any, axis: int, *bounds: Any) -> Any:
    """Return the part of an array that a slice along an axis has."""
    return x[(*(slice(None),) * (axis % x.ndim), slice(*bounds), ...)]


def axes_of(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return axes as numbers from 0; None is all of them.

    Raises
    ------
    IndexError
        If there is no such axis.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    for each in axes:
        if not -ndim <= each < ndim:
            raise IndexError(f"axis {each} is out of bounds for an array of {ndim} axes")
    return tuple(each % ndim for each in axes)


def count_along(x: Any, axis: int | tuple[int, ...] | None) -> int:
    """Return how many elements one result of a reduction is made of."""
    return math.prod(x.shape[each] for each in axes_of(axis, x.ndim))
