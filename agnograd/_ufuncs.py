"""NumPy's ufuncs on Variables, by their names: what each is on a backend, and its methods."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._arguments import as_array, as_arrays, as_dtype, check_cast, is_foreign, write_out
from agnograd._compile import compile_op
from agnograd._operators import BINARY, COMPARISONS
from agnograd._registry import registered_in
from agnograd._ufunc_methods import METHODS
from agnograd._ufunc_programs import PROGRAMS
from agnograd.errors import UnsupportedFunctionError

if TYPE_CHECKING:
    from agnograd._domain import Domain

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
_OPERATORS = {op: f"__{short}__" for short, op in BINARY.items()} | {
    op: special for special, op in COMPARISONS.items()
}
# Where the ufuncs that are known by name come from: another's may mean something else by it.
_MODULES = ("numpy", "numpy._core.umath", "scipy.special", "scipy.special._ufuncs")


def find(domain: Domain, ufunc: Any) -> Callable[..., Any]:
    """Return what a ufunc is on a backend's Variables: a function of its inputs.

    Raises
    ------
    UnsupportedFunctionError
        If it has no counterpart.
    """
    name = getattr(ufunc, "__name__", type(ufunc).__name__)
    if not any(getattr(sys.modules.get(place), name, None) is ufunc for place in _MODULES):
        raise _unknown(name, domain)
    op = RENAMED.get(name, name)
    if op in _OPERATORS:
        kernel = domain.backend.operator(getattr(operator, _OPERATORS[op]))
        return compile_op(registered_in("")[op][0], domain, kernel, "ufunc")
    xp = domain.namespace
    if op in PROGRAMS:
        return _of_arrays(domain, lambda *inputs: PROGRAMS[op](xp, *inputs))
    function = getattr(xp, op, None) or getattr(getattr(xp, "special", None), op, None)
    if function is None:
        raise _unknown(name, domain)
    return _of_arrays(domain, function)


def _of_arrays(domain: Domain, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes whatever NumPy takes for an array."""

    def call(*inputs: Any) -> Any:
        if any(is_foreign(each) for each in inputs):
            return NotImplemented
        return function(*as_arrays(domain, inputs))

    return call


def _unknown(name: str, domain: Domain) -> UnsupportedFunctionError:
    return UnsupportedFunctionError(
        f"the ufunc {name!r} has no counterpart on Variables (backend "
        f"{domain.backend.name!r}): ag.wrap gives a function a derivative of your own, and "
        "v.detach() is an array for NumPy, without a gradient"
    )


def call_ufunc(
    domain: Domain, ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call a ufunc, or one of its methods, with NumPy's options.

    Parameters
    ----------
    domain : Domain
        The backend's.
    ufunc : numpy.ufunc
        The ufunc.
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
    casting = options.pop("casting", None) or "same_kind"
    if method in METHODS:
        function = domain.Variable._ufuncs[ufunc]
        result = METHODS[method](domain, name, function, inputs, options)
    elif method == "__call__":
        result = _call(domain, ufunc, inputs, out, casting, options)
    else:
        raise UnsupportedFunctionError(
            f"{name}.{method} has no counterpart on Variables: write it with slices and "
            f"{name}.reduce, or give it v.detach()"
        )
    if options:
        raise UnsupportedFunctionError(
            f"{name}.{method} of Variables has no keyword {', '.join(sorted(options))}"
        )
    if out is None or result is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    written = tuple(
        each if to is None else write_out(domain, to, each, casting, method == "__call__")
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


def _call(
    domain: Domain,
    ufunc: Any,
    inputs: tuple[Any, ...],
    out: tuple[Any, ...] | None,
    casting: str,
    options: dict[str, Any],
) -> Any:
    xp, name = domain.namespace, ufunc.__name__
    function = domain.Variable._ufuncs[ufunc]
    dtype = as_dtype(domain, options.pop("dtype", None))
    where = options.pop("where", True)
    if dtype is not None and not xp.isdtype(dtype, "bool"):
        arrays = as_arrays(domain, inputs)
        for each in arrays:
            check_cast(domain, each.dtype, dtype, casting)
        inputs = tuple(xp.astype(each, dtype) for each in arrays)
    if name == "vecdot" and "axis" in options:
        arrays = as_arrays(domain, inputs)
        axis = options.pop("axis")
        return xp.vecdot(*(xp.moveaxis(each, axis, -1) for each in arrays))
    if where is True:
        return function(*inputs)
    if out is None or any(each is None for each in out):
        raise UnsupportedFunctionError(
            f"{name} with where= leaves elements undefined without out=: give out=, or use np.where"
        )
    mask = as_array(domain, where)
    with domain.backend.quiet():  # of what is left out
        results = function(*inputs)
    several = isinstance(results, tuple)
    kept = tuple(
        xp.where(mask, each, as_array(domain, to))
        for each, to in zip(results if several else (results,), out, strict=True)
    )
    return kept if several else kept[0]
