"""What rules compute with: axes, strides, conjugates, devices, keys; what a dtype or a value is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from types import EllipsisType
from typing import Any

from agnograd._util.deferred import later
from agnograd.errors import UnsupportedArrayError

Shape = tuple[int, ...]


def reduced_axes(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return the axes that a reduction's ``axis`` names, counted from the front.

    Examples
    --------
    >>> reduced_axes((-1, 0), rank=3)
    (2, 0)
    >>> reduced_axes(None, rank=3)
    (0, 1, 2)

    A 0-d array has no axes to reduce: libraries take ``axis=0`` for it, and ignore it.

    >>> reduced_axes(0, rank=0)
    ()
    """
    if axis is None or not rank:
        return tuple(range(rank))
    return tuple(each % rank for each in ((axis,) if isinstance(axis, int) else axis))


def keep_axes(reduced: Any, x_shape: Shape, axis: int | Sequence[int] | None, xp: Any) -> Any:
    """Return a reduction's result with each reduced axis restored as an axis of length one.

    A cotangent of ``sum(x, axis=axis)`` then broadcasts to ``x_shape``, whether or not the axes
    were kept.
    """
    axes = reduced_axes(axis, len(x_shape))
    shape = tuple(1 if i in axes else length for i, length in enumerate(x_shape))
    return reduced if reduced.shape == shape else xp.reshape(reduced, shape)


def known_size(shape: tuple[int | None, ...]) -> int:
    """Return the number of elements; it may be unknown until computed, as of Dask's ``x[mask]``."""
    # The standard says None for a length that is not known, and Dask NaN.
    if None not in shape and (size := math.prod(shape)) == size:  # type: ignore[arg-type]
        return size
    raise UnsupportedArrayError(
        f"this derivative needs the size of each value, and one has the shape {shape}, which its "
        "library has not computed yet: have it computed first, or use xp.where(mask, x, 0.0) in "
        "place of x[mask]"
    )


def inverse_permutation(axes: int | Sequence[int]) -> tuple[int, ...]:
    """Return the permutation of axes that undoes the given one; a number is one axis.

    Examples
    --------
    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    axes = (axes,) if isinstance(axes, int) else axes
    count = len(axes)
    return tuple(sorted(range(count), key=lambda axis: axes[axis] % count))


def row_strides(shape: Shape) -> Shape:
    """Return how many elements apart neighbours along each axis are, in row-major order."""
    return tuple(math.prod(shape[axis:]) for axis in range(1, len(shape) + 1))


def reshaped_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    """Return the strides of elements in another shape, or None if this shape is impossible.

    The elements keep their places in memory, and their row-major order by ``shape`` and
    ``strides``. So axes can be merged only if their elements lie as in one row; one axis can always
    be split.

    Examples
    --------
    >>> reshaped_strides((2, 3), (6, 2), (6,))
    (2,)
    >>> reshaped_strides((3, 2), (1, 3), (6,)) is None
    True
    """
    if 0 in shape:
        return row_strides(new_shape)
    blocks: list[list[int]] = []  # of elements equally far apart: their number, and how far
    for length, stride in zip(shape, strides, strict=True):
        if blocks and blocks[-1][1] == length * stride:
            blocks[-1] = [blocks[-1][0] * length, stride]
        elif length != 1:
            blocks.append([length, stride])
    found: list[int] = []
    left, stride = 1, 1
    for length in reversed(new_shape):
        if length != 1 and left == 1:
            left, stride = blocks.pop()
        if left % length:
            return None
        found.append(stride)
        left, stride = left // length, stride * length
    return tuple(reversed(found))


def conjugate(x: Any, xp: Any) -> Any:
    """Return the complex conjugate of an array or a Python scalar."""
    if is_python_scalar(x):
        return x.conjugate()
    return xp.conj(x)


def is_python_scalar(x: Any) -> bool:
    """Return whether x is one of Python's own numbers; NumPy's float64 is a subclass of float."""
    return type(x) in PYTHON_SCALARS


PYTHON_SCALARS = frozenset({bool, int, float, complex})


class _Known(dict[Any, Any]):
    """What a function returns, by its argument: a lookup costs less than a call."""

    __slots__ = ("_find",)

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self._find = find

    def __missing__(self, key: Any) -> Any:
        found = self[key] = self._find(key)
        return found


# By namespace, then by dtype: to compare the dtypes of two libraries is a warning in some.
_is_complex = _Known(lambda xp: _Known(lambda dtype: bool(xp.isdtype(dtype, "complex floating"))))


def is_complex(dtype: Any, xp: Any) -> bool:
    """Return whether a dtype is complex."""
    answer: bool = _is_complex[xp][dtype]
    return answer


def conjugate_if_complex(x: Any, xp: Any) -> Any:
    """Return the complex conjugate of an array; a real array is returned without a copy."""
    return xp.conj(x) if _is_complex[xp][x.dtype] else x


def divide_or_zero(x1: Any, x2: Any, xp: Any) -> Any:
    """Return ``x1 / x2``, and by convention 0 where ``x2`` is 0, with derivatives of 0."""
    zero = x2 == 0
    return xp.where(zero, 0.0, x1 / xp.where(zero, 1.0, x2))


def adjoint(x: Any, xp: Any) -> Any:
    """Return the conjugate transpose of each matrix; for real matrices a view, the transpose.

    ``x`` has the shape (..., m, n), and the result (..., n, m).
    """
    transposed = xp.matrix_transpose(x)
    return xp.conj(transposed) if _is_complex[xp][x.dtype] else transposed


_devices: dict[type, Callable[[Any], Any]] = {}


def set_device(kinds: Iterable[type], device: Callable[[Any], Any]) -> None:
    """Say which function returns the device of arrays of some types."""
    _devices.update(dict.fromkeys(kinds, device))


def device_of(x: Any) -> Any:
    """Return an array's device, from its backend or from array-api-compat.

    The latter is imported when it is first needed.
    """
    known = _devices.get(type(x))
    return later("array_api_compat", "device")(x) if known is None else known(x)


# -- keys: what is in the square brackets of an array ------------------------------------------

# The usual types of basic keys, so that they need no slower test.
_BASIC = frozenset({int, slice, EllipsisType, type(None)})


def is_basic(key: Any) -> bool:
    """Return whether a key selects each element at most once, without arrays or masks."""
    if type(key) in _BASIC:
        return True
    for part in key if isinstance(key, tuple) else (key,):
        if type(part) not in _BASIC and (isinstance(part, bool) or not isinstance(part, Integral)):
            return False
    return True


def is_mask(key: Any, xp: Any) -> bool:
    """Return whether a key is an array of booleans; NumPy's integers may have a foreign dtype."""
    if isinstance(key, Integral):
        return False
    return hasattr(key, "dtype") and bool(xp.isdtype(key.dtype, "bool"))


def without_newaxis(key: Any) -> Any:
    """Return a basic key without its new axes, which the standard does not allow in writes."""
    if isinstance(key, tuple) and any(part is None for part in key):
        return tuple(part for part in key if part is not None)
    return () if key is None else key


def selects_view(key: Any, rank: int) -> bool:
    """Return whether what a raw key selects of an array of so many axes is a view, as in NumPy.

    It is one if the key is basic, and names no single element by a number for each axis: that is a
    copy. Integers may be arrays of no axes.
    """
    parts = key if isinstance(key, tuple) else (key,)
    numbers = 0
    for part in parts:
        if isinstance(part, Integral) and not isinstance(part, bool):
            numbers += 1
        elif type(part) not in _BASIC:
            if not _is_number(part):
                return False
            numbers += 1
    return numbers < max(rank, len(parts))


def _is_number(part: Any) -> bool:
    kind = str(getattr(part, "dtype", "")).rpartition(".")[2]
    return getattr(part, "shape", None) == () and kind.startswith(("int", "uint"))


def same_key(one: Any, other: Any) -> bool:
    """Return whether two raw keys are the same; arrays are if they are the same object.

    To compare the elements of arrays would be to compute them.
    """
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same_key, one, other))
    if isinstance(one, slice) and isinstance(other, slice):
        bounds = ((each.start, each.stop, each.step) for each in (one, other))
        return all(map(same_key, *bounds))
    if one is other:
        return True
    return isinstance(one, Integral) and isinstance(other, Integral) and one == other
