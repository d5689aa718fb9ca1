"""What NumPy's functions are given, as a backend takes it: arrays, dtypes, and where to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Number
from typing import TYPE_CHECKING, Any

from agnograd._deferred import later
from agnograd._domain import DTYPES
from agnograd._fit import is_python_scalar
from agnograd._namespace import domain_named, owner_of
from agnograd._variable import Variable
from agnograd._views import replace
from agnograd.errors import LostGradientError, MixedBackendsError, UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = [
    "as_array",
    "as_arrays",
    "as_dtype",
    "as_operand",
    "check_cast",
    "is_foreign",
    "is_plain_numpy",
    "numpy_function",
    "operand",
    "write_out",
]

# The order of NumPy's kinds of dtypes: a cast to an earlier one loses what values are.
_KINDS = ("bool", "integral", "real floating", "complex floating")
_NAMES = frozenset({*DTYPES, "float16", "bfloat16"})
_BUILTINS = {bool: "bool", float: "float64", complex: "complex128"}
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


def as_array(domain: Domain, value: Any) -> Any:
    """Return an array, a scalar or a nested list as a Variable of a backend, connected.

    Raises
    ------
    MixedBackendsError
        If it is an array of another library.
    """
    if type(value) is domain.Variable:
        return value
    value = as_operand(domain, value)
    if isinstance(value, Variable):
        return value
    return domain.namespace.asarray(value, dtype=_listed_dtype(domain, (value,)))


def as_arrays(domain: Domain, values: Iterable[Any]) -> list[Any]:
    """Return arrays that meet in one function; Python scalars take the others' dtype."""
    operands = [as_operand(domain, value) for value in values]
    if all(isinstance(each, Variable) for each in operands):
        return operands
    if not any(isinstance(each, Variable) for each in operands):
        return [as_array(domain, each) for each in operands]
    xp = domain.namespace
    promoted = later("agnograd._kinds", "promoted")
    dtype = promoted(xp, *operands)
    return [
        each if isinstance(each, Variable) else xp.asarray(each, dtype=dtype) for each in operands
    ]


def _listed_dtype(domain: Domain, values: Any) -> Any:
    """Return the dtype that Python's numbers have in NumPy: libraries have others by default.

    It is None, the library's own choice, where there are only integers, or arrays.
    """
    kinds = set(_kinds_in(values))
    if not kinds <= {bool, int, float, complex}:
        return None
    for kind in (complex, float):
        if kind in kinds:
            return domain.dtype_named(_BUILTINS[kind])
    return None


def _kinds_in(values: Any) -> Iterator[type]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _kinds_in(value)
        else:
            yield type(value)


def as_operand(domain: Domain, value: Any, beside: Any = None) -> Any:
    """Return what ``as_array`` does, but a Python scalar as it is: it takes the others' dtype.

    ``beside`` is the other operand, if there is just one.
    """
    if isinstance(value, domain.Variable) or is_python_scalar(value):
        return value
    if isinstance(value, list | tuple):
        return domain.namespace.asarray(value, dtype=_listed_dtype(domain, value))
    if isinstance(value, domain.array_types) or (owner := owner_of(value)) in (None, domain):
        return domain.namespace.asarray(value)
    if isinstance(value, Number) and hasattr(value, "item"):
        return value.item()
    if domain.backend.accepts(value):
        return domain.namespace.asarray(domain.backend.constant(value, beside))
    kind, name = type(value), domain.backend.name
    raise MixedBackendsError(
        f"an array of type {kind.__module__}.{kind.__qualname__} met a Variable on backend "
        f"{name!r}{'' if owner is None else f' (it is one of {owner.backend.name!r})'}; "
        f"{domain.how_to_meet(owner)}"
    )


def operand(xp: Any, value: Any) -> Any:
    """Return a function's argument in the form that the ops of a namespace take.

    Variables and Python scalars are returned unchanged; raw arrays and nested lists become
    Variables. Another library's scalar becomes a Python scalar. Its array becomes a constant if the
    backend accepts it. For a namespace of raw arrays, with which the functions of packs are also
    called, the results are raw arrays.

    Raises
    ------
    MixedBackendsError
        If it is another backend's Variable, or an array that the backend does not accept.
    """
    domain = domain_named(xp.__package__.removeprefix("agnograd."))
    found = as_operand(domain, value)
    return found.data if xp is domain.raw and isinstance(found, Variable) else found


def as_dtype(domain: Domain, dtype: Any) -> Any:
    """Return the backend's dtype for one of NumPy's, its name, or a Python type."""
    if dtype is None or isinstance(dtype, type(domain.dtype_named("bool"))):
        return dtype
    if dtype is int:
        return domain.namespace.__array_namespace_info__().default_dtypes()["integral"]
    name = _BUILTINS.get(dtype) if isinstance(dtype, type) else None
    if isinstance(dtype, str):
        code = dtype.lstrip("<>=|")
        name = _CODES.get(code, code)
    name = name or getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    if name not in _NAMES:
        raise UnsupportedArrayError(f"backend {domain.backend.name!r} has no dtype {dtype!r}")
    return domain.dtype_named(name)


def is_foreign(value: Any) -> bool:
    """Return whether another library wants to answer for this argument of a NumPy function."""
    kind = type(value)
    return (
        getattr(kind, "__array_ufunc__", None) is not None
        and not isinstance(value, Variable)
        and owner_of(value) is None
    )


def is_plain_numpy(value: Any) -> bool:
    """Return whether a value is a NumPy array that backends may use as a constant.

    Masked arrays and matrices are not, because they have their own rules for operands.
    """
    is_numpy_array: Callable[[Any], bool] = later("array_api_compat", "is_numpy_array")
    return is_numpy_array(value) and bool(value.__array_priority__ <= 0.0)


def _kind(domain: Domain, dtype: Any) -> int:
    is_kind: Callable[..., bool] = domain.namespace.isdtype
    return next((place for place, kind in enumerate(_KINDS) if is_kind(dtype, kind)), 0)


def check_cast(domain: Domain, dtype: Any, to: Any, casting: str = "same_kind") -> None:
    """Refuse what NumPy refuses: to lose the imaginary part, or the fraction, without a word."""
    if casting != "unsafe" and _kind(domain, dtype) > _kind(domain, to):
        raise TypeError(
            f"a result of dtype {dtype} is not written as {to} with casting={casting!r}, which "
            "would lose a part of each number; convert it by astype"
        )


def write_out(
    domain: Domain, out: Any, result: Any, casting: str = "same_kind", broadcast: bool = False
) -> Any:
    """Write a function's result to where ``out=`` says, recorded; return ``out``.

    ``broadcast`` says whether ``out`` may have a shape that the result's is broadcast to.

    Raises
    ------
    LostGradientError
        If the result is tracked and ``out`` is a raw array, which has no gradient.
    """
    check_cast(domain, result.dtype, as_array(domain, out).dtype, casting)
    if not broadcast and result.shape != out.shape:
        raise ValueError(f"out has shape {out.shape}, but the result has shape {result.shape}")
    if isinstance(out, Variable):
        if result.dtype != out.dtype:
            result = domain.namespace.astype(result, out.dtype)
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


def numpy_function(name: str) -> Callable[..., Any]:
    """Return a NumPy function in the form that ``OpSet.composed`` takes, with a namespace first.

    It is the program that agnograd runs when NumPy's function gets a Variable. It works on every
    backend, with NumPy's arguments.

    Parameters
    ----------
    name : str
        The name in NumPy, such as ``linalg.norm`` for a function of a submodule.

    Returns
    -------
    callable
        Its first argument is a namespace, of Variables or of raw arrays. The other arguments are
        those of the NumPy function.

    Raises
    ------
    UnsupportedFunctionError
        When it is called, if there is no such program.

    Examples
    --------
    >>> from agnograd.extend import OpSet, numpy_function
    >>> ops = OpSet("differences")
    >>> ops.composed("gradient(f, *varargs, axis=None)", numpy_function("gradient"))
    """

    def function(xp: Any, *args: Any, **options: Any) -> Any:
        domain = domain_named(xp.__package__.removeprefix("agnograd."))
        out = later("agnograd._array_functions", "program_of")(domain, name)(domain, args, options)
        return out if xp is domain.namespace else _raw(out)

    function.__doc__ = f"Compute what ``numpy.{name}`` computes, with NumPy's arguments."
    return function


def _raw(out: Any) -> Any:
    if isinstance(out, tuple):
        return tuple(_raw(each) for each in out)
    return out.data if isinstance(out, Variable) else out
