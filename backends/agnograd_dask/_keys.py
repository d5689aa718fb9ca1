"""Keys of writes that Dask does not take: rewritten as keys that it does."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import dask.array as da

__all__ = ["set_at"]

Shape = tuple[int, ...]


def set_at(out: Any, key: Any, value: Any) -> None:
    """Write a value into an array at a basic key, in which integers may be arrays of no axes."""
    parts = _one_for_each_axis(key, out.ndim)
    if any(map(_is_lazy, parts)):
        parts, value = _of_mask(out, parts, value)
    if any(isinstance(part, slice) and (part.step or 1) < 0 for part in parts):
        parts, value = _of_slices(parts, value, out.shape, out[tuple(parts)].shape)
    out[tuple(parts)] = value


def _one_for_each_axis(key: Any, rank: int) -> list[Any]:
    parts = [each for each in (key if isinstance(key, tuple) else (key,)) if each is not None]
    place = next((i for i, part in enumerate(parts) if part is ...), len(parts))
    after = parts[place + 1 :]
    return [*parts[:place], *[slice(None)] * (rank - place - len(after)), *after]


def _is_lazy(part: Any) -> bool:
    return not isinstance(part, Integral | slice)


def _of_mask(x: Any, parts: list[Any], value: Any) -> tuple[list[Any], Any]:
    """Write to the whole of an axis, whose other elements stay what they are."""
    whole = [slice(None) if _is_lazy(part) else part for part in parts]
    here = x[tuple(whole)]
    kept = [axis for axis, part in enumerate(whole) if isinstance(part, slice)]
    lazy = [place for place, axis in enumerate(kept) if _is_lazy(parts[axis])]
    mask: Any = True
    for place in lazy:
        number, length = parts[kept[place]], x.shape[kept[place]]
        at = da.arange(length) == da.where(number < 0, number + length, number)
        mask = mask & at.reshape(tuple(-1 if i == place else 1 for i in range(here.ndim)))
    if getattr(value, "shape", ()):
        shape = tuple(length for place, length in enumerate(here.shape) if place not in lazy)
        new = tuple(None if place in lazy else slice(None) for place in range(here.ndim))
        value = da.broadcast_to(value, shape)[new]
    return whole, da.where(mask, value, here).astype(x.dtype)


def _of_slices(parts: list[Any], value: Any, shape: Shape, part: Shape) -> tuple[list[Any], Any]:
    """Name single elements by slices: beside a negative step, Dask mixes up the axes."""
    numbers = [isinstance(each, Integral) for each in parts]
    made = list(parts)
    for axis, number in enumerate(numbers):
        if number:
            at = int(parts[axis]) % shape[axis]
            made[axis] = slice(at, at + 1)
    if getattr(value, "shape", ()):
        new = tuple(None if number else slice(None) for number in numbers)
        value = da.broadcast_to(value, part)[new]
    return made, value
