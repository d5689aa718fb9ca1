"""Hooks as plain functions: pluggy's ordered list of implementations, compiled.

A call through pluggy costs more than a small op, and so does packing arguments by name for each
implementation. So a hook becomes a function of its arguments, by position, whose source names the
implementations one after the other, each with what it asks for. Implementations that wrap others
are left to pluggy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import pluggy

from agnograd._mode import QUIET, reset_mode, set_mode

__all__ = ["compiled"]

Blame = Callable[[str, BaseException, Any], None]


def compiled(caller: pluggy.HookCaller, blame: Blame) -> Callable[..., Any]:
    """Return a function that calls a hook's implementations, as pluggy would.

    Parameters
    ----------
    caller : HookCaller
        pluggy's own function, with its specification and implementations.
    blame : callable
        ``blame(hook, error, op)`` is called when an implementation raises, before the exception
        goes on; ``op`` is None for hooks without that argument.

    Returns
    -------
    callable
        Takes the specification's arguments by position. What a hook computes is neither recorded
        nor observed.
    """
    assert caller.spec is not None
    names = tuple(signature(caller.spec.function).parameters)[1:]
    implementations = caller.get_hookimpls()[::-1]
    scope: dict[str, Any] = {"blame": blame, "enter": set_mode, "quiet": QUIET, "leave": reset_mode}
    if any(each.wrapper or each.hookwrapper for each in implementations):
        scope["pluggy"] = caller
        calls = [f"return pluggy({', '.join(f'{name}={name}' for name in names)})"]
    else:
        scope |= {f"hook_{i}": each.function for i, each in enumerate(implementations)}
        arguments = [", ".join(each.argnames) for each in implementations]
        calls = [f"hook_{i}({each})" for i, each in enumerate(arguments)]
        if caller.spec.opts["firstresult"]:
            calls = list(_until_a_result(calls))
    body = "\n        ".join(calls)
    op = "op" if "op" in names else "None"
    # No name of a hook's own arguments begins with an underscore.
    source = f"""
def {caller.name}({", ".join(names)}):
    _token = enter(quiet)
    try:
        {body}
    except BaseException as _error:
        blame({caller.name!r}, _error, {op})
        raise
    finally:
        leave(_token)
"""
    exec(compile(source, f"<agnograd hook {caller.name}>", "exec"), scope)
    function: Callable[..., Any] = scope[caller.name]
    return function


def _until_a_result(calls: list[str]) -> Iterator[str]:
    for call in calls:
        yield f"_result = {call}"
        yield "if _result is not None:"
        yield "    return _result"
