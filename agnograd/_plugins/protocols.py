"""Protocols: plugins that answer for another library's functions where they are given Variables.

Libraries ask the arrays that they are given, by ``__array_ufunc__`` and ``__array_function__``, or
call methods. Plugins decide what Variables answer; agnograd's own one answers for NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from agnograd._plugins.entry_points import PROTOCOLS, every, load, origin
from agnograd.errors import PluginError, PluginWarning, UnsupportedFunctionError

if TYPE_CHECKING:
    from agnograd._arrays.variable import Variable

__all__ = ["Protocol", "function_for", "instead", "method_named", "ufunc_for"]

Function = Callable[..., Any]


class Protocol:
    """What a plugin in the group ``agnograd.protocols`` overrides: what it has an answer for.

    Each method may return None: then the next plugin is asked. ``xp`` is the namespace of the
    Variables' backend, whose functions take and return Variables.
    """

    def ufunc(self, xp: Any, ufunc: Any) -> Function | None:
        """Return what a ufunc is on Variables: a function of its inputs."""
        return None

    def call_ufunc(
        self,
        xp: Any,
        ufunc: Any,
        function: Function,
        method: str,
        inputs: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Call one of a ufunc's methods, or the ufunc with options.

        ``function`` is what ``ufunc`` has returned; the rest is what ``__array_ufunc__`` is given.
        """
        return NotImplemented

    def function(self, function: Function) -> Callable[[Any, Any, Any], Any] | None:
        """Return ``(xp, args, kwargs) -> result`` for a function that was given a Variable."""
        return None

    def method(self, name: str) -> Callable[[Any, Any, Any], Any] | None:
        """Return ``(xp, args, kwargs) -> result`` for a method; ``args`` begins with the array."""
        return None

    def instead(self, variable: Variable, protocol: str) -> str:
        """Return who asked for the memory of a tracked array, and what to write instead.

        ``protocol`` is ``__array__`` or ``__dlpack__``. It is a part of an error's message.
        """
        return ""


@cache
def protocols() -> tuple[Protocol, ...]:
    """Return every installed protocol that loads; one that does not is left out with a warning."""
    found = []
    for entry in every(PROTOCOLS):
        try:
            protocol = load(entry)
            if not isinstance(protocol, Protocol):
                raise PluginError(
                    f"{entry.group} entry point {entry.name!r} of {origin(entry)} ({entry.value}) "
                    f"is a {type(protocol).__name__}: it must name an instance of a subclass of "
                    "agnograd.extend.Protocol"
                )
        except PluginError as error:
            warnings.warn(
                f"AGNOGRAD: a protocol is left out: {error}. Update or uninstall its distribution",
                PluginWarning,
                stacklevel=2,
            )
        else:
            found.append(protocol)
    return tuple(found)


def ufunc_for(xp: Any, ufunc: Any) -> tuple[Protocol, Function]:
    """Return what a ufunc is on Variables of a namespace, and the protocol that says so.

    Raises
    ------
    UnsupportedFunctionError
        If no protocol has an answer.
    """
    for protocol in protocols():
        function = protocol.ufunc(xp, ufunc)
        if function is not None:
            return protocol, function
    name = getattr(ufunc, "__name__", type(ufunc).__name__)
    raise UnsupportedFunctionError(
        f"the ufunc {name!r} has no counterpart on Variables (namespace {xp.__package__}): ag.wrap "
        "gives a function a derivative of your own, and v.detach() is an array without a gradient"
    )


def function_for(xp: Any, function: Function) -> Callable[[Any, Any, Any], Any]:
    """Return what answers for a function that was given a Variable.

    Raises
    ------
    UnsupportedFunctionError
        If no protocol has an answer.
    """
    for protocol in protocols():
        answer = protocol.function(function)
        if answer is not None:
            return answer
    name = f"{function.__module__}.{function.__name__}".replace("numpy.", "np.", 1)
    raise UnsupportedFunctionError(
        f"{name} has no counterpart on Variables (namespace {xp.__package__}): write it with other "
        "functions, give it a derivative of your own by ag.wrap, or pass v.detach(), an array "
        "without a gradient"
    )


@cache
def method_named(name: str) -> Callable[[Any, Any, Any], Any]:
    """Return what answers for a method of Variables that the standard does not have.

    Raises
    ------
    UnsupportedFunctionError
        If no protocol has an answer.
    """
    for protocol in protocols():
        answer = protocol.method(name)
        if answer is not None:
            return answer
    raise UnsupportedFunctionError(
        f"no installed protocol answers for the method {name.removeprefix('ndarray.')!r} of "
        "Variables: use the function of x.__array_namespace__(), or install agnograd again, whose "
        "agnograd_numpy_functions has NumPy's methods"
    )


def instead(variable: Variable, protocol: str) -> str:
    """Return what the first protocol that knows says of a request for a tracked array's memory."""
    texts = (each.instead(variable, protocol) for each in protocols())
    return next((text for text in texts if text), "")
