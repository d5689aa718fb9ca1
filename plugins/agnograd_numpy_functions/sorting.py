"""Sorts and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd.errors import UnsupportedFunctionError
from agnograd_numpy_functions._helpers import axes_of, count_along, flat
from agnograd_numpy_functions._program import Array, Arrays, Table

__all__ = ["table"]

table = Table()


def _checked(xp: Any, a: Array, axis: int | None, order: Any) -> tuple[Array, int]:
    if order is not None:
        raise UnsupportedFunctionError("order= is for arrays with fields, which Variables are not")
    return (flat(xp, a), -1) if axis is None else (a, axis)


def _within(xp: Any, a: Array, kth: Any, axis: int | None) -> None:
    length = a.size if axis is None else count_along(a, axis)
    places = kth if isinstance(kth, Sequence) else flat(xp, xp.asarray(kth)).tolist()
    for place in places if length else ():
        if not -length <= place < length:
            raise ValueError(f"kth(={place}) out of bounds ({length})")


@table.each("sort", "argsort")
def _sort(
    name: str,
    xp: Any,
    a: Array,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
) -> Array:
    a, axis = _checked(xp, a, axis, order)
    return getattr(xp, name)(a, axis=axis)


@table.each("partition", "argpartition")
def _partition(
    name: str,
    xp: Any,
    a: Array,
    kth: Any,
    axis: int | None = -1,
    kind: str = "introselect",
    order: Any = None,
) -> Array:
    _within(xp, a, kth, axis)
    # A sorted array is partitioned at any element.
    return _sort(name.replace("partition", "sort"), xp, a, axis, order=order)


@table.add("lexsort")
def _lexsort(xp: Any, keys: Arrays, axis: int = -1) -> Array:
    if any(key.shape != keys[0].shape for key in keys):
        raise ValueError("all keys need to be the same shape")
    if not keys[0].ndim:
        return xp.zeros((), dtype=xp.int64)
    (axis,) = axes_of(axis, keys[0].ndim)
    order = xp.argsort(keys[0], axis=axis)
    for key in keys[1:]:
        found = xp.argsort(xp.take_along_axis(key, order, axis=axis), axis=axis)
        order = xp.take_along_axis(order, found, axis=axis)
    return order
