"""The methods of NumPy's ufuncs: ``reduce``, ``accumulate``, ``outer``, and ``at``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._arguments import as_array, as_dtype, check_cast
from agnograd._variable import Variable
from agnograd._views import replace
from agnograd.errors import UnsupportedFunctionError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["METHODS"]

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


def _refuse(name: str, method: str, instead: str) -> UnsupportedFunctionError:
    return UnsupportedFunctionError(
        f"{name}.{method} has no counterpart on Variables: {instead}, or give it v.detach()"
    )


def _named(domain: Domain, name: str, x: Any, *args: Any, **options: Any) -> Any:
    from agnograd._array_functions import FUNCTIONS

    return FUNCTIONS[name](domain, (x, *args), options)


def _reduce(
    domain: Domain, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
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
    x = as_array(domain, x)
    if given["axis"] == 0 and not x.ndim:
        given["axis"] = None
    if name in REDUCTIONS:
        if given.get("dtype") is None:
            given.pop("dtype", None)
        return _named(domain, REDUCTIONS[name], x, **given)
    keepdims = given.pop("keepdims", False)
    axis = given.pop("axis")
    several = not isinstance(axis, int) or not x.ndim
    if name not in ASSOCIATIVE or several or not x.shape[axis] or given:
        raise _refuse(name, "reduce", f"write it as a loop over np.{name}")
    last = _scanned(domain, function, x, axis)
    xp = domain.namespace
    last = xp.moveaxis(last, axis, 0)[-1, ...]
    return xp.expand_dims(last, axis=axis) if keepdims else last


def _accumulate(
    domain: Domain, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    x, *rest = inputs
    given = dict(zip(("axis", "dtype"), rest, strict=False))
    axis = given.get("axis", options.pop("axis", 0))
    dtype = given.get("dtype", options.pop("dtype", None))
    x = as_array(domain, x)
    if name in ACCUMULATIONS:
        return _named(domain, ACCUMULATIONS[name], x, axis=axis, dtype=dtype)
    if name not in ASSOCIATIVE:
        raise _refuse(name, "accumulate", f"write it as a loop over np.{name}")
    if dtype is not None:
        x = domain.namespace.astype(x, as_dtype(domain, dtype))
    return _scanned(domain, function, x, axis)


def _scanned(domain: Domain, function: Function, x: Variable, axis: int) -> Any:
    """Return the running results along an axis, in log2(n) steps, each of twice the length."""
    xp = domain.namespace
    x = xp.moveaxis(x, axis, 0)
    x = xp.astype(x, function(x[:0, ...], x[:0, ...]).dtype, copy=False)  # also where it is alone
    step = 1
    while step < x.shape[0]:
        x = xp.concat([x[:step, ...], function(x[:-step, ...], x[step:, ...])], axis=0)
        step *= 2
    return xp.moveaxis(x, 0, axis)


def _outer(
    domain: Domain, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    x1, x2 = (as_array(domain, each) for each in inputs)
    if "dtype" in options:
        dtype = as_dtype(domain, options.pop("dtype"))
        for each in (x1, x2):
            check_cast(domain, each.dtype, dtype)
        x1, x2 = (domain.namespace.astype(each, dtype) for each in (x1, x2))
    return function(domain.namespace.reshape(x1, (*x1.shape, *(1,) * x2.ndim)), x2)


def _at(
    domain: Domain, name: str, function: Function, inputs: tuple[Any, ...], options: dict[str, Any]
) -> None:
    x, key, *values = inputs
    if name not in ("add", "subtract"):
        raise _refuse(name, "at", "v[key] = f(v[key]) writes at keys that name no place twice")
    if not isinstance(x, Variable):
        raise _refuse(name, "at", "make the array that is written to a Variable, by xp.asarray")
    xp = domain.namespace
    value = xp.broadcast_to(as_array(domain, values[0]), x[key].shape)
    check_cast(domain, value.dtype, x.dtype)
    added = xp.scatter_add(xp.astype(value, x.dtype), key, shape=x.shape)
    replace(x, function(x, added))


METHODS = {"accumulate": _accumulate, "at": _at, "outer": _outer, "reduce": _reduce}
