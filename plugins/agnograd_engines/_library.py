"""Libraries of ops for other engines: functions that answer in the kind of array that they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from inspect import BoundArguments
from numbers import Number
from types import ModuleType
from typing import Any

from agnograd import Variable, bridge, namespace
from agnograd.errors import MixedBackendsError, PluginError
from agnograd.extend import (
    Op,
    OpSet,
    backend_named,
    backend_of,
    domain_named,
    is_array,
    is_plain_numpy,
    op_named,
)
from agnograd.extend.arguments import did_you_mean, python_number
from agnograd.extend.entry_points import op_sets, registered_in
from agnograd.extend.transforms import owner_of, within
from agnograd_engines._engine import (
    TRACERS,
    Engine,
    engine_named,
    engine_of,
    load_what_is_imported,
)
from agnograd_engines._primitive import EngineNamespace, documented

Function = Callable[..., Any]


class Library(ModuleType):
    """Ops as functions for the arrays of any engine; see ``agnograd.bridge.library``."""

    def __init__(self, path: str, names: dict[str, Any], engine: str | None) -> None:
        super().__init__(path, "Ops as functions for the arrays of PyTorch, JAX and other engines.")
        self._engine, self._names = engine, names
        self._opened: tuple[Any, ...] = library, (path, engine)

    def __repr__(self) -> str:
        return f"<library {self.__name__!r}>"

    def __dir__(self) -> list[str]:
        return sorted(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._opened

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._names:
            hint = "" if name.startswith("_") else did_you_mean(name, self._names)
            raise AttributeError(f"library {self.__name__!r} has no {name!r}{hint}")
        found = self._names[name]
        if isinstance(found, dict):
            made: Any = Library(f"{self.__name__}.{name}", found, self._engine)
            made._opened = getattr, (self, name)
        else:
            made = _dispatching(found, self._engine)
        setattr(self, name, made)
        return made


def _tree(ops: Mapping[str, str]) -> dict[str, Any]:
    """Return names of ops, by names with dots in a library, as dicts in dicts."""
    tree: dict[str, Any] = {}
    for path, op in ops.items():
        *outer, last = path.split(".")
        inner = tree
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = op
    return tree


def library(name: str, engine: str | None = None) -> Library:
    """Return the library of an extension, or of a package that registers ops."""
    load_what_is_imported()
    if engine is not None:
        engine_named(engine)  # if there is none, this raises
    sets = op_sets()
    known = list(dict.fromkeys(op_set.extension for _, op_set in sets if op_set.extension))
    inner = [each for each in known if f"{name}.".startswith(f"{each}.") or _is_in(each, name)]
    names = [op for each in inner for op in registered_in(each) if _is_in(op, name)]
    if names:
        return Library(name, _tree({op.removeprefix(f"{name}."): op for op in names}), engine)
    packages: dict[str, list[OpSet]] = {}
    for entry, op_set in sets:
        root = entry.module.partition(".")[0]
        packages.setdefault(root.removeprefix("agnograd_"), []).append(op_set)
    names = [op for op_set in packages.get(name.removeprefix("agnograd_"), ()) for op in op_set.ops]
    if not names:
        listed = sorted({*known, *packages} - {"agnograd"})
        hint = did_you_mean(name, listed)
        raise PluginError(f"no op set is named {name!r}; installed: {', '.join(listed)}{hint}")
    return Library(name, _tree({op: op for op in names if not op.startswith("_")}), engine)


def _is_in(name: str, extension: str) -> bool:
    return name.startswith(f"{extension}.")


@cache
def _namespace_of(name: str) -> EngineNamespace:
    engine = engine_named(name)
    return EngineNamespace(engine, domain_named(engine.backend))


@cache
def _dispatching(op_name: str, only: str | None) -> Function:
    """Return an op as a function for the arrays of any engine, or of one."""
    op = op_named(op_name)
    assert op is not None  # it is registered
    made: dict[str, Function] = {}

    def function(*args: Any, **kwargs: Any) -> Any:
        for tracing, traced in TRACERS:
            if tracing():
                return traced(op_name, args, kwargs)
        name = _engine_of((*args, *kwargs.values()) if kwargs else args, only)
        if name is None:
            return _by_leaves(op, args, kwargs, only)
        found = made.get(name) or made.setdefault(name, _found(name, op_name))
        return found(*args, **kwargs)

    # Functions are pickled by this name in their module.
    function.__qualname__ = f"{only}:{op_name}" if only else op_name
    function.__name__ = op_name.rpartition(".")[2]
    function.__doc__ = documented(op)
    function.__signature__ = op.signature  # type: ignore[attr-defined]
    return function


def __getattr__(name: str) -> Library:
    if name.startswith("_"):
        raise AttributeError(name)
    engine, _, extension = name.rpartition(":")
    return library(extension, engine or None)


def _engine_of(args: tuple[Any, ...], only: str | None) -> str | None:
    """Return the engine of arguments that are its arrays and numbers; None for all others."""
    name = only
    for x in args:
        found = engine_of[type(x)]
        if found is None or (found and name and found != name):
            return None
        name = name or found
    return name or None


def engine_function(engine: str, name: str) -> Function:
    """Return an op's function for the arrays of an engine, by the names of both.

    It is not a library's: a trace of the engine does not notice it.
    """
    op = op_named(name)
    if op is None:  # what is of a namespace and no op, such as ``asarray``
        return _found(engine, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        return _by_leaves(op, args, kwargs, engine)

    return function


def _found(engine: str, name: str) -> Function:
    found: Function = within(_namespace_of(engine), name)
    return found


def _by_leaves(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], only: str | None) -> Any:
    """Call an op by the arrays in its arguments, and in lists, tuples and dicts of them."""
    leaves = list(_leaves((args, kwargs)))
    if any(isinstance(each, Variable) for each in leaves):
        home = next(each for each in leaves if isinstance(each, Variable))
        return within(home.__array_namespace__(), op.name)(*args, **kwargs)
    found = dict.fromkeys(filter(None, (engine_of[type(each)] for each in leaves)))
    if only is not None:
        found = dict.fromkeys([only, *found])
    if len(found) > 1:
        raise MixedBackendsError(
            f"{op.name} got arrays of several engines, {' and '.join(found)}: convert them to "
            "those of one; a gradient would be lost between them"
        )
    if not found:
        return _by_backend(op, args, kwargs, leaves)
    (name,) = found
    engine = engine_named(name)
    args, kwargs = _mapped((args, kwargs), partial(_constant, op, engine))
    if op.composed and any(callable(each) and not hasattr(each, "dtype") for each in leaves):
        return _with_functions(op, engine.backend, args, kwargs)
    # Programs prepare their arguments themselves.
    if not op.composed and any(isinstance(x, list | tuple) for x in (*args, *kwargs.values())):
        args, kwargs = _of_arrays(op, _namespace_of(name), args, kwargs)
    return _found(name, op.name)(*args, **kwargs)


def _constant(op: Op, engine: Engine, x: Any) -> Any:
    """Return a value among arguments as an engine takes it: NumPy's arrays become constants."""
    kind = type(x)
    if engine_of[kind] is not None:
        return x
    if isinstance(x, Number) or (kind.__module__ == "numpy" and not hasattr(kind, "__setitem__")):
        return python_number(x)
    if is_plain_numpy(x):
        return engine.constant(x)
    if is_array(x):
        raise MixedBackendsError(
            f"{op.name} got an array of type {kind.__module__}.{kind.__qualname__} beside those of "
            f"{engine.backend!r}: convert it to one of theirs, or to a NumPy array if it is a "
            "constant"
        )
    return x


def _of_arrays(
    op: Op, xp: EngineNamespace, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of an op with arrays in place of lists."""
    bound = _bound(op, args, kwargs)
    for name in op.arrays:
        if name == op.sequence:
            bound.arguments[name] = tuple(_array(xp, each) for each in bound.arguments[name])
        elif name in bound.arguments:
            bound.arguments[name] = _array(xp, bound.arguments[name])
    return bound.args, bound.kwargs


def _bound(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BoundArguments:
    try:
        return op.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{op.name}(): {error}") from None


def _array(xp: EngineNamespace, value: Any) -> Any:
    return xp.operand(value) if isinstance(value, list | tuple) else value


def _by_backend(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
    """Compute an op on raw arrays of a library without derivatives."""
    domain = next(filter(None, map(owner_of, leaves)), None)
    if domain is None:
        domain = domain_named(backend_of(namespace()).name)
    found = within(domain.raw, op.name)
    if found is None:
        raise PluginError(f"backend {domain.backend.name!r} cannot compute {op.name}")
    _bound(op, args, kwargs)
    return found(*args, **kwargs)


def _with_functions(op: Op, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a program that takes functions: it gets Variables, and the functions are made ops."""
    if backend_named(name).bridge() is None:
        raise PluginError(
            f"{op.name} takes functions, and there is no bridge for those of this engine: call it "
            f"in ag.namespace({name!r}), where functions take Variables"
        )

    def adopted(x: Any) -> Any:
        return bridge.adopt(x, name) if callable(x) and not hasattr(x, "dtype") else x

    def program(*args: Any, **kwargs: Any) -> Any:
        home = next(each for each in _leaves((args, kwargs)) if isinstance(each, Variable))
        return within(home.__array_namespace__(), op.name)(*args, **kwargs)

    program.__name__ = program.__qualname__ = op.name
    args, kwargs = _mapped((args, kwargs), adopted)
    return bridge.export(program, name)(*args, **kwargs)


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
