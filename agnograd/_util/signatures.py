"""Signatures, which ops give as texts, and the parameters of functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache
from keyword import iskeyword
from types import FunctionType
from typing import Any

from agnograd._util.deferred import built, function_from
from agnograd.errors import RuleError

# What namespaces have beside ops: constants, dtypes, and the standard's extensions.
EXTENSIONS = ("linalg", "fft")
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
NO_OPS = frozenset(
    {"e", "inf", "nan", "newaxis", "pi", *EXTENSIONS, *DTYPES, "float16", "bfloat16"}
)
_SPECIAL = frozenset({"__getitem__", "__setitem__"})
# What is known of an array, ``x_shape`` say, without keeping it.
FACTS = ("shape", "dtype", "device")
# What the functions that are written for ops, and rules, know under these names.
_TAKEN = frozenset(
    {
        *("g", "xp", "out", "into", "backend", "node", "arrivals", "gradients", "keep"),
        *("any", "int", "tuple", "zip", "KeyError"),
    }
)


def prototype(text: str) -> FunctionType:
    """Return a function that does nothing, with the parameters of ``sum(x, /, *, axis=None)``."""
    try:
        return _function(text.partition("(")[2])
    except (SyntaxError, NameError) as error:
        raise RuleError(f"{text!r} is not a signature such as 'sum(x, /, *, axis=None)'") from error


# Ops have some hundred signatures; programs may make others for ever.
@lru_cache(1024)
def _function(rest: str) -> FunctionType:
    """Return a function by what follows its opening parenthesis: many ops share one."""
    known: FunctionType | None = built().get(rest)
    return function_from(f"def function({rest}: ...", {}) if known is None else known


@lru_cache(1024)
def signature_of(text: str) -> inspect.Signature:
    """Return the signature that a text such as ``sum(x, /, *, axis=None)`` gives."""
    return inspect.signature(prototype(text))


def check_name(chapter: str, name: str) -> None:
    """Raise if an op cannot have a name: it is not a name in Python, or a namespace's own."""
    *_, last = parts = name.split(".")
    if not all(part.isidentifier() and not iskeyword(part) for part in parts):
        raise RuleError(f"{chapter}: {name!r} is not a name of a function; name the op otherwise")
    if last.startswith("_") and name not in _SPECIAL:
        raise RuleError(
            f"{chapter}: {name!r} begins with an underscore, as what a namespace has for itself "
            "does; name the op otherwise"
        )


def check_parameters(op: str, parameters: Iterable[str], features: Iterable[str]) -> None:
    """Raise if a parameter has a name that stands for something else where the op is computed.

    ``features`` are what the method that registers the op takes beside rules, such as ``view``.
    """
    parameters = tuple(parameters)
    facts = {f"{name}_{fact}" for name in parameters for fact in FACTS}
    for name in parameters:
        if name.startswith("_"):
            reason = "begins with an underscore, as agnograd's own names do"
        elif name in _TAKEN or name in facts:
            reason = "stands for something else in rules, or in what is written for an op"
        elif name in features:
            reason = f"is that of a feature of op sets: `{name}=` cannot be a rule"
        else:
            continue
        raise RuleError(f"{op}: the name of the parameter {name!r} {reason}; rename it")


def positional_only(function: FunctionType) -> tuple[str, ...]:
    """Return the names of a function's positional-only parameters."""
    code = function.__code__
    return code.co_varnames[: code.co_posonlyargcount]


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters; of a plain one without making a signature."""
    code = getattr(function, "__code__", None)
    if code is None or vars(function):
        return tuple(inspect.signature(function).parameters)
    count = code.co_argcount + code.co_kwonlyargcount
    names, variadic = [*code.co_varnames[:count]], iter(code.co_varnames[count:])
    if code.co_flags & inspect.CO_VARARGS:
        names.insert(code.co_argcount, next(variadic))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        names.append(next(variadic))
    return tuple(names)
