"""NumPy's ufuncs on Variables, by their names: what each is on a backend, and its methods."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import as_ufunc, backend_of
from agnograd_numpy_functions._arguments import (
    as_array,
    as_arrays,
    as_dtype,
    cast,
    is_foreign,
    name_of,
    write_out,
)
from agnograd_numpy_functions.ufunc_methods import METHODS, refusal
from agnograd_numpy_functions.ufunc_programs import PROGRAMS

__all__ = ["RENAMED", "call_ufunc", "find"]

# NumPy's name of a ufunc, where it is not the standard's.
RENAMED = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
}
# Whose inputs do not take each other's dtype.
_APART = {"ldexp"}
# Where the ufuncs that are known by name come from: another's may mean something else by it.
_MODULES = ("numpy", "numpy._core.umath", "scipy.special", "scipy.special._ufuncs")


def find(xp: Any, ufunc: Any) -> Callable[..., Any] | None:
    """Return what a ufunc is on the Variables of a namespace: a function of its inputs, or None."""
    name = getattr(ufunc, "__name__", type(ufunc).__name__)
    if not any(getattr(sys.modules.get(place), name, None) is ufunc for place in _MODULES):
        return None
    op = RENAMED.get(name, name)
    operator: Callable[..., Any] | None = as_ufunc(xp, op)
    if operator is not None:
        return operator
    if op in PROGRAMS:
        return _of_arrays(xp, lambda *inputs: PROGRAMS[op](xp, *inputs), op in _APART)
    function = getattr(xp, op, None) or getattr(getattr(xp, "special", None), op, None)
    return None if function is None else _of_arrays(xp, function)


def _of_arrays(xp: Any, function: Callable[..., Any], apart: bool = False) -> Callable[..., Any]:
    """Return a function that takes whatever NumPy takes for an array."""

    def call(*inputs: Any) -> Any:
        if any(is_foreign(each) for each in inputs):
            return NotImplemented
        arrays = [as_array(xp, each) for each in inputs] if apart else as_arrays(xp, inputs)
        return function(*arrays)

    return call


def call_ufunc(
    xp: Any,
    ufunc: Any,
    function: Callable[..., Any],
    method: str,
    inputs: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Call a ufunc, or one of its methods, with NumPy's options.

    Parameters
    ----------
    xp : namespace
        The Variables' namespace.
    ufunc : numpy.ufunc
        The ufunc.
    function : callable
        What it is on Variables.
    method : str
        ``__call__``, ``reduce``, ``accumulate``, ``outer``, ``at`` or ``reduceat``.
    inputs, options
        What NumPy's protocol hands over.
    """
    out = options.pop("out", None)
    if any(is_foreign(each) for each in (*inputs, *(out or ()))):
        return NotImplemented
    name = ufunc.__name__
    _check(name, options)
    casting = options.pop("casting", "same_kind")
    if method in METHODS:
        result = METHODS[method](xp, name, function, inputs, options)
    elif method == "__call__":
        result = _call(xp, ufunc, function, inputs, out, casting, options)
    else:
        raise refusal(name, method, f"write it with slices and {name}.reduce")
    if options:
        raise UnsupportedFunctionError(
            f"{name}.{method} of Variables has no keyword {', '.join(sorted(options))}"
        )
    if out is None or result is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    written = tuple(
        each if to is None else write_out(xp, to, each, casting, method == "__call__")
        for to, each in zip(out, results, strict=True)
    )
    return written if isinstance(result, tuple) else written[0]


def _check(name: str, options: dict[str, Any]) -> None:
    """Drop options that say what holds anyway; what would lay memory out is not ours to say."""
    for option, harmless in (
        ("subok", (True, False)),
        ("order", ("K", "A", "C", None)),
        ("axes", (None,)),
        ("signature", (None,)),
        ("sig", (None,)),
    ):
        given = options.pop(option, harmless[0])
        if not any(given is each or given == each for each in harmless):
            raise UnsupportedFunctionError(f"{name} of Variables takes no {option}={given!r}")


def _check_inputs(xp: Any, ufunc: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Let NumPy refuse, on empty arrays, what its casting rule does not allow."""
    numpy = sys.modules["numpy"]  # it is there: its ufunc was called
    empty = [
        each
        if isinstance(each, int | float | complex)
        else numpy.empty((0, 0), name_of(as_array(xp, each).dtype))
        for each in inputs
    ]
    ufunc(*empty, **options)


def _call(
    xp: Any,
    ufunc: Any,
    function: Callable[..., Any],
    inputs: tuple[Any, ...],
    out: tuple[Any, ...] | None,
    casting: str,
    options: dict[str, Any],
) -> Any:
    name = ufunc.__name__
    dtype = as_dtype(xp, options.pop("dtype", None))
    where = options.pop("where", True)
    if casting not in ("same_kind", "unsafe"):
        name_or_none = None if dtype is None else name_of(dtype)
        _check_inputs(xp, ufunc, inputs, {"casting": casting, "dtype": name_or_none})
    if dtype is not None and not xp.isdtype(dtype, "bool"):
        inputs = tuple(cast(xp, as_arrays(xp, inputs), dtype, casting))
    if name == "vecdot" and "axis" in options:
        arrays = as_arrays(xp, inputs)
        axis = options.pop("axis")
        return xp.vecdot(*(xp.moveaxis(each, axis, -1) for each in arrays))
    if where is True:
        return function(*inputs)
    if out is None or any(each is None for each in out):
        raise UnsupportedFunctionError(
            f"{name} with where= leaves elements undefined without out=: give out=, or use np.where"
        )
    mask = as_array(xp, where)
    with backend_of(xp).quiet():  # of what is left out
        results = function(*inputs)
    several = isinstance(results, tuple)
    kept = tuple(
        xp.where(mask, each, as_array(xp, to))
        for each, to in zip(results if several else (results,), out, strict=True)
    )
    return kept if several else kept[0]
