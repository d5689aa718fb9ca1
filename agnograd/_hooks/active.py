"""Active hooks: plugins that were asked for, and what happens around ops, rules and passes.

pluggy registers, orders and validates; its result is compiled when plugins come or go.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pluggy

from agnograd._graph.calls import Call, Pairs
from agnograd._graph.nodes import FIRST, OP, Node, raw_gradient, saved_of
from agnograd._hooks.compiled import Dispatch
from agnograd._plugins.entry_points import PLUGINS, installed, origin
from agnograd.errors import PluginError
from agnograd.hookspecs import HookSpecs

OPS = frozenset({"forward_preprocess", "forward_postprocess", "save_value"})
RULES = frozenset({"backward_preprocess", "backward_postprocess"})


class Packed:
    """What a ``save_value`` hook gave to keep in place of a value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class ActiveHooks:
    """The plugins that are active in one state, and their hooks as functions.

    Parameters
    ----------
    plugins : mapping
        The plugins by name, first activated first.
    specs : type
        The hook specifications.

    Attributes
    ----------
    forward, backward : callable
        They run an op, and a rule, between its hooks; see ``Dispatch``.

    Raises
    ------
    PluginError
        If a plugin implements a hook, or names an argument, that does not exist.
    """

    def __init__(self, plugins: Mapping[str, object], specs: type[HookSpecs] = HookSpecs) -> None:
        self.plugins = dict(plugins)
        manager = pluggy.PluginManager("agnograd")
        manager.add_hookspecs(specs)
        callers = {name: getattr(manager.hook, name) for name in _hooks_of(specs)}
        for name, plugin in self.plugins.items():
            try:
                manager.register(plugin, name)
                manager.check_pending()
            except pluggy.PluginValidationError as error:
                raise PluginError(
                    f"plugin {name!r}: {error}{_suggestion(plugin, specs)}"
                ) from error
            if not manager.get_hookcallers(plugin) and not hasattr(plugin, "__enter__"):
                raise PluginError(
                    f"plugin {name!r} has no hooks and is not a context manager: mark its methods "
                    f"with @hookimpl, from agnograd.extend; hooks are {', '.join(callers)}"
                )
        self._implementations = {
            name: found for name, caller in callers.items() if (found := caller.get_hookimpls())
        }
        dispatch = Dispatch({name: callers[name] for name in self._implementations}, self._blame)
        self._run = {name: dispatch.function(name) for name in self._implementations}
        self.forward = dispatch.around_op()
        self.backward: Callable[..., Pairs] = dispatch.around_rule(_raw_inputs, raw_gradient)
        # Whether any plugin looks at rules, and at calls of ops: what none looks at costs nothing.
        self.observe_rules = not RULES.isdisjoint(self._run)
        asked = {
            a
            for hook in RULES
            for each in self._implementations.get(hook, ())
            for a in each.argnames
        }
        self.observe_ops = "op" in asked or not OPS.isdisjoint(self._run)

    def has(self, name: str) -> bool:
        """Return whether any plugin implements a hook."""
        return name in self._run

    def run(self, hook: str, *arguments: Any) -> Any:
        """Call a hook of every active plugin (of the first that answers, for some hooks)."""
        function = self._run.get(hook)
        return None if function is None else function(*arguments)

    def _blame(self, hook: str, error: BaseException, op: Call | None) -> None:
        """Note on an error which plugin's hook raised it, and for which op."""
        place = f" for op {op.name!r}" if op is not None else ""
        name = self._culprit(hook, error)
        source = _distribution(self.plugins.get(name)) if name is not None else ""
        error.add_note(f"agnograd: raised by hook {hook!r} of plugin {name!r}{source}{place}")

    def _culprit(self, hook: str, error: BaseException) -> str | None:
        """Return the name of the plugin whose hook is on the error's traceback."""
        implementations = self._implementations[hook]
        traceback, found = error.__traceback__, None
        while traceback is not None:
            frame = traceback.tb_frame
            named = [
                each
                for each in implementations
                if getattr(each.function, "__code__", None) is frame.f_code
            ]
            # Two instances of a class share their code.
            own = [each for each in named if frame.f_locals.get("self") is each.plugin]
            found = (own or named)[0].plugin_name if named else found
            traceback = traceback.tb_next
        return found

    @contextmanager
    def around_pass(self, outputs: Sequence[Any]) -> Iterator[None]:
        """Run a backward pass between its hooks."""
        failure = None
        try:
            self.run("backward_start", outputs)
            yield
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


def _raw_inputs(node: Node) -> tuple[Any, ...]:
    """Return the raw inputs of a node, None for those that it did not save."""
    op = node[OP]
    known = dict(zip(op.plan.sources, node[FIRST : op.first], strict=True))
    return tuple([known.get(index) for index in range(len(node) - op.first)])


def _distribution(plugin: object) -> str:
    """Say which distribution a plugin came from, if it is one of those with an entry point."""
    for entry in installed(PLUGINS).values():
        found: object = sys.modules.get(entry.module)
        for name in entry.attr.split(".") if entry.attr else ():
            found = getattr(found, name, None)
        if found is not None and (found is plugin or found is type(plugin)):
            return f" of {origin(entry)}"
    return ""


def _hooks_of(specs: type[HookSpecs]) -> tuple[str, ...]:
    return tuple(name for each in specs.__mro__ for name in vars(each) if not name.startswith("_"))


def _suggestion(plugin: object, specs: type[HookSpecs]) -> str:
    """Say which hook, or which argument of one, a misspelt one may have meant."""
    hooks = _hooks_of(specs)
    for name in dir(plugin):
        method = getattr(plugin, name, None)
        if not hasattr(method, "agnograd_impl"):
            continue
        if name not in hooks:
            return f"; there is no hook {name!r}: {_closest(name, hooks)}"
        known = tuple(inspect.signature(getattr(specs, name)).parameters)[1:]
        for argument in inspect.signature(method).parameters:  # type: ignore[arg-type]
            if argument not in known:
                return f"; {name} has no argument {argument!r}: {_closest(argument, known)}"
    return ""


def _closest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
