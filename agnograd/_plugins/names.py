"""Names of agnograd that plugins give: ``ag.certify``, say, of the group ``agnograd.names``.

One with a dot is that of a module inside a package of agnograd: ``testing.conformance``. One that
begins with an underscore is where a module was, for what pickles of earlier versions name.
"""

from __future__ import annotations

from agnograd._plugins.entry_points import NAMES, installed, load


def names() -> list[str]:
    """Return these names, without importing what they stand for, but those inside packages."""
    return [each for each in installed(NAMES) if "." not in each and not each.startswith("_")]


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


def place_of(name: str) -> tuple[str | None, list[str] | None]:
    """Return the file of such a module, and its folders if it is a package, without importing it.

    Tools ask for them: ``pytest --pyargs`` does.
    """
    from importlib.util import find_spec

    try:
        found = find_spec(installed(NAMES)[name].module)
    except Exception:  # of which an import of the module tells
        found = None
    if found is None:
        return None, None
    folders = found.submodule_search_locations
    return found.origin, None if folders is None else list(folders)
