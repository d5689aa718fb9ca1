"""Keys: what stands in the square brackets of an array."""

from __future__ import annotations

from numbers import Integral
from types import EllipsisType
from typing import Any

from agnograd._variable import Variable

__all__ = ["is_basic", "raw_key", "without_newaxis"]


def raw_key(key: Any) -> Any:
    """Return a key with every Variable in it (masks, integers, bounds of slices) unwrapped."""
    if isinstance(key, tuple):
        return tuple(raw_key(part) for part in key)
    if isinstance(key, Variable):
        key._refresh()
        return key._data
    if isinstance(key, slice) and any(
        isinstance(bound, Variable) for bound in (key.start, key.stop, key.step)
    ):
        return slice(*(raw_key(bound) for bound in (key.start, key.stop, key.step)))
    return key


def is_basic(key: Any) -> bool:
    """Return whether a key selects each element at most once, without arrays or masks."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        isinstance(part, Integral | slice | EllipsisType | None) and not isinstance(part, bool)
        for part in parts
    )


def without_newaxis(key: Any) -> Any:
    """Return a basic key without its new axes, which the standard does not allow in writes."""
    if isinstance(key, tuple) and any(part is None for part in key):
        return tuple(part for part in key if part is not None)
    return () if key is None else key
