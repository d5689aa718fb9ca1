"""Differentiate code written against the Python array API standard, on any array library."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import lazy_loader

from agnograd._hooks.state import PROCESS_PLUGINS

# The names are those of __init__.pyi: each module is imported when one of its names is first used.
_own, _, _names = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    """Return a built-in name, or one that a plugin gives; it is looked up but once."""
    if name in _names:
        found = _own(name)
    else:
        from agnograd._plugins.names import named, names

        if name == "__all__":
            return sorted({*_names, *names()})
        found = named(name) if not name.startswith("_") else _own(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from agnograd._plugins.names import names

    return sorted({*_names, *names()})


class _Modules:
    """Finds ``agnograd.numpy`` and the like, and modules that plugins give as names of agnograd.

    By the former functions of namespaces are pickled.
    """

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, inner = name.partition(".")
        if package != __name__:
            return None
        from agnograd._plugins.backends import backends
        from agnograd._plugins.names import is_module, place_of

        found = ModuleSpec(name, cls)  # type: ignore[arg-type]
        if inner in backends():
            return found
        if not is_module(inner):
            return None
        found.origin, found.submodule_search_locations = place_of(inner)
        return found

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        from agnograd._arrays.domains import namespace
        from agnograd._plugins.names import is_module, named

        inner = spec.name.partition(".")[2]
        if not is_module(inner):
            return namespace(inner)
        found = named(inner)
        spec.loader_state = found.__spec__  # which this import is about to replace
        return found

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing but to leave the module its own name: it is made with all that it has."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state


sys.meta_path.append(_Modules)

if PROCESS_PLUGINS:
    from agnograd._hooks.activation import activate_process_plugins

    activate_process_plugins()
