"""NumPy functions as programs of the standard: how one is declared, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from numbers import Integral
from operator import index
from typing import Any

from agnograd import Variable
from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import operand
from agnograd_numpy_functions._arguments import as_array, as_dtype, write_out

__all__ = [
    "Array",
    "Arrays",
    "Axis",
    "DType",
    "Into",
    "Lengths",
    "Operand",
    "Operands",
    "Out",
    "Program",
    "Table",
]

# What parameters of programs are annotated with says how an argument is made ready.
Array = Any  # an array: a Variable of the backend
Operand = Any  # an array, or a Python scalar, which takes the dtype of the arrays that it meets
Arrays = Any  # several arrays, or one with a leading axis: a list of Variables
Operands = Any  # the same, with Python scalars as they are
DType = Any  # a NumPy dtype: one of the backend
Lengths = Any  # a shape, or a number for each axis: a tuple, also of a single number
Out = Any  # where the result is written: None, when the program is called
Into = Any  # an array that is written to: a Variable, which a raw array is written from afterwards
Axis = int | tuple[int, ...] | None  # as given: None is all of them

Convert = Callable[[Any, Any], Any]


def _each(convert: Convert) -> Convert:
    def converted(xp: Any, values: Any) -> list[Any]:
        if isinstance(values, Iterable) and not hasattr(values, "__array_namespace__"):
            return [convert(xp, value) for value in values]
        return list(as_array(xp, values))

    return converted


def _integers(value: Any) -> Any:
    """Return NumPy's integers as Python's, also those in tuples and lists."""
    if type(value) in (tuple, list):
        return type(value)(_integers(each) if _is_plain(each) else each for each in value)
    if isinstance(value, bool | Variable):
        return value
    try:
        return index(value)
    except TypeError:
        return value


def _is_plain(value: Any) -> bool:
    return isinstance(value, Integral | tuple | list)


def _lengths(xp: Any, value: Any) -> tuple[int, ...]:
    found = _integers(value)
    return tuple(map(_integers, found)) if isinstance(found, Iterable) else (found,)


_CONVERT: dict[str, Convert] = {
    "Array": as_array,
    "Arrays": _each(as_array),
    "DType": as_dtype,
    "Into": as_array,
    "Lengths": _lengths,
    "Operand": operand,
    "Operands": _each(operand),
}


class Program:
    """One NumPy function, written in the standard's functions.

    Parameters
    ----------
    name : str
        NumPy's name, ``linalg.norm`` for one in a submodule.
    function : callable
        Takes the differentiable namespace, and then what NumPy's function takes. Its annotations
        say how each argument is made ready.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.parameters = {each.name: str(each.annotation) for each in parameters}
        self.several = next(
            (each.name for each in parameters if each.kind is each.VAR_POSITIONAL), None
        )
        self.others = any(each.kind is each.VAR_KEYWORD for each in parameters)
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.positional = [each.name for each in parameters if each.kind in positional]
        self.only = [each.name for each in parameters if each.kind is positional[0]]
        self.into = next((name for name, kind in self.parameters.items() if kind == "Into"), None)
        self.convert = {
            name: (_CONVERT[kind], annotation.endswith("None"))
            for name, annotation in self.parameters.items()
            if (kind := annotation.removesuffix(" | None")) in _CONVERT
        }
        others = {*self.convert, "out", self.several}
        self.plain = [name for name in self.parameters if name not in others]

    def __call__(self, xp: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the program on a backend with the arguments that NumPy's function was given."""
        given, rest = self._bound(args, kwargs)
        target = given.get(self.into) if self.into else None
        for name, (convert, optional) in self.convert.items():
            if name in given and not (optional and given[name] is None):
                given[name] = convert(xp, given[name])
            elif name == self.several:
                rest = tuple(convert(xp, each) for each in rest)
        given |= {name: _integers(given[name]) for name in self.plain if name in given}
        out = given.pop("out", None)
        first = self.positional if rest else self.only
        before = [given.pop(name) for name in first if name in given]
        into = given.get(self.into) if self.into else None
        result = self.function(xp, *before, *rest, **given)
        if into is not target:  # a raw array
            write_out(xp, target, into)
        if out is None:
            return result
        return write_out(xp, out, result)

    def _bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], tuple[Any, ...]]:
        given = dict(zip(self.positional, args, strict=False))
        rest = args[len(self.positional) :]
        if rest and self.several is None:
            raise TypeError(
                f"{self.name} takes {len(self.positional)} positional arguments on Variables, "
                f"not {len(args)}"
            )
        for name, value in kwargs.items():
            if f"{name}_" in self.parameters:  # a name that programs need themselves: xp
                name += "_"
            known = name in self.parameters and name not in (self.several, *self.only)
            if not (known or self.others):
                raise UnsupportedFunctionError(
                    f"np.{self.name} of Variables has no keyword {name!r}; it takes "
                    f"{', '.join(self.parameters)}. v.detach() is an array for NumPy, without a "
                    "gradient"
                )
            if name in given:
                raise TypeError(f"{self.name} got two values for argument {name!r}")
            given[name] = value
        return given, rest


class Table(dict[str, Program]):
    """NumPy functions, by name."""

    def add(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a program under NumPy's names for it."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for name in names:
                self[name] = Program(name, function)
            return function

        return register

    def each(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a program for several functions: it gets NumPy's name before the namespace."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for name in names:
                self[name] = Program(name, partial(function, name))
            return function

        return register
