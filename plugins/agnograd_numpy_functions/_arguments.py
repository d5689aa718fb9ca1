"""What NumPy's functions are given, as a backend takes it: arrays, dtypes, and where to write."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from agnograd import Variable
from agnograd.errors import LostGradientError, UnsupportedArrayError
from agnograd.extend import backend_of, operand, replace
from agnograd_numpy_functions._kinds import dtype_named, promoted

__all__ = [
    "as_array",
    "as_arrays",
    "as_dtype",
    "as_operand",
    "check_cast",
    "is_foreign",
    "name_of",
    "write_out",
]

as_operand = operand
_BUILTINS = {bool: "bool", float: "float64", complex: "complex128"}
# The order of NumPy's kinds of dtypes: a cast to an earlier one loses what values are.
_KINDS = ("bool", "integral", "real floating", "complex floating")


_NAMES = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    }
)


_CODES = {
    "?": "bool",
    "b1": "bool",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "int": "int64",
    "e": "float16",
    "f2": "float16",
    "f": "float32",
    "f4": "float32",
    "single": "float32",
    "d": "float64",
    "f8": "float64",
    "double": "float64",
    "float": "float64",
    "F": "complex64",
    "c8": "complex64",
    "D": "complex128",
    "c16": "complex128",
    "complex": "complex128",
}


def as_array(xp: Any, value: Any) -> Any:
    """Return an array, a scalar or a nested list as a Variable of a backend, connected.

    Raises
    ------
    MixedBackendsError
        If it is an array of another library.
    """
    value = operand(xp, value)
    if isinstance(value, Variable):
        return value
    # Python's fractions are in double precision in NumPy: libraries have others by default.
    name = _BUILTINS.get(type(value)) if isinstance(value, float | complex) else None
    return xp.asarray(value, dtype=None if name is None else backend_of(xp).dtype(name))


def as_arrays(xp: Any, values: Iterable[Any]) -> list[Any]:
    """Return arrays that meet in one function; Python scalars take the others' dtype."""
    operands = [operand(xp, value) for value in values]
    if all(isinstance(each, Variable) for each in operands):
        return operands
    if not any(isinstance(each, Variable) for each in operands):
        return [as_array(xp, each) for each in operands]
    dtype = promoted(xp, *operands)
    return [
        each if isinstance(each, Variable) else xp.asarray(each, dtype=dtype) for each in operands
    ]


def as_dtype(xp: Any, dtype: Any) -> Any:
    """Return the backend's dtype for one of NumPy's, its name, or a Python type."""
    if dtype is None or isinstance(dtype, type(backend_of(xp).dtype("bool"))):
        return dtype
    if dtype is int:
        return xp.__array_namespace_info__().default_dtypes()["integral"]
    name = _BUILTINS.get(dtype) if isinstance(dtype, type) else None
    if isinstance(dtype, str):
        code = dtype.lstrip("<>=|")
        name = _CODES.get(code, code)
    name = name or getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    if name not in _NAMES:
        raise UnsupportedArrayError(f"backend {backend_of(xp).name!r} has no dtype {dtype!r}")
    return dtype_named(xp, name)


def is_foreign(value: Any) -> bool:
    """Return whether another library wants to answer for this argument of a NumPy function."""
    kind = type(value)
    return (
        getattr(kind, "__array_ufunc__", None) is not None
        and not isinstance(value, Variable)
        and backend_of(value) is None
    )


def _kind(xp: Any, dtype: Any) -> int:
    return next((place for place, kind in enumerate(_KINDS) if xp.isdtype(dtype, kind)), 0)


def name_of(dtype: Any) -> str:
    """Return the name of a dtype."""
    named = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(named).rpartition(".")[2]


def check_cast(xp: Any, dtype: Any, to: Any, casting: str = "same_kind") -> None:
    """Refuse what NumPy refuses: by default to lose the imaginary part, or the fraction, silently.

    Raises
    ------
    TypeError
        If the rule does not allow the cast.
    ValueError
        If there is no such rule.
    """
    if dtype == to and casting == "same_kind":
        return
    names = name_of(dtype), name_of(to)
    if "bfloat16" in names:  # which NumPy does not know
        allowed = casting == "unsafe" or _kind(xp, dtype) <= _kind(xp, to)
    else:  # it is there: a function of its own was called
        allowed = sys.modules["numpy"].can_cast(*names, casting)
    if not allowed:
        raise TypeError(
            f"a result of dtype {dtype} is not written as {to} with casting={casting!r}, which "
            "would lose a part of each number; convert it by astype"
            if casting == "same_kind"
            else f"dtype {dtype} is not cast to {to} with casting={casting!r}; convert it by astype"
        )


def write_out(
    xp: Any, out: Any, result: Any, casting: str = "same_kind", broadcast: bool = False
) -> Any:
    """Write a function's result to where ``out=`` says, recorded; return ``out``.

    ``broadcast`` says whether ``out`` may have a shape that the result's is broadcast to.

    Raises
    ------
    LostGradientError
        If the result is tracked and ``out`` is a raw array, which has no gradient.
    """
    check_cast(xp, result.dtype, as_array(xp, out).dtype, casting)
    if not broadcast and result.shape != out.shape:
        raise ValueError(f"out has shape {out.shape}, but the result has shape {result.shape}")
    if isinstance(out, Variable):
        if result.dtype != out.dtype:
            result = xp.astype(result, out.dtype)
        if result.shape == out.shape:
            replace(out, result)
        else:
            out[...] = result
        return out
    if result.requires_grad:
        raise LostGradientError(
            "a result that requires a gradient cannot be written into a raw array, which has "
            "none: instead of `raw += v` or `out=raw`, write `raw = raw + v`, or make the array a "
            "Variable first, by xp.asarray(raw); pass v.detach() if no gradient shall flow"
        )
    out[...] = result.data
    return out
