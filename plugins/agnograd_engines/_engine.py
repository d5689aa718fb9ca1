"""Engines: libraries with derivatives of their own, whose functions ops can become.

A bridge (``Backend.bridge``) carries one function of a user's over. An engine makes functions of a
library of ops, each by its rule.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from agnograd.errors import PluginError
from agnograd.extend import switch
from agnograd.extend.entry_points import chosen, installed, load

if TYPE_CHECKING:
    from agnograd_engines._primitive import Primitive

ENGINES = "agnograd.engines"  # the group of entry points

Arrays = tuple[Any, ...]
# What computes an op: from the values of its array parameters, in their order (those of a sequence
# one by one), and from the values of all others.
Calling = Callable[[Arrays, Arrays], Any]


class Engine:
    """What a library with its own derivatives offers for ops (``agnograd.bridge.library``).

    An entry point in the group ``agnograd.engines`` names an instance of a subclass. Its own name
    is that of the package which the types of the library's arrays come from, so that nothing is
    imported before such an array is met.

    Attributes
    ----------
    backend : str
        The name of the backend whose raw arrays ops are computed on.
    differentiates : bool
        Whether the library differentiates its own functions of the standard. If not, these become
        functions of the engine by their rules, too.
    tracing : callable or None
        Says whether the library follows the program's own Python now, in which case ``traced``
        calls functions of a library by their ops' names: ``traced(name, args, kwargs)``.
    """

    backend: str
    differentiates = True
    tracing: Callable[[], bool] | None = None
    traced: Callable[[str, Arrays, dict[str, Any]], Any]

    def types(self) -> tuple[type, ...]:
        """Return types that are none of the backend's, but stand for its arrays."""
        return ()

    def function(self, primitive: Primitive) -> Calling:
        """Return what computes an op on the library's arrays, and what the library differentiates.

        It gets arrays of any of the library's types, numbers, None and NumPy arrays.
        """
        raise NotImplementedError(f"{type(self).__name__} must override function()")

    def constant_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that has no gradient by nature, for the library's arrays."""
        return function

    def program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is made of the engine's functions, as users call it."""
        return function

    def asarray(self, raw: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``asarray``, given the backend's own, for the library's arrays."""
        return raw

    def device(self, x: Any) -> Any:
        """Return the device of an array of one of the ``types``."""
        raise NotImplementedError(f"{type(self).__name__} must override device()")

    def constant(self, value: Any) -> Any:
        """Return a NumPy array as one of the library's, without a gradient."""
        return value


def engines() -> list[str]:
    """Return the names of the packages that an engine is installed for."""
    return list(installed(ENGINES))


@cache
def engine_named(name: str) -> Engine:
    """Return the engine for a package's arrays."""
    engine = load(chosen("engine", name, ENGINES, PluginError), Engine)
    if engine.tracing is not None:
        TRACERS.append((engine.tracing, engine.traced))
    return engine


# The engines that are loaded and may follow a program, which must meet as little as possible of
# what is not its own.
TRACERS: list[tuple[Callable[[], bool], Callable[..., Any]]] = []


def load_what_is_imported() -> None:
    """Load the engines of packages that are imported."""
    for name in engines():
        if name in sys.modules:
            engine_named(name)


# How many types are remembered without an engine: programs may make classes for ever, but few of
# arrays.
KNOWN_TYPES = switch("KNOWN_TYPES", 10_000, least=0, most=10**6, module=__name__)
_PLAIN = (bool, int, float, complex, str, type(None))


class _EngineByType(dict[type, str | None]):
    """By type, the name of the engine for its arrays: none of numbers, and None of all others."""

    def __missing__(self, kind: type) -> str | None:
        found = "" if kind in _PLAIN else None
        if kind.__module__ != "builtins" and hasattr(kind, "__add__"):
            known = engines()
            roots = (base.__module__.partition(".")[0] for base in kind.__mro__[:-1])
            found = next((root for root in roots if root in known), None)
        if found is not None or len(self) < KNOWN_TYPES:
            self[kind] = found
        return found


engine_of = _EngineByType()  # this imports nothing
