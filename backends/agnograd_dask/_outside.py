"""What Dask's own functions are given: a tracked Variable would lose its gradient in their graphs.

Dask gives every graph a name that depends on what it is made of, and asks for that. So this is
where arguments, and functions with what they close over, are seen before a graph is made.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import partial
from typing import Any

from dask.base import normalize_token
from dask.delayed import Delayed

from agnograd import Variable
from agnograd.errors import LostGradientError
from agnograd.extend import backend_of, is_tracked

__all__ = ["watch"]


def watch() -> None:
    """Let Dask refuse tracked Variables of its own arrays. Those of other libraries stay apart."""
    objects = normalize_token.dispatch(object)
    functions = normalize_token.dispatch(types.FunctionType)

    def of_variable(variable: Variable) -> Any:
        _refuse(variable, "")
        return ("agnograd", objects(variable.data)) if _is_lazy(variable) else objects(variable)

    def of_function(f: types.FunctionType) -> Any:
        for each in _read_by(f):
            _refuse(each, f" that {f.__qualname__} uses")
        return functions(f)

    def of_delayed(made: Delayed) -> Any:
        for task in dict(made.__dask_graph__()).values():
            for each in _given(task):
                _refuse(each, " that a delayed function takes")
        return made.__dask_tokenize__()

    normalize_token.register(Variable, of_variable)
    normalize_token.register(types.FunctionType, of_function)
    normalize_token.register(Delayed, of_delayed)


def _given(value: Any) -> Iterator[Any]:
    """Yield what a task computes with: the parts of its arguments, and what its function reads."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set):
        for each in value:
            yield from _given(each)
    elif isinstance(value, types.FunctionType):
        yield from _read_by(value)
    elif isinstance(value, partial) or (hasattr(value, "dependencies") and hasattr(value, "key")):
        for name in ("func", "args", "kwargs", "keywords", "value"):
            yield from _given(getattr(value, name, None))
    else:
        yield value


def _read_by(f: types.FunctionType) -> Iterator[Any]:
    """Yield what a function closes over, its defaults, and the global variables that it names."""
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            continue
    yield from f.__defaults__ or ()
    yield from (f.__kwdefaults__ or {}).values()
    yield from (f.__globals__[name] for name in f.__code__.co_names if name in f.__globals__)


def _is_lazy(value: Any) -> bool:
    backend = backend_of(value)
    return backend is not None and backend.name == "dask"


def _refuse(value: Any, where: str) -> None:
    if isinstance(value, Variable) and is_tracked(value) and _is_lazy(value):
        raise LostGradientError(
            f"a function of Dask would lose the gradient of a Variable{where}: use functions of "
            "ag.namespace('dask'), make the function differentiable by ag.wrap(f, vjp=...), or "
            "pass x.detach()"
        )
