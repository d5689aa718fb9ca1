"""Protocols: plugins that answer for another library's functions when these get Variables.

A library asks the arrays that it gets, through ``__array_ufunc__`` and ``__array_function__``, or
calls their methods. Plugins decide what Variables answer; agnograd's own one answers for NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

from agnograd._plugins.entry_points import PROTOCOLS, load_every, origin, warn
from agnograd._util.switches import switch
from agnograd.errors import PluginError, UnsupportedFunctionError

Function = Callable[..., Any]
Answer = Callable[[Any, Any, Any], Any]

# Of how many functions the answer is remembered: more than NumPy and SciPy have together.
KEPT_ANSWERS = switch("KEPT_ANSWERS", 1024, least=1, most=2**20, module=__name__)


class Protocol:
    """Answers for the functions of another library when these get Variables.

    Override the methods for what you have an answer to. Each gives None by default, which means
    that the next protocol is asked. An entry point in the group ``agnograd.protocols`` names an
    instance of the subclass.

    agnograd remembers the answers, so they must depend only on what the methods are given. If two
    protocols answer for the same function, a warning says which one is used: agnograd's own, or
    else the one whose entry point is first in alphabetical order.
    """

    def ufunc(self, xp: Any, ufunc: Any) -> Function | None:
        """Return what computes a ufunc on Variables, or None.

        Parameters
        ----------
        xp : namespace
            The namespace of the Variables' backend. Its functions take and return Variables.
        ufunc : callable
            The ufunc that got a Variable. Compare it with ``is``: names are not unique.

        Returns
        -------
        callable or None
            Called with the ufunc's inputs. At least one is a Variable; the others may be raw
            arrays, lists or numbers. ``agnograd.extend.operands(xp, inputs)`` makes arrays of all.
        """
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
        """Call a method of a ufunc, such as ``reduce``, or call the ufunc with options.

        Only the protocol whose ``ufunc`` has answered is called. By default this is an error that
        names the method and the options.

        Parameters
        ----------
        xp : namespace
            The namespace of the Variables' backend.
        ufunc : callable
            The ufunc.
        function : callable
            The answer of ``ufunc``.
        method : str
            ``__call__``, ``reduce``, ``accumulate``, ``outer``, ``at`` or ``reduceat``.
        inputs : tuple
            The positional arguments.
        options : dict
            The keyword arguments, such as ``out`` (always a tuple), ``where`` and ``dtype``.

        Raises
        ------
        UnsupportedFunctionError
            If the protocol does not support the method, or one of the options.
        """
        called = "" if method == "__call__" else f".{method}"
        given = f" with {', '.join(f'{name}=' for name in options)}" if options else ""
        raise UnsupportedFunctionError(
            f"{_no_counterpart(f'the ufunc {_name(ufunc)}{called}{given}', xp)}: call "
            f"{_name(ufunc)}(...) with arrays only, or pass v.detach(), an array without a gradient"
        )

    def function(self, function: Function) -> Answer | None:
        """Return what computes a function on Variables, or None.

        Parameters
        ----------
        function : callable
            A function that asked a Variable through ``__array_function__``.

        Returns
        -------
        callable or None
            Called as ``answer(xp, args, kwargs)``, with the namespace of the Variables' backend and
            the arguments that the function got.
        """
        return None

    def method(self, name: str) -> Answer | None:
        """Return what computes a method of NumPy arrays that the standard does not have, or None.

        Parameters
        ----------
        name : str
            The method's name, such as ``cumsum``. Only methods that Variables declare are asked
            for. A name starts with ``ndarray.`` if the method differs from NumPy's function.

        Returns
        -------
        callable or None
            Called as ``answer(xp, args, kwargs)``; ``args`` begins with the Variable.
        """
        return None

    def instead(self, variable: Any, protocol: str) -> str:
        """Return who asked for the memory of a tracked array, and what to write instead.

        Parameters
        ----------
        variable : Variable
            The tracked array.
        protocol : str
            ``__array__`` or ``__dlpack__``.

        Returns
        -------
        str
            A part of the error's message. If it is empty, the next protocol is asked.
        """
        return ""


@cache
def _protocols() -> tuple[tuple[str, Protocol], ...]:
    """Return every installed protocol that loads, after how messages name it."""
    found = load_every(PROTOCOLS, Protocol)
    return tuple((f"{entry.name!r} of {origin(entry)}", protocol) for entry, protocol in found)


def _asked(what: str, ask: Callable[[Protocol], Any]) -> Iterator[tuple[str, Protocol, Any]]:
    """Ask the protocols in order, and give the answers; an exception names the protocol."""
    for shown, protocol in _protocols():
        try:
            answer = ask(protocol)
        except Exception as error:
            error.add_note(f"agnograd: raised by protocol {shown}, asked for {what}")
            raise
        if answer is not None and answer != "":
            yield shown, protocol, answer


def _answer(
    what: str, ask: Callable[[Protocol], Any], missing: str, instead: str
) -> tuple[Protocol, Any]:
    """Return the first protocol that has a function, with this; warn if there are several.

    If there is none, the error says what is ``missing``, and what to do ``instead``.
    """
    found = list(_asked(what, ask))
    if not found:
        raise UnsupportedFunctionError(f"{missing}: {instead}")
    for shown, _, answer in found:
        if not callable(answer):
            raise PluginError(
                f"protocol {shown} answers for {what} with a {type(answer).__name__}: it must "
                "return a function, or None"
            )
    used, *others = (shown for shown, _, _ in found)
    if others:
        warn(
            f"several protocols answer for {what}: {used} is used, and not {', '.join(others)}. "
            "Update or uninstall one of the distributions"
        )
    return found[0][1:]


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _no_counterpart(what: str, xp: Any) -> str:
    return f"{what} has no counterpart on Variables (namespace {xp.__package__})"


@lru_cache(KEPT_ANSWERS)
def ufunc_for(xp: Any, ufunc: Any) -> tuple[Protocol, Function]:
    """Return what a ufunc is on Variables of a namespace, and the protocol that says so."""
    what = f"the ufunc {_name(ufunc)!r}"
    return _answer(
        what,
        lambda protocol: protocol.ufunc(xp, ufunc),
        _no_counterpart(what, xp),
        "ag.wrap gives a function a derivative of your own, and v.detach() is an array without a "
        "gradient",
    )


@lru_cache(KEPT_ANSWERS)
def function_for(xp: Any, function: Function) -> Answer:
    """Return what answers for a function that was given a Variable."""
    module = getattr(function, "__module__", None) or "?"
    what = f"{module}.{_name(function)}".replace("numpy.", "np.", 1)
    answer: Answer = _answer(
        what,
        lambda protocol: protocol.function(function),
        _no_counterpart(what, xp),
        "write it with other functions, give it a derivative of your own by ag.wrap, or pass "
        "v.detach(), an array without a gradient",
    )[1]
    return answer


@cache
def method_named(name: str) -> Answer:
    """Return what answers for a method of Variables that the standard does not have."""
    what = f"the method {name.removeprefix('ndarray.')!r}"
    answer: Answer = _answer(
        what,
        lambda protocol: protocol.method(name),
        f"no installed protocol answers for {what} of Variables",
        "use the function of x.__array_namespace__(), or reinstall agnograd, whose "
        "agnograd_numpy_functions has NumPy's methods",
    )[1]
    return answer


def instead(variable: Any, protocol: str) -> str:
    """Return what the first protocol that knows says of a request for a tracked array's memory."""
    found = _asked(protocol, lambda each: each.instead(variable, protocol))
    return next((str(answer) for *_, answer in found), "")
