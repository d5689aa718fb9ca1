"""What C computes with: the types of numbers."""

from __future__ import annotations

from typing import Any

from agnograd_compile.lowering import Fact

# What C calls the dtypes that it computes with; a complex number is two real ones.
CODES = {
    ("f", 8): "f64",
    ("f", 4): "f32",
    ("i", 8): "i64",
    ("i", 4): "i32",
    ("b", 1): "b1",
    ("c", 16): "f64",
    ("c", 8): "f32",
}
BYTES = {"f64": 8, "f32": 4, "i64": 8, "i32": 4, "b1": 1}
FLOATS = frozenset(("f64", "f32"))


def code_of(fact: Fact) -> str | None:
    """Return what C calls the dtype of a value, or None if it does not compute with it."""
    dtype = fact.dtype
    return CODES.get((dtype.kind, dtype.itemsize)) if dtype.isnative else None


def type_in_c(fact: Fact) -> str:
    """Return what C calls the dtype of a value that it computes with."""
    return CODES[fact.dtype.kind, fact.dtype.itemsize]


def is_complex(fact: Fact) -> bool:
    """Return whether the elements of a value are complex."""
    return bool(fact.dtype.kind == "c")


def type_of(given: Any) -> type | None:
    """Return the type of a Python number, None for what is not one."""
    return type(given) if type(given) in (float, int, bool, complex) else None
