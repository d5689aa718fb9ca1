"""Active hooks: plugins that were asked for, and what happens around ops, rules and passes.

pluggy registers, orders and validates. A call through it costs more than a small op, and so does
packing arguments by name for each implementation. So when plugins come or go, a hook becomes a
function of its arguments, by position, whose source names the implementations one after the other,
each with what it asks for; those around ops and around rules are parts of one function each.
Implementations that wrap others are left to pluggy.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from textwrap import indent
from traceback import walk_tb
from typing import Any

import pluggy

from agnograd._graph.calls import Call, Pairs
from agnograd._graph.nodes import FIRST, OP, RANK, Edge, Leaf, Node, Value, raw_gradient, saved_of
from agnograd._graph.paths import last_uses
from agnograd._hooks.state import QUIET, current_mode, set_mode
from agnograd._plugins.entry_points import PLUGINS, installed, origin
from agnograd._util.checks import did_you_mean
from agnograd._util.deferred import function_from
from agnograd.errors import GradientError, PluginError
from agnograd.hookspecs import HookSpecs

OPS = frozenset({"forward_preprocess", "forward_postprocess", "save_value"})
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


class Packed:
    """What a ``save_value`` hook gave to keep in place of a value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class ActiveHooks:
    """The plugins that are active in one state, and their hooks as functions.

    ``plugins`` are by name, first activated first. ``forward`` runs an op, and ``backward`` a rule,
    between its hooks.
    """

    of_packed = None  # what plugins packed has to be restored before a rule sees it

    def __init__(self, plugins: Mapping[str, object], specs: type[HookSpecs] = HookSpecs) -> None:
        self.plugins = dict(plugins)
        manager = pluggy.PluginManager("agnograd")
        manager.add_hookspecs(specs)
        names = [name for each in specs.__mro__ for name in vars(each) if not name.startswith("_")]
        known: dict[str, pluggy.HookCaller] = {name: getattr(manager.hook, name) for name in names}
        for name, plugin in self.plugins.items():
            try:
                manager.register(plugin, name)
                manager.check_pending()
            except pluggy.PluginValidationError as error:
                raise PluginError(
                    f"plugin {name!r}: {error}{_suggestion(plugin, known)}"
                ) from error
            if not manager.get_hookcallers(plugin) and not hasattr(plugin, "__enter__"):
                raise PluginError(
                    f"plugin {name!r} has no hooks and is not a context manager: mark its methods "
                    f"with @hookimpl, from agnograd.extend; hooks are {', '.join(known)}"
                )
        self._callers = {name: caller for name, caller in known.items() if caller.get_hookimpls()}
        self._scope: dict[str, Any] = {
            "_blame": self._blame,
            "_mode": current_mode,
            "_set": set_mode,
            "_quiet": QUIET,
            "_several": _several,
            "_raw": raw_gradient,
            "_raw_inputs": _raw_inputs,
        }
        self._run = {name: self._function(name) for name in self._callers}
        self.forward = self._around_op()
        self.backward: Callable[..., Pairs] = self._around_rule()
        # Whether any plugin looks at rules, and at calls of ops: what none looks at costs nothing.
        self.observe_rules = not RULES.isdisjoint(self._run)
        self.observe_ops = self._asks("op", *RULES) or not OPS.isdisjoint(self._run)

    def has(self, name: str) -> bool:
        """Return whether any plugin implements a hook."""
        return name in self._run

    def run(self, hook: str, *arguments: Any) -> Any:
        """Call a hook of every active plugin (of the first that answers, for some hooks)."""
        function = self._run.get(hook)
        return None if function is None else function(*arguments)

    @contextmanager
    def around_pass(
        self, outputs: Sequence[Any], this: Any, roots: Iterable[Node]
    ) -> Iterator[None]:
        """Run a ``Pass``, which starts from some nodes, between its hooks."""
        failure = None
        try:
            asked = self._asks("leaves", "backward_start")
            self.run("backward_start", outputs, leaves_of(this, roots) if asked else ())
            yield
            if self.has("replace_gradients"):
                _replace_gradients(this)
        except BaseException as error:
            failure = error
            raise
        finally:
            self.run("backward_finish", outputs, failure)

    def save(self, node: Node) -> None:
        """Let plugins pack what a node saved."""
        op = node[OP]
        values = saved_of(node)
        assert values is not None
        if op.domain.level:  # a plugin would keep what the array stands for
            return
        for index, (name, source) in enumerate(zip(op.plan.names, op.plan.sources, strict=True)):
            value = values[index]
            if isinstance(source, int | str) and isinstance(value, op.domain.array_types):
                packed = self.run("save_value", op, name, value)
                if packed is not None:
                    values[index] = Packed(packed)
        node[FIRST : op.first] = values
        op.hooks, op.step = self, None  # it is in no other node: hooks saw it

    def restore(self, saved: Sequence[Any]) -> list[Any]:
        """Return saved values with everything that was packed restored."""
        return [self._restored(v) if isinstance(v, Packed) else v for v in saved]

    def _restored(self, packed: Packed) -> Any:
        value = self.run("restore_value", packed.value)
        if value is None:
            raise PluginError(
                "a saved value was packed by a save_value hook, and no restore_value hook of the "
                f"plugins that were active then ({', '.join(self.plugins)}) restores it"
            )
        return value

    # -- what is written -----------------------------------------------------------------------

    def _asks(self, argument: str, *hooks: str) -> bool:
        """Return whether an implementation of one of these hooks asks for an argument."""
        callers = [self._callers[name] for name in hooks if name in self._callers]
        return any(argument in each.argnames for c in callers for each in c.get_hookimpls())

    def _function(self, name: str) -> Callable[..., Any]:
        """Return a hook as a function of its specification's arguments, by position."""
        arguments = ", ".join(_arguments(self._callers[name]))
        return function_from(f"def {name}({arguments}):\n{self._call(name, 4)}", self._scope)

    def _around_op(self) -> Callable[..., Any]:
        """Return ``(kind, compute, arguments, inputs, parameters) -> (op, result)``.

        It runs an op between its hooks; the op is the call as they saw it. Where none of them asks
        for the op, or may pack what its node saves, all calls stay one.
        """
        own = "save_value" in self._callers or self._asks("op", *self._callers)
        several = "outputs = _out if type(_out) is tuple else _several(_out)"
        return self._around(
            "forward",
            arguments="kind, compute, arguments, inputs, parameters",
            beginning=f"op, outputs = {'kind.observed(parameters)' if own else 'kind'}, ()",
            computed="compute(*arguments)",
            results=several if self._asks("outputs", "forward_postprocess") else "pass",
            ending="op.location_sought = False" if own else "pass",
            returned="op, _out",
        )

    def _around_rule(self) -> Callable[..., Any]:
        """Return ``(compute, node, g) -> pairs``, which runs a node's rule between its hooks."""
        raw = "tuple([_raw(each) for each in g]) if type(g) is list else (_raw(g),)"
        inputs = "_raw_inputs(node)" if self._asks("inputs", *RULES) else "()"
        cotangents = raw if self._asks("grad_outputs", *RULES) else "()"
        known = f"{inputs}, (), {cotangents}"
        gradients = "grad_inputs = tuple([_raw(g) for _, g in _out])"
        return self._around(
            "backward",
            arguments="compute, node, g",
            beginning=f"kind, op, inputs, grad_inputs, grad_outputs = node[2], node[2], {known}",
            computed="compute()",
            results=gradients if self._asks("grad_inputs", *RULES) else "pass",
            ending="pass",
            returned="_out",
        )

    def _around(self, name: str, **slots: str) -> Callable[..., Any]:
        before, after = f"{name}_preprocess", f"{name}_postprocess"
        timed = self._asks("start", after) or self._asks("stop", after)
        slots |= _MARKS if timed else dict.fromkeys(_MARKS, "pass")
        slots |= {"before": self._call(before, 8), "after": self._call(after, 12)}
        return function_from(_AROUND.format(name=name, **slots), self._scope)

    def _call(self, name: str, margin: int) -> str:
        """Write what calls a hook, whose arguments are variables of their names."""
        caller = self._callers.get(name)
        if caller is None:
            return " " * margin + "pass"
        names, implementations = _arguments(caller), caller.get_hookimpls()[::-1]
        if any(each.wrapper or each.hookwrapper for each in implementations):
            self._scope[f"_{name}"] = caller
            calls = [f"_{name}({', '.join(f'{each}={each}' for each in names)})"]
        else:
            self._scope |= {f"_{name}_{i}": each.function for i, each in enumerate(implementations)}
            arguments = [", ".join(each.argnames) for each in implementations]
            calls = [f"_{name}_{i}({each})" for i, each in enumerate(arguments)]
        if caller.spec and caller.spec.opts["firstresult"]:
            calls = [_ANSWER.format(call=call) for call in calls]
        together = _each_in_any_case if name == "backward_finish" else "\n".join
        body = indent(together(calls), " " * 8).lstrip()
        op = "op" if "op" in names else "None"
        return indent(_CALL.format(body=body, name=name, op=op).strip("\n"), " " * margin)

    def _blame(self, hook: str, error: BaseException, op: Call | None) -> None:
        """Note on an error which plugin's hook raised it, and for which op."""
        implementations, name = self._callers[hook].get_hookimpls(), None
        for frame, _ in walk_tb(error.__traceback__):
            named = [
                each
                for each in implementations
                if getattr(each.function, "__code__", None) is frame.f_code
            ]
            # Two instances of a class share their code.
            own = [each for each in named if frame.f_locals.get("self") is each.plugin]
            name = (own or named)[0].plugin_name if named else name
        place = f" for op {op.name!r}" if op is not None else ""
        source = _distribution(self.plugins.get(name)) if name is not None else ""
        error.add_note(f"agnograd: raised by hook {hook!r} of plugin {name!r}{source}{place}")


# -- the leaves of a pass, an ``agnograd._engine.run.Pass``, and their gradients -------------------


def leaves_of(this: Any, roots: Iterable[Edge]) -> tuple[Value, ...]:
    """Return the leaves that a pass reaches, in the order in which their gradients are final."""
    last = last_uses(roots, this.path)
    last |= {root[RANK]: (root[RANK], 0, root) for root in roots if isinstance(root, Leaf)}
    uses = sorted(last.values(), key=itemgetter(0, 1))
    found = [leaf.variable() for *_, leaf in uses if _asked(this, leaf)]
    return tuple([each for each in found if each is not None])


def _replace_gradients(this: Any) -> None:
    """Let plugins replace the gradients of leaves: all of them, or none if one fails."""
    final: dict[int, tuple[Edge, Any]] = this.arrivals.final
    known = [
        (node, g)
        for node, g in final.values()
        if isinstance(node, Leaf) and _asked(this, node) and node.variable() is not None
    ]
    if this.ends and not known:
        return  # a part of another pass, which has the leaves
    variables = tuple([node.variable() for node, _ in known])
    grads = tuple([raw_gradient(g) for _, g in known])
    pairs = this.hooks.run("replace_gradients", variables, grads)
    if pairs is None:
        return
    if this.create_graph or this.level is not None or any(node.domain.level for node, _ in known):
        raise GradientError(
            "an active plugin replaces gradients, but those of a pass that is recorded "
            "(create_graph=True) or that runs inside vmap cannot be replaced; leave the plugin's "
            "`with ag.hooks(...)` block first"
        )
    for leaf, g in _checked(pairs):
        if g is None:
            final.pop(leaf[RANK], None)
        else:
            final[leaf[RANK]] = leaf, g


def _asked(this: Any, leaf: Leaf) -> bool:
    """Return whether a pass was asked for the gradient of a leaf, and is not a part of another."""
    return leaf[RANK] not in this.ends and (this.to_all or leaf[RANK] in this.targets)


def _checked(pairs: Iterable[tuple[Value, Any]]) -> list[tuple[Leaf, Any]]:
    """Return leaves with their new gradients, all of which must fit."""
    found: list[tuple[Leaf, Any]] = []
    g: Any
    for index, (variable, g) in enumerate(pairs):
        if not isinstance(variable._node, Leaf):
            raise GradientError(
                f"replace_gradients: pair {index} has a Variable that is not a leaf"
            )
        x: Any = variable._raw
        fits: bool = isinstance(g, variable._domain.array_types)
        if g is not None and not (fits and (g.shape, g.dtype) == (x.shape, x.dtype)):
            raise GradientError(
                f"replace_gradients: pair {index} has a {type(g).__name__} of shape "
                f"{getattr(g, 'shape', None)} and dtype {getattr(g, 'dtype', None)} for a leaf of "
                f"shape {x.shape} and dtype {x.dtype}; return a raw array like the leaf's"
            )
        found.append((variable._node, g))
    return found


# -- what is written, and what errors say ----------------------------------------------------------


def _each_in_any_case(calls: Sequence[str]) -> str:
    """Write calls all of which are made, also where one before them raises."""
    first, *others = calls
    if not others:
        return first
    return f"try:\n    {first}\nfinally:\n{indent(_each_in_any_case(others), ' ' * 4)}"


def _arguments(caller: pluggy.HookCaller) -> tuple[str, ...]:
    """Return the names of a hook's arguments, in the order of its specification."""
    assert caller.spec is not None
    return caller.spec.argnames


def _raw_inputs(node: Node) -> tuple[Any, ...]:
    """Return the raw inputs of a node, None for those that it did not save."""
    op = node[OP]
    known = dict(zip(op.plan.sources, node[FIRST : op.first], strict=True))
    return tuple([raw_gradient(known.get(index)) for index in range(len(node) - op.first)])


def _several(out: Any) -> tuple[Any, ...]:
    """Return the outputs of an op: several in a list or a named tuple, or one."""
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def _distribution(plugin: object) -> str:
    """Say which distribution a plugin came from, if it is one of those with an entry point."""
    for entry in installed(PLUGINS).values():
        found: object = sys.modules.get(entry.module)
        for name in entry.attr.split(".") if entry.attr else ():
            found = getattr(found, name, None)
        if found is not None and (found is plugin or found is type(plugin)):
            return f" of {origin(entry)}"
    return ""


def _suggestion(plugin: object, hooks: Mapping[str, pluggy.HookCaller]) -> str:
    """Say which hook, or which argument of one, a misspelt one may have meant."""
    for name in dir(plugin):
        method = getattr(plugin, name, None)
        if not hasattr(method, "agnograd_impl"):
            continue
        if name not in hooks:
            return f"; there is no hook {name!r}{_closest(name, hooks)}"
        known = _arguments(hooks[name])
        for argument in inspect.signature(method).parameters:  # type: ignore[arg-type]
            if argument not in known:
                return f"; {name} has no argument {argument!r}{_closest(argument, known)}"
    return ""


def _closest(name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known).removeprefix("; ")
    return f": {hint or 'there are ' + ', '.join(known)}"
