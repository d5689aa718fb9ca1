"""Keys: what stands in the square brackets of an array."""

from __future__ import annotations

from numbers import Integral
from types import EllipsisType
from typing import Any

from agnograd._variable import Variable

__all__ = ["is_basic", "raw_key", "without_newaxis"]

# The usual types of basic keys, so that they need no slower test.
_BASIC = frozenset({int, slice, EllipsisType, type(None)})


def raw_key(key: Any) -> Any:
    """Return a key with every Variable in it (masks, integers, bounds of slices) unwrapped."""
    if type(key) is int:
        return key
    if isinstance(key, tuple):
        return tuple([raw_key(part) for part in key])
    if isinstance(key, Variable):
        return key._raw
    if isinstance(key, slice) and any(
        isinstance(bound, Variable) for bound in (key.start, key.stop, key.step)
    ):
        return slice(*(raw_key(bound) for bound in (key.start, key.stop, key.step)))
    return key


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
