"""Hooks as plain functions: pluggy's ordered lists of implementations, compiled.

A call through pluggy costs more than a small op, and so does packing arguments by name for each
implementation. So a hook becomes a function of its arguments, by position, whose source names the
implementations one after the other, each with what it asks for; those around ops and around rules
are parts of one function each. Implementations that wrap others are left to pluggy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from textwrap import indent
from typing import Any

import pluggy

from agnograd._hooks.state import QUIET, current_mode, set_mode
from agnograd._util.deferred import function_from

Blame = Callable[[str, BaseException, Any], None]

_AROUND_OP = """
def forward(kind, compute, arguments, inputs, parameters):
    op = {op}
    outputs, error, start, stop = (), None, None, None
    try:
{before}
        {start}
        _out = compute(*arguments)
        {stop}
{results}
    except BaseException as _error:
        error = _error
        {failed}
        raise
    finally:
        try:
{after}
        finally:
            {returned}
    return op, _out
"""

_AROUND_RULE = """
def backward(compute, node, g):
    kind = op = node[2]
    inputs = {inputs}
    grad_outputs = {cotangents}
    grad_inputs, error, start, stop = (), None, None, None
    try:
{before}
        {start}
        _pairs = compute()
        {stop}
{results}
    except BaseException as _error:
        error = _error
        {failed}
        raise
    finally:
{after}
    return _pairs
"""

# What is added where a hook asks for marks in time.
_MARKS = {
    "start": "start = op.domain.mark()",
    "stop": "stop = op.domain.mark()",
    "failed": "stop = op.domain.mark() if start is not None and stop is None else stop",
}

# Left twice, since an interrupt may come before the first one.
_CALL = """
_before = _mode()
try:
    try:
        _set(_quiet)
        {body}
    except BaseException as _raised:
        _blame({name!r}, _raised, {op})
        raise
    finally:
        _set(_before)
finally:
    _set(_before)
"""


class Dispatch:
    """Functions that call the implementations of hooks, as pluggy would.

    What a hook computes is neither recorded nor observed.

    Parameters
    ----------
    callers : mapping
        pluggy's own functions of the hooks that have implementations, by name.
    blame : callable
        ``blame(hook, error, op)`` is called when an implementation raises, before the exception
        goes on; ``op`` is None for hooks without that argument.
    """

    # No name of a hook's own arguments begins with an underscore.

    def __init__(self, callers: Mapping[str, pluggy.HookCaller], blame: Blame) -> None:
        self._callers = callers
        self._scope: dict[str, Any] = {
            "_blame": blame,
            "_mode": current_mode,
            "_set": set_mode,
            "_quiet": QUIET,
        }

    def function(self, name: str) -> Callable[..., Any]:
        """Return a hook as a function of its specification's arguments, by position."""
        arguments = ", ".join(_arguments(self._callers[name]))
        return self._compiled(f"def {name}({arguments}):\n{self._call(name)}")

    def around_op(self) -> Callable[..., Any]:
        """Return ``(kind, compute, arguments, inputs, parameters) -> (op, result)``.

        It runs an op between its hooks; the op is the call as they saw it. Where none of them asks
        for the op, or may pack what its node saves, all calls stay one.
        """
        asked = any(name == "save_value" or self._asks("op", name) for name in self._callers)
        results = ""
        if self._asks("outputs", "forward_postprocess"):
            results = "outputs = _out if type(_out) is tuple else _several(_out)"
        source = _AROUND_OP.format(
            before=self._call("forward_preprocess", 8),
            results=indent(results, " " * 8),
            after=self._call("forward_postprocess", 12),
            op="kind.observed(parameters)" if asked else "kind",
            returned="op.location_sought = False" if asked else "pass",
            **self._marks("forward_postprocess"),
        )
        return self._compiled(source, _several=_several)

    def around_rule(self, raw_inputs: Callable[[Any], Any], raw: Callable[[Any], Any]) -> Any:
        """Return ``(compute, node, g) -> pairs``, which runs a node's rule between its hooks.

        ``raw_inputs`` gives the raw inputs of a node, ``raw`` the raw array of a gradient.
        """
        hooks = "backward_preprocess", "backward_postprocess"
        results = ""
        if self._asks("grad_inputs", *hooks):
            results = "grad_inputs = tuple([_raw(g) for _, g in _pairs])"
        cotangents = "tuple([_raw(each) for each in g]) if type(g) is list else (_raw(g),)"
        source = _AROUND_RULE.format(
            inputs="_raw_inputs(node)" if self._asks("inputs", *hooks) else "()",
            cotangents=cotangents if self._asks("grad_outputs", *hooks) else "()",
            before=self._call("backward_preprocess", 8),
            results=indent(results, " " * 8),
            after=self._call("backward_postprocess", 8),
            **self._marks("backward_postprocess"),
        )
        return self._compiled(source, _raw=raw, _raw_inputs=raw_inputs)

    def _marks(self, hook: str) -> dict[str, str]:
        """Return what takes marks in time, where a hook asks for them."""
        if self._asks("start", hook) or self._asks("stop", hook):
            return _MARKS
        return dict.fromkeys(_MARKS, "pass")

    def _asks(self, argument: str, *hooks: str) -> bool:
        """Return whether an implementation of one of these hooks asks for an argument."""
        callers = [self._callers[name] for name in hooks if name in self._callers]
        return any(argument in each.argnames for c in callers for each in c.get_hookimpls())

    def _call(self, name: str, margin: int = 4) -> str:
        """Write what calls a hook, whose arguments are variables of their names."""
        caller = self._callers.get(name)
        if caller is None:
            return " " * margin + "pass"
        names = _arguments(caller)
        implementations = caller.get_hookimpls()[::-1]
        if any(each.wrapper or each.hookwrapper for each in implementations):
            self._scope[f"_{name}"] = caller
            answer = "return " if caller.spec and caller.spec.opts["firstresult"] else ""
            calls = [f"{answer}_{name}({', '.join(f'{each}={each}' for each in names)})"]
        else:
            self._scope |= {f"_{name}_{i}": each.function for i, each in enumerate(implementations)}
            arguments = [", ".join(each.argnames) for each in implementations]
            calls = [f"_{name}_{i}({each})" for i, each in enumerate(arguments)]
            if caller.spec and caller.spec.opts["firstresult"]:
                calls = list(_until_a_result(calls))
        op = "op" if "op" in names else "None"
        text = _CALL.format(body="\n        ".join(calls), name=name, op=op)
        return indent(text.strip("\n"), " " * margin)

    def _compiled(self, source: str, **more: Any) -> Callable[..., Any]:
        return function_from(source, self._scope | more)


def _arguments(caller: pluggy.HookCaller) -> tuple[str, ...]:
    assert caller.spec is not None
    return tuple(signature(caller.spec.function).parameters)[1:]


def _several(out: Any) -> tuple[Any, ...]:
    """Return the outputs of an op: several in a list or a named tuple, or one."""
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def _until_a_result(calls: list[str]) -> Iterator[str]:
    for call in calls:
        yield f"_result = {call}"
        yield "if _result is not None:"
        yield "    return _result"
