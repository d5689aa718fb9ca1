"""The installed backends: found by name, and by the types of their libraries' arrays."""

from __future__ import annotations

import os
from types import ModuleType
from weakref import WeakKeyDictionary

from agnograd._plugins.backend import Backend
from agnograd._plugins.entry_points import BACKENDS, chosen, installed, load, origin
from agnograd.errors import PluginError, UnknownBackendError

# By name. Two threads may load one at a time; both get what was put here first.
_loaded: dict[str, Backend] = {}


def backends() -> list[str]:
    """Return the names of the installed backends, in order, without importing any of them.

    The library of a backend may be missing; ``namespace`` then says how to install it.

    Examples
    --------
    >>> import agnograd as ag
    >>> {"numpy", "torch", "jax"} <= set(ag.backends())
    True
    """
    return list(installed(BACKENDS))


def backend_named(name: str) -> Backend:
    """Return the backend that an entry point names."""
    backend = _loaded.get(name)
    return _loaded.setdefault(name, _from_plugin(name)) if backend is None else backend


def add_backend(backend: Backend) -> None:
    """Let a backend that stands on another one be found by its name."""
    _loaded[backend.name] = backend


def _from_plugin(name: str) -> Backend:
    """Return what the plugin of a backend gives."""
    entry = chosen("backend", name, BACKENDS, UnknownBackendError)
    import pluggy

    from agnograd.hookspecs import BackendSpecs

    manager = pluggy.PluginManager("agnograd")
    manager.add_hookspecs(BackendSpecs)
    try:
        manager.register(load(entry), name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(
            f"backend {name!r} of {origin(entry)} is not a valid plugin: {error}"
        ) from error
    backend = manager.hook.backend()
    if not isinstance(backend, Backend) or backend.name != name:
        raise PluginError(
            f"backend {name!r} of {origin(entry)}: its hook `backend` must return a Backend "
            f"named {name!r}, not {backend!r}"
        )
    return backend


def require(backend: Backend) -> ModuleType:
    """Return a backend's namespace; if its library is missing, raise with the pip command."""
    try:
        return backend.namespace()
    except PluginError:  # which says what is wrong
        raise
    except ImportError as error:
        what = f"'agnograd[{backend.extra}]'" if backend.extra else backend.modules[0]
        raise PluginError(
            f"backend {backend.name!r} needs a library that is not installed ({error}); "
            f"install it with: pip install {what}"
        ) from error


def default_name() -> str:
    """Return the name of the default backend: ``$AGNOGRAD_BACKEND``, or numpy."""
    return os.environ.get("AGNOGRAD_BACKEND") or "numpy"


def backend_of(kind: type) -> Backend | None:
    """Return the backend that owns an array type, or None; this imports no library."""
    known = backends()
    for base in kind.__mro__[:-1]:
        root = base.__module__.partition(".")[0]
        # Most often it has the library's name, and no other backend needs to be imported.
        for name in sorted(known, key=root.__ne__):
            try:
                backend = backend_named(name)
            except PluginError:
                continue
            if root in backend.modules:
                return backend
    return None


# The backends of types of arrays that were met. Programs may make classes for ever: they are known
# for as long as they live.
_of_type: WeakKeyDictionary[type, Backend | None] = WeakKeyDictionary()


def backend_of_array(value: object) -> Backend | None:
    """Return the installed backend that a raw array is one of, or None; a Variable has its own."""
    kind = type(value)
    domain = getattr(kind, "_domain", None)
    if domain is not None:
        backend: Backend = domain.backend
        return backend
    if kind.__module__ == "builtins":
        return None
    if kind not in _of_type:
        found = backend_of(kind)
        types = (*found.array_types(), *found.scalar_types()) if found else ()
        _of_type[kind] = found if issubclass(kind, types) else None
    return _of_type[kind]


def is_array(value: object) -> bool:
    """Return whether a value is an array of any library, a Variable included.

    Some libraries' arrays have none of the standard's methods: those of backends are known all the
    same, and without importing any library.
    """
    kind = type(value)
    standard = hasattr(kind, "__array_namespace__") or hasattr(kind, "__dlpack__")
    return standard or backend_of_array(value) is not None


Backend._host = staticmethod(lambda: backend_named("numpy"))
