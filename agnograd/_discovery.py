"""Entry points: what is installed, without importing any of it."""

import os
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from agnograd.errors import PluginError

__all__ = ["BACKENDS", "OPS", "PLUGINS", "installed", "load", "origin"]

BACKENDS = "agnograd.backends"
OPS = "agnograd.ops"
PLUGINS = "agnograd.plugins"


@cache
def _found(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, the built-in ones first.

    With ``AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD=1`` only those of agnograd itself count.
    A name that two distributions claim belongs to agnograd, else to the first found.
    """
    ours = [entry for entry in _found(group) if _distribution(entry) == "agnograd"]
    others = [entry for entry in _found(group) if _distribution(entry) != "agnograd"]
    if os.environ.get("AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD", "") not in ("", "0"):
        others = []
    found: dict[str, EntryPoint] = {}
    for entry in (*sorted(ours), *sorted(others)):
        found.setdefault(entry.name, entry)
    return found


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown distribution"


def origin(entry: EntryPoint) -> str:
    """Return the distribution and version that an entry point came from."""
    version = f" {entry.dist.version}" if entry.dist is not None else ""
    return _distribution(entry) + version


def load(entry: EntryPoint) -> object:
    """Import what an entry point names; a failure names the entry point and its origin."""
    try:
        return entry.load()
    except Exception as error:
        raise PluginError(
            f"{entry.group} entry point {entry.name!r} of {origin(entry)} ({entry.value}) "
            f"failed to load: {type(error).__name__}: {error}"
        ) from error
