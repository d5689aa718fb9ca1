"""Entry points: what is installed, without importing any of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from typing import NamedTuple

from agnograd.errors import PluginError

__all__ = ["BACKENDS", "OPS", "PLUGINS", "EntryPoint", "installed", "load", "origin", "unknown"]

BACKENDS = "agnograd.backends"
OPS = "agnograd.ops"
PLUGINS = "agnograd.plugins"
_GROUPS = (BACKENDS, OPS, PLUGINS)


class EntryPoint(NamedTuple):
    """A name for an object of a module, and the distribution that gives it."""

    name: str
    value: str
    group: str
    distribution: str
    version: str

    @property
    def module(self) -> str:
        """The module's name."""
        return self._reference[0].strip()

    @property
    def attr(self) -> str:
        """The object's name in the module, with dots; empty for the module itself."""
        return self._reference[2].strip()

    @property
    def _reference(self) -> tuple[str, str, str]:
        return self.value.partition("[")[0].partition(":")

    def load(self) -> object:
        """Import the module, and return the object."""
        found: object = import_module(self.module)
        for attribute in filter(None, self.attr.split(".")):
            found = getattr(found, attribute)
        return found


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """Return the entry points of all installed distributions, in agnograd's groups.

    They are what ``importlib.metadata`` finds. To import it and read what it reads takes as long as
    all else that a namespace needs, so that it is asked only where there may be others than in
    folders of the path.
    """
    finders = [each for each in sys.meta_path if hasattr(each, "find_distributions")]
    archives = [place for place in sys.path if place.endswith(".egg") or os.path.isfile(place)]
    if archives or any(each is not PathFinder for each in finders):
        return tuple(_of_all_kinds())
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for place in sys.path:
        for folder in _folders(place or os.curdir):
            name = os.path.basename(folder).rpartition(".")[0].partition("-")[0]
            key = name.lower().replace(".", "_")
            if key not in found:  # what comes later on the path is hidden
                found[key] = tuple(_in_folder(folder))
    return tuple(entry for entries in found.values() for entry in entries)


def _of_all_kinds() -> Iterator[EntryPoint]:
    from importlib.metadata import entry_points

    for group in _GROUPS:
        for each in entry_points(group=group):
            name, version = ("an unknown distribution", "")
            if each.dist is not None:
                name, version = each.dist.name, each.dist.version
            yield EntryPoint(each.name, each.value, group, name, version)


def _folders(place: str) -> list[str]:
    """Return the folders that describe the distributions of one place of the path."""
    try:
        names = os.listdir(place)
    except OSError:  # most paths have places that do not exist
        return []
    kinds = (".dist-info", ".egg-info")
    return [os.path.join(place, name) for name in names if name.lower().endswith(kinds)]


def _in_folder(folder: str) -> Iterator[EntryPoint]:
    """Read the entry points of one distribution."""
    text = _text(folder, "entry_points.txt")
    if not any(f"[{group}]" in text for group in _GROUPS):
        return
    facts = _text(folder, "METADATA") or _text(folder, "PKG-INFO")
    headers = dict(line.partition(": ")[::2] for line in facts.partition("\n\n")[0].splitlines())
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group in _GROUPS and line and not line.startswith("#"):
            name, _, value = map(str.strip, line.partition("="))
            distribution, version = headers.get("Name", ""), headers.get("Version", "")
            yield EntryPoint(name, value, group, distribution, version)


def _text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, the built-in ones first.

    With ``AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD=1`` only those of agnograd itself count.
    A name that two distributions claim belongs to agnograd, else to the first found.
    """
    entries = [entry for entry in _entry_points() if entry.group == group]
    ours = [entry for entry in entries if entry.distribution == "agnograd"]
    others = [entry for entry in entries if entry.distribution != "agnograd"]
    if os.environ.get("AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD", "") not in ("", "0"):
        others = []
    found: dict[str, EntryPoint] = {}
    for entry in (*sorted(ours), *sorted(others)):
        found.setdefault(entry.name, entry)
    return found


def origin(entry: EntryPoint) -> str:
    """Return the distribution and version that an entry point came from."""
    return f"{entry.distribution} {entry.version}".strip() or "an unknown distribution"


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
