"""What NumPy's functions are given, as a backend takes it: arrays, dtypes, and where to write."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from agnograd import Variable
from agnograd.errors import LostGradientError, UnsupportedArrayError
from agnograd.extend import backend_of, operand, replace
from agnograd_numpy_functions._helpers import dtype_named, promoted

__all__ = [
    "as_array",
    "as_arrays",
    "as_dtype",
    "cast",
    "check_cast",
    "is_foreign",
    "like",
    "name_of",
    "ready",
    "write_out",
]

_NAMES = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    }
)


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
    name = {float: "float64", complex: "complex128"}.get(type(value))
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


def ready(x: Any, value: Any) -> Any:
    """Return a value, a Python one included, as an array of the backend of ``x``."""
    return as_array(x.__array_namespace__(), value)


def like(x: Any, value: Any) -> Any:
    """Return a value as an array of the dtype, and on the device, of ``x``."""
    xp = x.__array_namespace__()
    if hasattr(value, "dtype") or not isinstance(value, bool | int | float | complex):
        return xp.astype(ready(x, value), x.dtype)
    return xp.asarray(value, dtype=x.dtype, device=x.device)


def as_dtype(xp: Any, dtype: Any) -> Any:
    """Return the backend's dtype for one of NumPy's, its name, or a Python type."""
    if dtype is None or isinstance(dtype, type(backend_of(xp).dtype("bool"))):
        return dtype
    if dtype is int:
        return xp.__array_namespace_info__().default_dtypes()["integral"]
    try:
        name = sys.modules["numpy"].dtype(dtype).name
    except TypeError:  # as of bfloat16
        name = getattr(dtype, "name", str(dtype))
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


def name_of(dtype: Any) -> str:
    """Return the name of a dtype."""
    named = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(named).rpartition(".")[2]


def check_cast(dtype: Any, to: Any, casting: str = "same_kind") -> None:
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
    # NumPy, which every library's interface has imported, does not know bfloat16.
    names = (name_of(each).replace("bfloat16", "float16") for each in (dtype, to))
    if not sys.modules["numpy"].can_cast(*names, casting):
        raise TypeError(
            f"a result of dtype {dtype} is not written as {to} with casting={casting!r}, which "
            "would lose a part of each number; convert it by astype"
            if casting == "same_kind"
            else f"dtype {dtype} is not cast to {to} with casting={casting!r}; convert it by astype"
        )


def cast(xp: Any, arrays: Iterable[Any], dtype: Any, casting: str = "same_kind") -> list[Any]:
    """Return arrays in a dtype to which the rule allows to cast each of them."""
    arrays = list(arrays)
    for each in arrays:
        check_cast(each.dtype, dtype, casting)
    return [xp.astype(each, dtype, copy=False) for each in arrays]


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
    check_cast(result.dtype, as_array(xp, out).dtype, casting)
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
