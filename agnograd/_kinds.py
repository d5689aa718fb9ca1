"""Kinds of dtypes, as programs of NumPy's functions ask for them."""

from __future__ import annotations

from typing import Any

__all__ = ["floating", "is_bool", "is_complex", "is_floating"]


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
    return x if is_floating(xp, x) else xp.astype(x, x._domain.dtype_named("float64"))
