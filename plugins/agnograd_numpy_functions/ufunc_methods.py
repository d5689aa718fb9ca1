"""The methods of NumPy's ufuncs: ``reduce``, ``accumulate``, ``outer``, and ``at``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd import Variable
from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import replace
from agnograd_numpy_functions._arguments import as_array, as_dtype, cast

__all__ = ["METHODS", "refusal"]

# The reductions that ufuncs of two inputs are; the functions are those of NumPy's names.
REDUCTIONS = {
    "add": "sum",
    "fmax": "nanmax",
    "fmin": "nanmin",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod"}
# Those whose running result may be computed in any order.
ASSOCIATIVE = frozenset(
    {
        *("bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "logaddexp", "logaddexp2"),
        *("logical_and", "logical_or", "logical_xor", "maximum", "minimum"),
    }
)
Function = Callable[..., Any]


def refusal(name: str, method: str, instead: str) -> UnsupportedFunctionError:
    """Return the error of a ufunc's method that Variables lack, which says what to do instead."""
    return UnsupportedFunctionError(
        f"{name}.{method} has no counterpart on Variables: {instead}, or give it v.detach()"
    )


def _named(xp: Any, name: str, x: Any, *args: Any, **options: Any) -> Any:
    from agnograd_numpy_functions.functions import FUNCTIONS

    return FUNCTIONS[name](xp, (x, *args), options)


def _reduce(
    xp: Any, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    given = {
        key: options.pop(key)
        for key in ("axis", "dtype", "keepdims", "initial", "where")
        if key in options
    }
    x, *rest = inputs
    given |= dict(zip(("axis", "dtype"), rest, strict=False))  # out is given by keyword, always
    given.setdefault("axis", 0)
    if given.get("initial", 0) is None:
        del given["initial"]
    x = as_array(xp, x)
    if given["axis"] == 0 and not x.ndim:
        given["axis"] = None
    if name in REDUCTIONS:
        if given.get("dtype") is None:
            given.pop("dtype", None)
        return _named(xp, REDUCTIONS[name], x, **given)
    keepdims = given.pop("keepdims", False)
    axis = given.pop("axis")
    several = not isinstance(axis, int) or not x.ndim
    if name not in ASSOCIATIVE or several or not x.shape[axis] or given:
        raise refusal(name, "reduce", f"write it as a loop over np.{name}")
    last = _scanned(xp, function, x, axis)
    last = xp.moveaxis(last, axis, 0)[-1, ...]
    return xp.expand_dims(last, axis=axis) if keepdims else last


def _accumulate(
    xp: Any, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    x, *rest = inputs
    given = dict(zip(("axis", "dtype"), rest, strict=False))
    axis = given.get("axis", options.pop("axis", 0))
    dtype = given.get("dtype", options.pop("dtype", None))
    x = as_array(xp, x)
    if name in ACCUMULATIONS:
        return _named(xp, ACCUMULATIONS[name], x, axis=axis, dtype=dtype)
    if name not in ASSOCIATIVE:
        raise refusal(name, "accumulate", f"write it as a loop over np.{name}")
    if dtype is not None:
        x = xp.astype(x, as_dtype(xp, dtype))
    return _scanned(xp, function, x, axis)


def _scanned(xp: Any, function: Function, x: Variable, axis: int) -> Any:
    """Return the running results along an axis, in log2(n) steps, each of twice the length."""
    x = xp.moveaxis(x, axis, 0)
    x = xp.astype(x, function(x[:0, ...], x[:0, ...]).dtype, copy=False)  # also of a single element
    step = 1
    while step < x.shape[0]:
        x = xp.concat([x[:step, ...], function(x[:-step, ...], x[step:, ...])], axis=0)
        step *= 2
    return xp.moveaxis(x, 0, axis)


def _outer(
    xp: Any, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    x1, x2 = (as_array(xp, each) for each in inputs)
    if "dtype" in options:
        x1, x2 = cast(xp, (x1, x2), as_dtype(xp, options.pop("dtype")))
    return function(xp.reshape(x1, (*x1.shape, *(1,) * x2.ndim)), x2)


def _at(
    xp: Any, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
) -> None:
    x, key, *values = inputs
    if name not in ("add", "subtract"):
        raise refusal(name, "at", "v[key] = f(v[key]) writes at keys that name no place twice")
    if not isinstance(x, Variable):
        raise refusal(name, "at", "make the array that is written to a Variable, by xp.asarray")
    (value,) = cast(xp, [as_array(xp, values[0])], x.dtype)
    added = xp.scatter_add(xp.broadcast_to(value, x[key].shape), key, shape=x.shape)
    replace(x, function(x, added))


METHODS = {"accumulate": _accumulate, "at": _at, "outer": _outer, "reduce": _reduce}
