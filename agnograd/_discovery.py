"""Entry points: what is installed, without importing any of it."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from agnograd.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["BACKENDS", "OPS", "PLUGINS", "installed", "load", "origin", "unknown"]

BACKENDS = "agnograd.backends"
OPS = "agnograd.ops"
PLUGINS = "agnograd.plugins"


@cache
def _entry_points() -> Any:
    """Return all entry points: reading them takes as long for one group as for all."""
    # Imported here because it takes a third of the time that agnograd takes without it.
    from importlib.metadata import entry_points

    return entry_points()


@cache
def _found(group: str) -> tuple[tuple[EntryPoint, str, str], ...]:
    """Return a group's entry points, each with the name and version of its distribution."""
    known: dict[int, tuple[str, str]] = {}
    found = []
    for entry in _entry_points().select(group=group):
        if entry.dist is None:
            found.append((entry, "an unknown distribution", ""))
            continue
        if id(entry.dist) not in known:  # reading a name parses a file
            known[id(entry.dist)] = entry.dist.name, entry.dist.version
        found.append((entry, *known[id(entry.dist)]))
    return tuple(found)


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, the built-in ones first.

    With ``AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD=1`` only those of agnograd itself count.
    A name that two distributions claim belongs to agnograd, else to the first found.
    """
    ours = [entry for entry, distribution, _ in _found(group) if distribution == "agnograd"]
    others = [entry for entry, distribution, _ in _found(group) if distribution != "agnograd"]
    if os.environ.get("AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD", "") not in ("", "0"):
        others = []
    found: dict[str, EntryPoint] = {}
    for entry in (*sorted(ours), *sorted(others)):
        found.setdefault(entry.name, entry)
    return found


def origin(entry: EntryPoint) -> str:
    """Return the distribution and version that an entry point came from."""
    for other, distribution, version in _found(entry.group):
        if other is entry:
            return f"{distribution} {version}".rstrip()
    return "an unknown distribution"


def unknown(kind: str, name: str, group: str) -> str:
    """Say that nothing in a group has a name, what there is, and what may have been meant."""
    import difflib

    names = list(installed(group))
    if not names:
        return f"no {kind} is named {name!r}, and none is installed: install agnograd anew"
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"no {kind} is named {name!r}; installed: {', '.join(names)}{hint}"


def load(entry: EntryPoint) -> object:
    """Import what an entry point names; a failure names the entry point and its origin."""
    try:
        return entry.load()
    except Exception as error:
        raise PluginError(
            f"{entry.group} entry point {entry.name!r} of {origin(entry)} ({entry.value}) "
            f"failed to load: {type(error).__name__}: {error}"
        ) from error
