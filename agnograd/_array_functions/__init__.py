"""NumPy's functions on Variables of any backend: programs of the standard, by NumPy's names.

NumPy finds them by its protocol ``__array_function__``; the methods of Variables are the same
programs. Each module is one noun, with a table of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from agnograd._array_functions import (
    calculus,
    creation,
    elementwise,
    fft,
    indexing,
    joining,
    linalg,
    polynomials,
    products,
    quantiles,
    reductions,
    searching,
    shapes,
    sorting,
    statistics,
)
from agnograd._array_functions._program import Program, Table
from agnograd._backends import backend_of
from agnograd._variable import Variable
from agnograd.errors import UnsupportedFunctionError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["FUNCTIONS", "TABLES", "call_function", "program_of"]

TABLES = (
    calculus,
    creation,
    elementwise,
    fft,
    indexing,
    joining,
    linalg,
    polynomials,
    products,
    quantiles,
    reductions,
    searching,
    shapes,
    sorting,
    statistics,
)
FUNCTIONS = Table()
for _module in TABLES:
    FUNCTIONS.update(_module.table)


def call_function(
    domain: Domain,
    function: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Answer for a function of NumPy's that was given a Variable.

    Raises
    ------
    UnsupportedFunctionError
        If there is no program for it.
    """
    # What is neither a Variable nor a backend's array may know better.
    if not all(issubclass(each, Variable) or backend_of(each) is not None for each in types):
        return NotImplemented
    module = function.__module__.removeprefix("numpy").removeprefix(".")
    name = f"{module}.{function.__name__}" if module else function.__name__
    return program_of(domain, name)(domain, args, kwargs)


def program_of(domain: Domain, name: str) -> Program:
    """Return the program of a function of NumPy's.

    Raises
    ------
    UnsupportedFunctionError
        If there is none.
    """
    program = FUNCTIONS.get(name)
    if program is None:
        raise UnsupportedFunctionError(
            f"np.{name} has no counterpart on Variables (backend {domain.backend.name!r}): write "
            "it with other functions, give it a derivative of your own by ag.wrap, or pass "
            "v.detach(), an array without a gradient"
        )
    return program
