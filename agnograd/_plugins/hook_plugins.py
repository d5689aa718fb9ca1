"""Installed hook plugins: listed without loading, loaded by name."""

from typing import NamedTuple, NoReturn, SupportsIndex

from agnograd._plugins.entry_points import PLUGINS, chosen, installed, load, origin
from agnograd.errors import ArgumentError, UnknownPluginError


class PluginInfo(NamedTuple):
    """What is known of an installed plugin: see ``plugins``."""

    name: str
    distribution: str
    target: str
    importable: bool


def plugins() -> dict[str, PluginInfo]:
    """Return the installed plugins by name, without importing any of them.

    Returns
    -------
    dict
        For each plugin a named tuple: its ``name``, the ``distribution`` and version that it comes
        from, the ``target`` that its entry point names, and whether the target is ``importable``.

    Examples
    --------
    >>> import agnograd as ag
    >>> ag.plugins()["timer"].target
    'agnograd_timer:Timer'
    """
    from importlib.util import find_spec

    found = {}
    for name, entry in installed(PLUGINS).items():
        # Only the top-level package: looking for a submodule would import its parents.
        importable = find_spec(entry.module.partition(".")[0]) is not None
        found[name] = PluginInfo(name, origin(entry), entry.value, importable)
    return found


def plugin_named(name: str) -> object:
    """Return what the entry point of a plugin names: a class, a module, or an instance."""
    return load(chosen("plugin", name, PLUGINS, UnknownPluginError))


class Uncopied:
    """A plugin that raises an error when it is copied or pickled.

    Its state belongs to running threads or to existing graphs, and a copy would not be notified of
    either.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        kind = type(self)
        raise ArgumentError(
            f"this {kind.__module__}.{kind.__qualname__} cannot be copied or pickled: its state "
            "belongs to the threads and graphs that it watches; make a new one with the same "
            "options where you need it"
        )
