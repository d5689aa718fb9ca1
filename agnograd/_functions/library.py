"""Libraries of ops for other engines: functions that answer in the kind of array that they get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from agnograd._arrays.domains import domain_named, owner_of
from agnograd._arrays.namespace import within
from agnograd._arrays.variable import Variable
from agnograd._functions.bridged import Adopted, Exported
from agnograd._functions.primitives import EngineNamespace, documented
from agnograd._ops.op import Op
from agnograd._plugins.backends import backend_named, default_name
from agnograd._plugins.engines import TRACERS, engine_named, engine_of, load_what_is_imported
from agnograd._plugins.op_sets import (
    extensions,
    op_named,
    ops_of_package,
    packages,
    registered_in,
)
from agnograd._util.checks import did_you_mean
from agnograd._util.trees import unflatten
from agnograd.errors import MixedBackendsError, PluginError

Function = Callable[..., Any]


class Library(ModuleType):
    """Ops as functions for the arrays of any engine; see ``agnograd.bridge.library``."""

    def __init__(self, path: str, names: Iterable[str], engine: str | None) -> None:
        super().__init__(path, "Ops as functions for the arrays of PyTorch, JAX and other engines.")
        self._engine = engine
        self._names: dict[str, dict[str, Any] | str] = _tree(names)

    def __repr__(self) -> str:
        return f"<library {self.__name__!r}>"

    def __dir__(self) -> list[str]:
        return sorted(self._names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._names:
            hint = "" if name.startswith("_") else did_you_mean(name, self._names)
            raise AttributeError(f"library {self.__name__!r} has no {name!r}{hint}")
        found = self._names[name]
        if isinstance(found, dict):
            made: Any = Library(f"{self.__name__}.{name}", (), self._engine)
            made._names = found
        else:
            op = op_named(found)
            assert op is not None  # it is registered
            made = _dispatching(op, self._engine)
        setattr(self, name, made)
        return made


def _tree(names: Iterable[str]) -> dict[str, Any]:
    """Return names with dots as dicts in dicts; what has no more dots stands for its full name."""
    tree: dict[str, Any] = {}
    for name in names:
        short, _, full = name.partition("=")
        *outer, last = short.split(".")
        inner = tree
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = full
    return tree


def library_named(name: str, engine: str | None) -> Library:
    """Return the library of an extension, or of a package that registers ops."""
    load_what_is_imported()
    if engine is not None:
        engine_named(engine)  # if there is none, this raises
    known = [each for each in extensions() if each]
    inner = [each for each in known if f"{name}.".startswith(f"{each}.") or _is_in(each, name)]
    names = [op for each in inner for op in registered_in(each) if _is_in(op, name)]
    if names:
        return Library(name, [f"{op.removeprefix(f'{name}.')}={op}" for op in names], engine)
    names = ops_of_package(name)
    if not names:
        installed = sorted({*known, *packages()})
        hint = did_you_mean(name, installed)
        raise PluginError(f"no op set is named {name!r}; installed: {', '.join(installed)}{hint}")
    return Library(name, [f"{op}={op}" for op in names if not op.startswith("_")], engine)


def _is_in(name: str, extension: str) -> bool:
    return name.startswith(f"{extension}.")


@cache
def _namespace_of(name: str) -> EngineNamespace:
    engine = engine_named(name)
    return EngineNamespace(engine, domain_named(engine.backend))


def _dispatching(op: Op, only: str | None) -> Function:
    """Return an op as a function for the arrays of any engine, or of one."""
    made: dict[str, Function] = {}
    op_name = op.name

    def function(*args: Any, **kwargs: Any) -> Any:
        for tracing, traced in TRACERS:
            if tracing():
                return traced(op_name, args, kwargs)
        name = None if kwargs else _engine_of(args, only)
        if name is None:
            return _by_leaves(op, args, kwargs, only)
        return (made.get(name) or made.setdefault(name, engine_function(name, op_name)))(*args)

    function.__name__, function.__qualname__ = op.name.rpartition(".")[2], op.name
    function.__doc__ = documented(op)
    function.__signature__ = op.signature  # type: ignore[attr-defined]
    return function


class _Kinds(dict[type, str | None]):
    """By type, the engine of its arrays: none of numbers, and None of what has to be looked at."""

    def __missing__(self, kind: type) -> str | None:
        plain = kind in (bool, int, float, complex, str, type(None))
        found = "" if plain else engine_of(kind)
        if plain or found:  # programs may make classes for ever
            self[kind] = found
        return found


_kinds = _Kinds()


def _engine_of(args: tuple[Any, ...], only: str | None) -> str | None:
    """Return the engine of arguments that are its arrays and numbers; None for all others."""
    name = only
    for x in args:
        found = _kinds[type(x)]
        if found is None or (found and name and found != name):
            return None
        name = name or found
    return name or None


def engine_function(engine: str, name: str) -> Function:
    """Return an op's function for the arrays of an engine, by the names of both."""
    found: Function = within(_namespace_of(engine), name)
    return found


def _by_leaves(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], only: str | None) -> Any:
    """Call an op by the arrays in its arguments, and in lists, tuples and dicts of them."""
    leaves = list(_leaves((args, kwargs)))
    if any(isinstance(each, Variable) for each in leaves):
        home = next(each for each in leaves if isinstance(each, Variable))
        return within(home.__array_namespace__(), op.name)(*args, **kwargs)
    found = dict.fromkeys(filter(None, (engine_of(type(each)) for each in leaves)))
    if only is not None:
        found = dict.fromkeys([only, *found])
    if len(found) > 1:
        raise MixedBackendsError(
            f"{op.name} got arrays of several engines, {' and '.join(found)}: convert them to "
            "those of one; a gradient would be lost between them"
        )
    functions = any(callable(each) and not hasattr(each, "dtype") for each in leaves)
    if not found:
        return _by_backend(op, args, kwargs, leaves)
    (name,) = found
    engine = engine_named(name)
    args, kwargs = _mapped((args, kwargs), lambda x: engine.constant(x) if _is_numpy(x) else x)
    if functions and op.composed:
        return _with_functions(op, engine.backend, args, kwargs)
    return engine_function(name, op.name)(*args, **kwargs)


def _by_backend(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
    """Compute an op on raw arrays of a library without derivatives."""
    domain = next(filter(None, map(owner_of, leaves)), None) or domain_named(default_name())
    found = within(domain.raw, op.name)
    if found is None:
        raise PluginError(f"backend {domain.backend.name!r} cannot compute {op.name}")
    return found(*args, **kwargs)


def _with_functions(op: Op, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a program that takes functions: it gets Variables, and the functions are made ops."""
    bridge = backend_named(name).bridge()
    if bridge is None:
        raise PluginError(
            f"{op.name} takes functions, and there is no bridge for those of this engine: call it "
            f"in ag.namespace({name!r}), where functions take Variables"
        )

    def adopted(x: Any) -> Any:
        if not callable(x) or hasattr(x, "dtype"):
            return x
        return Adopted(x, name, bridge)

    def program(*args: Any, **kwargs: Any) -> Any:
        home = next(each for each in _leaves((args, kwargs)) if isinstance(each, Variable))
        return within(home.__array_namespace__(), op.name)(*args, **kwargs)

    program.__name__ = program.__qualname__ = op.name
    args, kwargs = _mapped((args, kwargs), adopted)
    exported = Exported(program, args, kwargs, name, name, None)
    outputs = bridge.export(exported, exported.inputs())
    return unflatten(exported.structure, outputs)


def _leaves(tree: Any) -> Iterator[Any]:
    stack = [tree]
    while stack:
        each = stack.pop()
        if isinstance(each, list | tuple):
            stack.extend(reversed(each))
        elif isinstance(each, dict):
            stack.extend(reversed(each.values()))
        else:
            yield each


def _mapped(tree: Any, change: Function) -> Any:
    if isinstance(tree, dict):
        return {name: _mapped(each, change) for name, each in tree.items()}
    if isinstance(tree, list | tuple):
        values = [_mapped(each, change) for each in tree]
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
    return change(tree)


def _is_numpy(x: Any) -> bool:
    return type(x).__module__ == "numpy" and hasattr(x, "dtype") and not isinstance(x, type)
