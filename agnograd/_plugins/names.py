"""Names of agnograd that plugins give: ``ag.certify``, say, of the group ``agnograd.names``."""

from __future__ import annotations

from agnograd._plugins.entry_points import NAMES, installed, load


def names() -> list[str]:
    """Return these names, without importing what they stand for."""
    return [*installed(NAMES)]


def named(name: str) -> object:
    """Return what a name stands for, and import it.

    Raises
    ------
    AttributeError
        If no plugin gives this name.
    PluginError
        If its plugin cannot be imported; it names the entry point and the distribution.
    """
    found = installed(NAMES).get(name)
    if found is None:
        raise AttributeError(f"module 'agnograd' has no attribute {name!r}")
    return load(found)


def is_module(name: str) -> bool:
    """Return whether a name stands for a module, which ``import agnograd.<name>`` imports, too."""
    found = installed(NAMES).get(name)
    return found is not None and not found.attr
