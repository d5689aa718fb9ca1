"""Signatures, which ops give as texts, and the parameters of functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from agnograd.errors import RuleError

__all__ = ["parameters_of", "positional_only", "prototype", "signature_of"]


def prototype(text: str) -> FunctionType:
    """Return a function that does nothing, with the parameters of ``sum(x, /, *, axis=None)``.

    Raises
    ------
    RuleError
        If the text is no such signature.
    """
    try:
        return _function(text.partition("(")[2])
    except (SyntaxError, NameError) as error:
        raise RuleError(f"{text!r} is no signature such as 'sum(x, /, *, axis=None)'") from error


@cache
def _function(rest: str) -> FunctionType:
    """Return a function by what follows its opening parenthesis: many ops share one."""
    scope: dict[str, Any] = {}
    exec(f"def function({rest}: ...", scope)
    function: FunctionType = scope["function"]
    return function


@cache
def signature_of(text: str) -> inspect.Signature:
    """Return the signature that a text such as ``sum(x, /, *, axis=None)`` gives."""
    return inspect.signature(prototype(text))


def positional_only(function: FunctionType) -> tuple[str, ...]:
    """Return the names of a function's positional-only parameters."""
    code = function.__code__
    return code.co_varnames[: code.co_posonlyargcount]


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters; of a plain one without making a signature."""
    code = getattr(function, "__code__", None)
    if code is None or vars(function) or code.co_flags & _VARIADIC:
        return tuple(inspect.signature(function).parameters)
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
