"""NumPy's functions, ufuncs and methods on Variables of every backend.

They are programs of the standard's functions, by NumPy's names. NumPy asks for them through its
protocols ``__array_ufunc__`` and ``__array_function__``; the methods of Variables are the same
programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd import Variable
from agnograd.extend import Protocol

__all__ = ["NumPyFunctions", "protocol"]


class NumPyFunctions(Protocol):
    """Answers for NumPy: what computes is imported when it is first asked for."""

    def ufunc(self, xp: Any, ufunc: Any) -> Callable[..., Any] | None:
        """Return what a ufunc of NumPy or SciPy is on Variables."""
        from agnograd_numpy_functions.ufuncs import find

        return find(xp, ufunc)

    def call_ufunc(
        self,
        xp: Any,
        ufunc: Any,
        function: Callable[..., Any],
        method: str,
        inputs: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Call a ufunc's method, or the ufunc with NumPy's options."""
        from agnograd_numpy_functions.ufuncs import call_ufunc

        return call_ufunc(xp, ufunc, function, method, inputs, options)

    def function(self, function: Callable[..., Any]) -> Callable[[Any, Any, Any], Any] | None:
        """Return the program of a NumPy function."""
        from agnograd_numpy_functions.functions import FUNCTIONS, name_of

        return FUNCTIONS.get(name_of(function))

    def method(self, name: str) -> Callable[[Any, Any, Any], Any] | None:
        """Return the program of a method of NumPy's arrays."""
        from agnograd_numpy_functions.functions import FUNCTIONS

        return FUNCTIONS.get(name)

    def instead(self, variable: Variable, protocol: str) -> str:
        """Return which call asked for the memory, and what to write instead."""
        from agnograd_numpy_functions.leaving import asked

        return asked(variable, protocol)


protocol = NumPyFunctions()
