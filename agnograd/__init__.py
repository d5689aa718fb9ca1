"""Differentiate code written against the Python array API standard, on any array library."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import lazy_loader

from agnograd._hooks.state import PROCESS_PLUGINS

# The names are those of __init__.pyi: each module is imported when one of its names is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"


class _Namespaces:
    """Finds ``agnograd.numpy`` and the like, by which functions of namespaces are pickled."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, backend = name.rpartition(".")
        if package != __name__ or backend.startswith("_"):
            return None
        from agnograd._plugins.backends import backends

        return ModuleSpec(name, cls) if backend in backends() else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        from agnograd._arrays.domains import namespace

        return namespace(spec.name.rpartition(".")[2])

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing: a namespace is made with all that it has."""


sys.meta_path.append(_Namespaces)

if PROCESS_PLUGINS:
    from agnograd._hooks.activation import activate_process_plugins

    activate_process_plugins()
