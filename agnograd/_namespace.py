"""The array-API namespace over one backend, whose functions take and return Variables."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from inspect import getattr_static
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agnograd._backends import backend_of, backends, default_name
from agnograd._fit import is_python_scalar
from agnograd._variable import Variable, owners
from agnograd.errors import UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = [
    "Extension",
    "Namespace",
    "domain_named",
    "domain_of",
    "filling",
    "is_array",
    "namespace",
    "owner_of",
]


class Namespace(ModuleType):
    """The differentiable array-API namespace over one backend.

    There is one object per backend in a process. It has every function, constant, dtype and
    extension of the standard that the backend's own namespace has, and the ops of installed op
    sets. Its functions take Variables, raw arrays of the backend (as constants) and Python
    scalars, and return Variables. It is picklable by name.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _at, (self._path.removeprefix("agnograd."),)

    def __repr__(self) -> str:
        return f"<namespace {self._path!r}>"

    @property
    def _path(self) -> str:
        return self.__package__ or self.__name__  # an extension has the name alone

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

    def __reduce__(self) -> tuple[Any, ...]:
        return _at, (self.__name__.removeprefix("agnograd."),)

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
        self.__class__ = self.__dict__.pop("_kind")


filling = threading.RLock()


def _renew() -> None:
    """Let a forked child have a lock of its own: who held it is a thread of the parent."""
    global filling
    filling = threading.RLock()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_renew)

_domains: dict[str, Domain] = {}
_owners_of_subclasses: WeakKeyDictionary[type, Domain] = WeakKeyDictionary()


def domain_named(name: str) -> Domain:
    """Return the domain of the backend with this name, built on first use."""
    domain = _domains.get(name)
    if domain is None:
        # Building, and all that it imports, waits until a namespace is asked for.
        with filling:
            domain = _domains.get(name)
            if domain is None:
                from agnograd._build import build

                domain = _domains[name] = build(name)
    return domain


def _at(path: str) -> Any:
    """Return the namespace of a backend, or an extension of it, by its path."""
    name, _, extension = path.partition(".")
    return attrgetter(extension)(namespace(name)) if extension else namespace(name)


def owner_of(value: object) -> Domain | None:
    """Return the domain of a Variable, or of a raw array of an installed backend; else None."""
    if isinstance(value, Variable):
        return value._domain
    kind = type(value)
    domain = owners.get(kind) or _owners_of_subclasses.get(kind)
    if domain is None and kind.__module__ != "builtins":
        backend = backend_of(kind)
        if backend is not None and isinstance(value, domain_named(backend.name).array_types):
            domain = domain_named(backend.name)
            # Programs may make classes for ever: those are known for as long as they live.
            known = owners if kind in domain.array_types else _owners_of_subclasses
            known[kind] = domain
    return domain


def is_array(value: object) -> bool:
    """Return whether a value is an array of any library, a Variable included.

    Some libraries' arrays have none of the standard's methods: those of backends are known all the
    same, and without importing any library.
    """
    kind = type(value)
    standard = hasattr(kind, "__array_namespace__") or hasattr(kind, "__dlpack__")
    return standard or owner_of(value) is not None


def domain_of(value: object) -> Domain:
    """Return the domain that an array belongs to; scalars and lists are the default backend's.

    Raises
    ------
    UnsupportedArrayError
        If the value is an array of no installed backend.
    """
    domain = owners.get(type(value)) or owner_of(value)
    if domain is not None:
        return domain
    if isinstance(value, list | tuple):
        first = next((each for each in value if isinstance(each, Variable)), None)
        return domain_of(first) if first is not None else domain_named(default_name())
    if is_python_scalar(value):
        return domain_named(default_name())
    kind = type(value)
    raise UnsupportedArrayError(
        f"{kind.__module__}.{kind.__qualname__} is no array of an installed backend "
        f"({', '.join(backends())}); {_inside(value)}pass an array of one of these, a number or a "
        "nested list"
    )


def _inside(value: object) -> str:
    """Return how to differentiate by the array that an object of another library holds, if any."""
    for name in ("magnitude", "data", "values", "value", "array"):
        held = getattr_static(value, name, None)
        array = None if held is None else getattr(value, name, None)
        if array is not None and (isinstance(array, Variable) or owner_of(array) is not None):
            kind = type(value).__name__
            return (
                f"it holds one: differentiate by x.{name}, and make the {kind} of it inside of the "
                f"function, as ag.grad(lambda a: f({kind}(a, ...)))(x.{name}); or "
            )
    return ""


def namespace(backend: object = None) -> Namespace:
    """Return the differentiable array-API namespace over one backend.

    Parameters
    ----------
    backend : str, array or Variable, optional
        The name of an installed backend, or an array of that backend. The default is
        ``$AGNOGRAD_BACKEND``, or numpy.

    Returns
    -------
    namespace
        Always the same object for one backend.

    Raises
    ------
    UnknownBackendError
        If no installed backend has this name.
    PluginError
        If the backend, or its library, cannot be imported.
    UnsupportedArrayError
        If the array does not belong to any installed backend.
    """
    if backend is None:
        backend = default_name()
    domain = domain_named(backend) if isinstance(backend, str) else domain_of(backend)
    found: Namespace = domain.namespace
    return found
