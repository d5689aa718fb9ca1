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

RULES = frozenset({"backward_preprocess", "backward_postprocess"})

# An op, or a rule, between its hooks. An argument of a hook is a variable of its name; no such name
# begins with an underscore.
_AROUND = """
def {name}({arguments}):
    {beginning}
    error = start = stop = None
    try:
{before}
        {start}
        _out = {computed}
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
            {ending}
    return {returned}
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
        several = "outputs = _out if type(_out) is tuple else _several(_out)"
        return self._around(
            "forward",
            arguments="kind, compute, arguments, inputs, parameters",
            beginning=f"op, outputs = {'kind.observed(parameters)' if own else 'kind'}, ()",
            computed="compute(*arguments)",
            results=several if self.asks("outputs", "forward_postprocess") else "pass",
            ending="op.location_sought = False" if own else "pass",
            returned="op, _out",
        )

    def around_rule(self) -> Callable[..., Any]:
        """Return ``(compute, node, g) -> pairs``, which runs a node's rule between its hooks."""
        values = {
            "inputs": "_raw_inputs(node)",
            "grad_outputs": "tuple([_raw(each) for each in g]) if type(g) is list else (_raw(g),)",
        }
        known = [
            f"{name} = {value if self.asks(name, *RULES) else ()}" for name, value in values.items()
        ]
        gradients = "grad_inputs = tuple([_raw(g) for _, g in _out])"
        return self._around(
            "backward",
            arguments="compute, node, g",
            beginning="\n    ".join(["kind = op = node[2]", *known, "grad_inputs = ()"]),
            computed="compute()",
            results=gradients if self.asks("grad_inputs", *RULES) else "pass",
            ending="pass",
            returned="_out",
        )

    def _around(self, name: str, **slots: str) -> Callable[..., Any]:
        before, after = f"{name}_preprocess", f"{name}_postprocess"
        timed = self.asks("start", after) or self.asks("stop", after)
        slots |= _MARKS if timed else dict.fromkeys(_MARKS, "pass")
        slots |= {"before": self._call(before, 8), "after": self._call(after, 12)}
        return function_from(_AROUND.format(name=name, **slots), self._scope)

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
