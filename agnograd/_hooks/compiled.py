"""Hooks as plain functions: pluggy's ordered lists of implementations, compiled.

A call through pluggy costs more than a small op, and so does packing arguments by name for each
implementation. So a hook becomes a function of its arguments, by position, whose source names the
implementations one after the other, each with what it asks for; those around ops and around rules
are parts of one function each. Implementations that wrap others are left to pluggy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any

import pluggy

from agnograd._graph.nodes import FIRST, OP, Node, raw_gradient
from agnograd._hooks.state import QUIET, current_mode, set_mode
from agnograd._util.deferred import function_from

# An argument of a hook is a variable of its name. No such name begins with an underscore.
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

_ANSWER = """
_result = {call}
if _result is not None:
    return _result
""".strip()


class Dispatch:
    """Functions that call the implementations of hooks, as pluggy would.

    What a hook computes is neither recorded nor observed. ``callers`` are pluggy's functions of the
    hooks that have implementations, by name. If one of these raises, ``blame(hook, error, op)`` is
    called before the exception goes on; ``op`` is None for hooks without that argument.
    """

    def __init__(
        self,
        callers: Mapping[str, pluggy.HookCaller],
        blame: Callable[[str, BaseException, Any], None],
    ) -> None:
        self._callers = callers
        self._scope: dict[str, Any] = {
            "_blame": blame,
            "_mode": current_mode,
            "_set": set_mode,
            "_quiet": QUIET,
            "_several": _several,
            "_raw": raw_gradient,
            "_raw_inputs": _raw_inputs,
        }

    def asks(self, argument: str, *hooks: str) -> bool:
        """Return whether an implementation of one of these hooks asks for an argument."""
        callers = [self._callers[name] for name in hooks if name in self._callers]
        return any(argument in each.argnames for c in callers for each in c.get_hookimpls())

    def function(self, name: str) -> Callable[..., Any]:
        """Return a hook as a function of its specification's arguments, by position."""
        arguments = ", ".join(arguments_of(self._callers[name]))
        return function_from(f"def {name}({arguments}):\n{self._call(name, 4)}", self._scope)

    def around_op(self) -> Callable[..., Any]:
        """Return ``(kind, compute, arguments, inputs, parameters) -> (op, result)``.

        It runs an op between its hooks; the op is the call as they saw it. Where none of them asks
        for the op, or may pack what its node saves, all calls stay one.
        """
        own = "save_value" in self._callers or self.asks("op", *self._callers)
        outputs = "outputs = _out if type(_out) is tuple else _several(_out)"
        return self._around(
            _AROUND_OP,
            ("forward_preprocess", 8),
            ("forward_postprocess", 12),
            op="kind.observed(parameters)" if own else "kind",
            results=outputs if self.asks("outputs", "forward_postprocess") else "pass",
            returned="op.location_sought = False" if own else "pass",
        )

    def around_rule(self) -> Callable[..., Any]:
        """Return ``(compute, node, g) -> pairs``, which runs a node's rule between its hooks."""
        hooks = before, after = "backward_preprocess", "backward_postprocess"
        cotangents = "tuple([_raw(each) for each in g]) if type(g) is list else (_raw(g),)"
        gradients = "grad_inputs = tuple([_raw(g) for _, g in _pairs])"
        return self._around(
            _AROUND_RULE,
            (before, 8),
            (after, 8),
            inputs="_raw_inputs(node)" if self.asks("inputs", *hooks) else "()",
            cotangents=cotangents if self.asks("grad_outputs", *hooks) else "()",
            results=gradients if self.asks("grad_inputs", *hooks) else "pass",
        )

    def _around(
        self, text: str, before: tuple[str, int], after: tuple[str, int], **slots: str
    ) -> Callable[..., Any]:
        """Fill a text: the hooks are given with their margins in it."""
        timed = self.asks("start", after[0]) or self.asks("stop", after[0])
        slots |= _MARKS if timed else dict.fromkeys(_MARKS, "pass")
        source = text.format(before=self._call(*before), after=self._call(*after), **slots)
        return function_from(source, self._scope)

    def _call(self, name: str, margin: int) -> str:
        """Write what calls a hook, whose arguments are variables of their names."""
        caller = self._callers.get(name)
        if caller is None:
            return " " * margin + "pass"
        names, implementations = arguments_of(caller), caller.get_hookimpls()[::-1]
        if any(each.wrapper or each.hookwrapper for each in implementations):
            self._scope[f"_{name}"] = caller
            calls = [f"_{name}({', '.join(f'{each}={each}' for each in names)})"]
        else:
            self._scope |= {f"_{name}_{i}": each.function for i, each in enumerate(implementations)}
            arguments = [", ".join(each.argnames) for each in implementations]
            calls = [f"_{name}_{i}({each})" for i, each in enumerate(arguments)]
        if caller.spec and caller.spec.opts["firstresult"]:
            calls = [_ANSWER.format(call=call) for call in calls]
        body = indent("\n".join(calls), " " * 8).lstrip()
        op = "op" if "op" in names else "None"
        return indent(_CALL.format(body=body, name=name, op=op).strip("\n"), " " * margin)


def arguments_of(caller: pluggy.HookCaller) -> tuple[str, ...]:
    """Return the names of a hook's arguments, in the order of its specification."""
    assert caller.spec is not None
    return caller.spec.argnames


def _raw_inputs(node: Node) -> tuple[Any, ...]:
    """Return the raw inputs of a node, None for those that it did not save."""
    op = node[OP]
    known = dict(zip(op.sources, node[FIRST : op.first], strict=True))
    return tuple([known.get(index) for index in range(len(node) - op.first)])


def _several(out: Any) -> tuple[Any, ...]:
    """Return the outputs of an op: several in a list or a named tuple, or one."""
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)
