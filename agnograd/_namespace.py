"""The array-API namespace over one backend, whose functions take and return Variables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agnograd._backends import backend_of, backends, default_name
from agnograd._fit import is_python_scalar
from agnograd._variable import Variable
from agnograd.errors import UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["Namespace", "domain_named", "domain_of", "is_array", "namespace", "owner_of"]


class Namespace(ModuleType):
    """The differentiable array-API namespace over one backend.

    There is one object per backend in a process. It has every function, constant, dtype and
    extension of the standard that the backend's own namespace has, and the ops of installed op
    sets. Its functions take Variables, raw arrays of the backend (as constants) and Python
    scalars, and return Variables. It is picklable by name.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return namespace, (self.__name__.removeprefix("agnograd."),)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}>"

    if TYPE_CHECKING:
        # The functions are entries of __dict__: a method here would make each look-up slower.
        def __getattr__(self, name: str) -> Any: ...


class Extension(Namespace):
    """An extension of a namespace, such as ``xp.linalg``.

    Its functions are made when one of them is first asked for: programs use few extensions.
    """

    def __init__(self, name: str, make: Callable[[], dict[str, Any]]) -> None:
        super().__init__(name, Extension.__doc__)
        self.__dict__["_make"] = make

    def __getattr__(self, name: str) -> Any:
        self._fill()
        return object.__getattribute__(self, name)

    def __dir__(self) -> list[str]:
        self._fill()
        return dir(self)

    def _fill(self) -> None:
        with _lock:
            make = self.__dict__.get("_make")
            if make is not None:
                self.__dict__.update(make())
                del self.__dict__["_make"]
                self.__class__ = Namespace  # type: ignore[assignment]  # its look-ups are faster


_lock = threading.RLock()
_domains: dict[str, Domain] = {}
_owners: dict[type, Domain] = {}


def domain_named(name: str) -> Domain:
    """Return the domain of the backend with this name, built on first use."""
    domain = _domains.get(name)
    if domain is None:
        # Building, and all that it imports, waits until a namespace is asked for.
        with _lock:
            domain = _domains.get(name)
            if domain is None:
                from agnograd._build import build

                domain = _domains[name] = build(name)
    return domain


def owner_of(value: object) -> Domain | None:
    """Return the domain of a Variable, or of a raw array of an installed backend; else None."""
    if isinstance(value, Variable):
        return value._domain
    kind = type(value)
    domain = _owners.get(kind)
    if domain is None and kind.__module__ != "builtins":
        backend = backend_of(kind)
        if backend is not None and isinstance(value, domain_named(backend.name).array_types):
            domain = _owners[kind] = domain_named(backend.name)
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
    domain = owner_of(value)
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
        f"({', '.join(backends())})"
    )


def namespace(backend: object = None) -> Namespace:
    """Return the differentiable array-API namespace over one backend.

    Parameters
    ----------
    backend : str, array or Variable, optional
        The name of an installed backend, or an array whose backend is meant; by default
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
        If the array is one of no installed backend.
    """
    if backend is None:
        backend = default_name()
    domain = domain_named(backend) if isinstance(backend, str) else domain_of(backend)
    found: Namespace = domain.namespace
    return found
