"""What programs share: kinds of dtypes, axes, counts, and values made ready."""

from __future__ import annotations

import math
from typing import Any

from agnograd_numpy_functions._arguments import as_array
from agnograd_numpy_functions._kinds import (
    double,
    floating,
    inexact,
    is_bool,
    is_complex,
    is_floating,
    promoted,
)
from agnograd_numpy_functions._program import Array

__all__ = [
    "axes_of",
    "count_along",
    "double",
    "flat",
    "floating",
    "inexact",
    "is_bool",
    "is_complex",
    "is_floating",
    "like",
    "mask_of",
    "promoted",
    "ready",
    "real_only",
    "together",
]


def ready(x: Array, value: Any) -> Array:
    """Return a value, a Python one included, as an array of the backend of ``x``."""
    return as_array(x.__array_namespace__(), value)


def like(x: Array, value: Any) -> Array:
    """Return a value as an array of the dtype, and on the device, of ``x``."""
    xp = x.__array_namespace__()
    if hasattr(value, "dtype") or not isinstance(value, bool | int | float | complex):
        return xp.astype(ready(x, value), x.dtype)
    return xp.asarray(value, dtype=x.dtype, device=x.device)


def together(xp: Any, *arrays: Array) -> list[Array]:
    """Return arrays of the dtype that they promote to: not every library joins others."""
    first = arrays[0].dtype
    if all(each.dtype == first for each in arrays):
        return list(arrays)
    dtype = promoted(xp, *arrays)
    return [xp.astype(each, dtype, copy=False) for each in arrays]


def mask_of(xp: Any, where: Any, shape: tuple[int, ...]) -> Array:
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


def real_only(xp: Any, name: str, *arrays: Array) -> None:
    """Refuse complex arrays, whose imaginary parts NumPy does not drop either."""
    if any(is_complex(xp, each) for each in arrays):
        raise TypeError(f"{name} is of real numbers: give it xp.real(x), or xp.abs(x)")


def flat(xp: Any, x: Array) -> Array:
    """Return an array of one axis, a view."""
    return xp.reshape(x, (-1,))


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


def count_along(x: Array, axis: int | tuple[int, ...] | None) -> int:
    """Return how many elements one result of a reduction is made of."""
    return math.prod(x.shape[each] for each in axes_of(axis, x.ndim))
