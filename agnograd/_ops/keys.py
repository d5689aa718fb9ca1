"""Keys: what stands in the square brackets of an array."""

from __future__ import annotations

from numbers import Integral
from types import EllipsisType
from typing import Any

__all__ = ["is_basic", "same_key", "selects_view", "without_newaxis"]

# The usual types of basic keys, so that they need no slower test.
_BASIC = frozenset({int, slice, EllipsisType, type(None)})


def is_basic(key: Any) -> bool:
    """Return whether a key selects each element at most once, without arrays or masks."""
    if type(key) in _BASIC:
        return True
    for part in key if isinstance(key, tuple) else (key,):
        if type(part) not in _BASIC and (
            isinstance(part, bool) or not isinstance(part, Integral | slice | EllipsisType | None)
        ):
            return False
    return True


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
    """Return whether two raw keys are the same; of arrays in them, whether they are the same ones.

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
