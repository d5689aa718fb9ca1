"""The array-API namespace over one backend: every registered op, on raw arrays and on Variables."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from inspect import getdoc
from itertools import product, takewhile
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agnograd._arrays.conversions import add_conversions
from agnograd._arrays.domain import Domain
from agnograd._arrays.levels import above
from agnograd._arrays.operators import add_operators
from agnograd._codegen.deferring import compile_op
from agnograd._hooks.state import current_mode
from agnograd._ops.op import Op
from agnograd._plugins.backends import backend_named
from agnograd._plugins.op_sets import extensions, registered_in
from agnograd._util.deferred import Deferred
from agnograd._util.locks import Lock
from agnograd._util.signatures import DTYPES, parameters_of
from agnograd.errors import PluginError, PluginWarning

_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
_INSPECTION = ("__array_api_version__", "__array_namespace_info__")


def path_of(namespace: ModuleType) -> str:
    """Return the name that a namespace, or an extension of one, has in ``agnograd``."""
    return namespace.__package__ or namespace.__name__  # an extension has only the name


class Namespace(ModuleType):
    """The differentiable array-API namespace over one backend.

    There is one object per backend in a process. It has every function, constant, dtype and
    extension of the standard that the backend's own namespace has, and the ops of installed op
    sets. Its functions take Variables, raw arrays of the backend (as constants) and Python
    scalars, and return Variables. It is picklable by name.
    """

    def __repr__(self) -> str:
        if "__getattr__" in vars(self):
            return f"<extension {path_of(self)!r}, not used yet>"
        return f"<namespace {path_of(self)!r}>"

    if TYPE_CHECKING:
        # The functions are entries of __dict__: a method here would make each look-up slower.
        def __getattr__(self, name: str) -> Any: ...


# Held while a namespace, or an extension of one, gets its functions.
filling = Lock()


def build(name: str) -> Domain:
    """Build a backend's ops, on raw arrays and on Variables; those of extensions come later."""
    domain = Domain(backend_named(name))
    path = f"agnograd.{name}"
    domain.raw = ModuleType(f"{path}.raw", "The ops on raw arrays.")
    domain.namespace = Namespace(domain.backend.known_as or path, Namespace.__doc__)
    names = (*_CONSTANTS, *DTYPES, *_INSPECTION, *domain.backend.taken_over)
    facts = {n: getattr(domain.library, n) for n in names if hasattr(domain.library, n)}
    for target in (domain.raw, domain.namespace):
        vars(target).update(facts, __package__=path)
    ops = {name: op for name, (op, _) in registered_in("").items()}
    _fill(domain, "", ops, domain.raw, domain.namespace)
    domain.raw.asarray = domain.library.asarray
    add_conversions(domain, path)
    add_operators(domain, ops)
    # Functions are pickled by the name of their module; other processes find it by agnograd itself.
    sys.modules.setdefault(path, domain.namespace)
    return domain


def _fill(
    domain: Domain, part: str, ops: Mapping[str, Op], raw: ModuleType, public: ModuleType
) -> None:
    """Put the ops of an extension, or of the namespace itself, into the two namespaces.

    They get the extensions that are in it, too: ``stats`` has ``stats.norm``.
    """
    faster = domain.backend.kernels()
    for name, op in ops.items():
        prefix, _, short = name.rpartition(".")
        kernel = faster.get(name) or _kernel(op, domain) if prefix == part else None
        if kernel is not None:
            setattr(raw, short, kernel)
            setattr(public, short, (_composed if op.composed else compile_op)(op, domain, kernel))
    for inner in _extensions(domain, part, ops):
        _extend(domain, inner, ops, raw, public)


def _extensions(domain: Domain, part: str, ops: Mapping[str, Op]) -> Iterator[str]:
    """Yield the extensions in one, or in a namespace itself, by their full names.

    They are the library's own, and those of which an op set says how an op is computed.
    """
    before = f"{part}." if part else ""
    computed = dict.fromkeys(extensions(), True)
    for name, op in ops.items():
        extension = name.rpartition(".")[0]
        computed[extension] = computed.get(extension, False) or op.forward is not None
    shorts: dict[str, bool] = {}
    for name, is_computed in computed.items():
        if name.startswith(before) and name != part:
            short = name.removeprefix(before).partition(".")[0]
            shorts[short] = shorts.get(short, False) or is_computed
    backend: Any = domain.backend
    # An interpretation has the extensions of what is below it.
    library = within(backend.below.raw if domain.level else domain.library, part)
    listed = dir(library)  # what is listed need not be imported yet
    for short, is_computed in shorts.items():
        inner = before + short
        if inner in ops:
            warnings.warn(
                f"AGNOGRAD: an extension is called as the op {inner!r} of {ops[inner].chapter}, "
                "and is left out. Uninstall its distribution, or rename the extension",
                PluginWarning,
                stacklevel=2,
            )
        elif is_computed or short in listed or hasattr(library, short):
            yield inner


def _extend(
    domain: Domain, part: str, ops: Mapping[str, Op], raw: ModuleType, public: ModuleType
) -> None:
    """Give two namespaces an extension, which is filled when it is first used: programs use few."""
    inner_raw = ModuleType(f"{domain.raw.__name__}.{part}")
    inner = Namespace(f"{domain.namespace.__package__}.{part}", Namespace.__doc__)

    def fill() -> None:
        with filling:
            if "__getattr__" in vars(inner):
                known = {**ops, **{name: op for name, (op, _) in registered_in(part).items()}}
                within = {name: op for name, op in known.items() if name.startswith(f"{part}.")}
                _fill(domain, part, within, inner_raw, inner)
                # A module that has these is slower.
                for each, name in product((inner_raw, inner), ("__dir__", "__getattr__")):
                    vars(each).pop(name, None)

    def get(each: ModuleType, name: str) -> Any:
        fill()
        return getattr(each, name)

    def listed(each: ModuleType) -> list[str]:
        fill()
        return dir(each)

    for each, outer in ((inner_raw, raw), (inner, public)):
        # Python asks these for what the module does not have.
        vars(each).update(__getattr__=partial(get, each), __dir__=partial(listed, each))
        setattr(outer, part.rpartition(".")[2], each)


def _kernel(op: Op, domain: Domain) -> Callable[..., Any] | None:
    """Return what computes an op on raw arrays, or None where the backend cannot."""
    if domain.level and not op.composed:
        backend: Any = domain.backend  # an interpretation
        if within(backend.below.raw, op.name) is None:
            return None
        rule: Callable[..., Any] | None = backend.kernel(op)
        if rule is not None or op.forward is None:
            return rule
    if op.forward is operator.getitem:
        return domain.backend.operator(op.forward)
    forward = op.forward and bound_to(op.forward, xp=domain.raw, backend=domain.backend)
    module = op.kernels.get(domain.backend.name)
    if module is not None and not op.composed:
        return Deferred(partial(_from_module, op.name, module, forward, domain))
    return forward or within(domain.library, op.name)


def within(module: Any, name: str) -> Any:
    """Return what a namespace has under a name with dots, or None; itself for an empty one."""
    for part in name.split(".") if name else ():
        module = getattr(module, part, None)
    return module


def _from_module(
    name: str, module: str, forward: Callable[..., Any] | None, domain: Domain
) -> Callable[..., Any]:
    """Return a kernel of a module, which leaves what it does not compute to ``forward``."""
    own = getattr(import_module(module), name.rpartition(".")[2], None)
    found = own and bound_to(own, xp=domain.raw, backend=domain.backend)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        out = NotImplemented if found is None else found(*args, **kwargs)
        if out is not NotImplemented:
            return out
        if forward is None:
            raise PluginError(f"{module} cannot compute this {name}, which has no `forward`")
        return forward(*args, **kwargs)

    return kernel if own or forward is None else forward


def _composed(op: Op, domain: Domain, _: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that users call of an op that is made of others."""
    assert op.forward is not None
    program = bound_to(op.forward, xp=domain.namespace)

    def function(*args: Any, **kwargs: Any) -> Any:
        mode = current_mode()
        if mode is not None and mode.level is not None:
            at = above(domain, op.name, args, *kwargs.values())
            if at is not None:
                return at(*args, **kwargs)
        return program(*args, **kwargs)

    function.__name__, function.__qualname__ = op.name.rpartition(".")[2], op.name
    function.__module__ = domain.namespace.__package__
    function.__doc__ = getdoc(op.forward)
    function.__signature__ = op.signature  # type: ignore[attr-defined]
    return function


def bound_to(function: Callable[..., Any], **available: Any) -> Callable[..., Any]:
    """Bind the leading parameters that a function has among those that are available."""
    try:
        names = parameters_of(function)
    except ValueError:  # it is compiled, and does not tell
        return function
    leading = [available[name] for name in takewhile(available.__contains__, names)]
    return partial(function, *leading) if leading else function
