"""The array-API namespace over one backend: every registered op, on raw arrays and on Variables."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from inspect import getdoc
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from agnograd._arrays.conversions import add_conversions
from agnograd._arrays.domain import Domain
from agnograd._arrays.operators import add_operators
from agnograd._codegen.deferring import compile_op
from agnograd._ops.op import Op
from agnograd._plugins.backends import backend_named
from agnograd._plugins.op_sets import extensions, registered_in
from agnograd._util.deferred import Deferred, become
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
        return f"<namespace {path_of(self)!r}>"

    if TYPE_CHECKING:
        # The functions are entries of __dict__: a method here would make each look-up slower.
        def __getattr__(self, name: str) -> Any: ...


class Extension(ModuleType):
    """An extension of a namespace, such as ``xp.linalg``, that nothing was asked of yet.

    Its functions are made when one of them is first asked for: programs use few extensions.

    Parameters
    ----------
    name : str
        The name, as that of a module.
    kind : type
        What it is when it has its functions.
    fill : callable
        Gives it its functions, and calls ``become()``.
    """

    def __init__(self, name: str, kind: type[ModuleType], fill: Callable[[], None]) -> None:
        super().__init__(name, kind.__doc__)
        self.__dict__["_kind"] = kind
        self.__dict__["_fill"] = fill

    def __getattr__(self, name: str) -> Any:
        self._filled()
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"<extension {self.__name__!r}, not used yet>"

    def __dir__(self) -> list[str]:
        self._filled()
        return dir(self)

    def _filled(self) -> None:
        with filling:
            fill = self.__dict__.get("_fill")
            if fill is not None:
                fill()

    def become(self) -> None:
        """Become a namespace without a way of its own to look things up, which is faster."""
        del self.__dict__["_fill"]
        become(self, self.__dict__.pop("_kind"))


# Held while a namespace, or an extension of one, gets its functions.
filling = Lock()


def build(name: str) -> Domain:
    """Build a backend's ops, on raw arrays and on Variables; those of extensions come later."""
    domain = Domain(backend_named(name))
    path = f"agnograd.{name}"
    domain.raw = ModuleType(f"{path}.raw", "The ops on raw arrays.")
    domain.namespace = Namespace(domain.backend.known_as or path, Namespace.__doc__)
    for target in (domain.raw, domain.namespace):
        vars(target).update(_facts(domain), __package__=path)
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


def _extensions(domain: Domain, part: str, ops: Mapping[str, Op]) -> list[str]:
    """Return the extensions in one, or in a namespace itself, by their full names.

    They are the library's own, and those of which an op set says how an op is computed.
    """
    parts = {_next(part, name): True for name in extensions()}
    for name, op in ops.items():
        inner = _next(part, name.rpartition(".")[0])
        parts[inner] = parts.get(inner, False) or op.forward is not None
    for inner in parts.keys() & ops.keys():
        warnings.warn(
            f"AGNOGRAD: an extension is called as the op {inner!r} of {ops[inner].chapter}, and is "
            "left out. Uninstall its distribution, or rename the extension",
            PluginWarning,
            stacklevel=2,
        )
        del parts[inner]
    library = _of_library(domain, part)
    listed = dir(library)  # what is listed need not be imported yet
    for inner, computed in [*parts.items()]:
        short = inner.rpartition(".")[2]
        if not computed and short not in listed and not hasattr(library, short):
            del parts[inner]
    return [inner for inner in parts if inner]


def _next(part: str, name: str) -> str:
    """Return the extension in ``part`` that an extension of this name is, or is in; or ""."""
    before = f"{part}." if part else ""
    if not name.startswith(before):
        return ""
    return before + name.removeprefix(before).partition(".")[0] if name else ""


def _extend(
    domain: Domain, part: str, ops: Mapping[str, Op], raw: ModuleType, public: ModuleType
) -> None:
    """Give two namespaces an extension, which is filled when it is first used."""

    def fill() -> None:
        more = {name: op for name, (op, _) in registered_in(part).items()}
        known = {**ops, **more}
        within = {name: op for name, op in known.items() if name.startswith(f"{part}.")}
        _fill(domain, part, within, inner_raw, inner)
        inner_raw.become()
        inner.become()

    inner_raw = Extension(f"{domain.raw.__name__}.{part}", ModuleType, fill)
    inner = Extension(f"{domain.namespace.__package__}.{part}", Namespace, fill)
    short = part.rpartition(".")[2]
    setattr(raw, short, inner_raw)
    setattr(public, short, inner)


def _facts(domain: Domain) -> dict[str, Any]:
    """Return the constants, dtypes, and what else is the library's own."""
    names = (*_CONSTANTS, *DTYPES, *_INSPECTION, *domain.backend.taken_over)
    return {n: getattr(domain.library, n) for n in names if hasattr(domain.library, n)}


def _kernel(op: Op, domain: Domain) -> Callable[..., Any] | None:
    """Return what computes an op on raw arrays, or None where the backend cannot."""
    if op.forward is operator.getitem:
        return domain.backend.operator(op.forward)
    forward = None if op.forward is None else _bound(op.forward, domain)
    module = op.kernels.get(domain.backend.name)
    if module is not None and not op.composed:
        return Deferred(partial(_from_module, op.name, module, forward, domain))
    if forward is not None:
        return forward
    kernel: Callable[..., Any] | None = _of_library(domain, op.name)
    return kernel


def _of_library(domain: Domain, name: str) -> Any:
    """Return what a library has under a name with dots, or None; itself for an empty one."""
    found: Any = domain.library
    for part in name.split(".") if name else ():
        found = getattr(found, part, None)
    return found


def _bound(function: Callable[..., Any], domain: Domain) -> Callable[..., Any]:
    """Bind the namespace and the backend that a function may name first."""
    return bound(function, xp=lambda: domain.raw, backend=lambda: domain.backend)


def _from_module(
    name: str, module: str, forward: Callable[..., Any] | None, domain: Domain
) -> Callable[..., Any]:
    """Return a kernel of a module, which leaves what it does not compute to ``forward``."""
    own = getattr(import_module(module), name.rpartition(".")[2], None)
    rest = forward or partial(_refuse, name, module)
    if own is None:
        return rest
    found = _bound(own, domain)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        out = found(*args, **kwargs)
        return rest(*args, **kwargs) if out is NotImplemented else out

    return kernel


def _refuse(name: str, module: str, *_: Any, **__: Any) -> NoReturn:
    raise PluginError(f"{module} cannot compute this {name}, which has no `forward`")


def _composed(op: Op, domain: Domain, _: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that users call of an op that is made of others."""
    assert op.forward is not None
    program = bound(op.forward, xp=lambda: domain.namespace)

    def function(*args: Any, **kwargs: Any) -> Any:
        return program(*args, **kwargs)

    function.__name__, function.__qualname__ = op.name.rpartition(".")[2], op.name
    function.__module__ = domain.namespace.__package__
    function.__doc__ = getdoc(op.forward)
    function.__signature__ = op.signature  # type: ignore[attr-defined]
    return function


def bound(function: Callable[..., Any], **available: Callable[[], Any]) -> Callable[..., Any]:
    """Bind the leading parameters that a function has among those that are available.

    They are looked up at each call: what they stand for may be made later than the function.
    """
    try:
        names = parameters_of(function)
    except ValueError:  # it is compiled, and does not tell
        return function
    leading = []
    for name in names:
        if name not in available:
            break
        leading.append(available[name])
    if not leading:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*(get() for get in leading), *args, **kwargs)

    return call
