"""Functions that are looked up, or compiled, when they are called first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

__all__ = ["Deferred", "deferred_function", "later", "now"]


class Deferred:
    """A function that ``load`` returns when it is first called.

    A backend's namespace may have a ``Deferred`` in place of a function whose module takes long to
    import. Ops call the loaded function directly.

    Parameters
    ----------
    load : callable
        A callable without arguments that returns the function.
    """

    __slots__ = ("_function", "_load")

    def __init__(self, load: Callable[[], Callable[..., Any]]) -> None:
        self._load = load
        self._function: Callable[..., Any] | None = None

    def loaded(self) -> Callable[..., Any]:
        """Return the function itself."""
        if self._function is None:
            self._function = self._load()
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.loaded()(*args, **kwargs)


def now(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a deferred one stands for, and any other one as it is."""
    return function.loaded() if isinstance(function, Deferred) else function


@cache
def later(module: str, name: str) -> Any:
    """Return what is in a module that imports the one that asks, or takes long to import.

    In a function that is called often: an import statement costs each call half a microsecond.
    """
    return getattr(import_module(module), name)


def deferred_function(
    name: str, scope: dict[str, Any], make: Callable[[], FunctionType], prototype: FunctionType
) -> FunctionType:
    """Return a plain function that becomes the one that ``make`` returns when it is called first.

    Parameters
    ----------
    name : str
        The function's name.
    scope : dict
        Its globals, to which those of the other one are added.
    make : callable
        Returns a function without free variables, of any name.
    prototype : function
        One with the parameters of that function, for those who ask for them before it is called.
    """
    # Two threads may call it first: the one that comes late finds it made.
    left = [make]

    def become() -> Any:
        for each in left:
            _replace(function, scope, each())
        left.clear()
        return function

    scope["_become"] = become
    function = FunctionType(_CODE.replace(co_name=name, co_qualname=name), scope, name)
    function.__wrapped__ = prototype  # type: ignore[attr-defined]
    return function


def _replace(function: Any, scope: dict[str, Any], made: FunctionType) -> None:
    scope.update((key, value) for key, value in made.__globals__.items() if key not in scope)
    # The code comes last: another thread may call the function at any time.
    function.__defaults__ = made.__defaults__
    function.__kwdefaults__ = made.__kwdefaults__
    function.__code__ = made.__code__
    vars(function).pop("__wrapped__", None)


_CODE = (lambda *args, **kwargs: _become()(*args, **kwargs)).__code__  # type: ignore[name-defined] # noqa: F821
