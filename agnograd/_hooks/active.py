"""Active hooks: plugins that were asked for, and what happens around ops, rules and passes.

pluggy registers, orders and validates; its result is compiled when plugins come or go.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

import pluggy

from agnograd._graph.calls import Call, Pairs
from agnograd._graph.nodes import FIRST, OP, Node, saved_of
from agnograd._hooks.compiled import RULES, Dispatch, arguments_of
from agnograd._plugins.entry_points import PLUGINS, installed, origin
from agnograd.errors import PluginError
from agnograd.hookspecs import HookSpecs

OPS = frozenset({"forward_preprocess", "forward_postprocess", "save_value"})


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
        dispatch = Dispatch(self._callers, self._blame)
        self._run = {name: dispatch.function(name) for name in self._callers}
        self.forward = dispatch.around_op()
        self.backward: Callable[..., Pairs] = dispatch.around_rule()
        # Whether any plugin looks at rules, and at calls of ops: what none looks at costs nothing.
        self.observe_rules = not RULES.isdisjoint(self._run)
        self.observe_ops = dispatch.asks("op", *RULES) or not OPS.isdisjoint(self._run)

    def has(self, name: str) -> bool:
        """Return whether any plugin implements a hook."""
        return name in self._run

    def run(self, hook: str, *arguments: Any) -> Any:
        """Call a hook of every active plugin (of the first that answers, for some hooks)."""
        function = self._run.get(hook)
        return None if function is None else function(*arguments)

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
        for index, (name, source) in enumerate(zip(op.saved_names, op.sources, strict=True)):
            value = values[index]
            if isinstance(source, int | str) and isinstance(value, op.domain.array_types):
                packed = self.run("save_value", op, name, value)
                if packed is not None:
                    values[index] = Packed(packed)
        node[FIRST : op.first] = values
        op.packed_by(self)

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
            return f"; there is no hook {name!r}: {_closest(name, hooks)}"
        known = arguments_of(hooks[name])
        for argument in inspect.signature(method).parameters:  # type: ignore[arg-type]
            if argument not in known:
                return f"; {name} has no argument {argument!r}: {_closest(argument, known)}"
    return ""


def _closest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
