"""Entry points: what is installed, without importing any of it.

They are what ``importlib.metadata`` finds. To import it and read what it reads takes as long as all
else that a namespace needs, so it is asked only where there may be others than in folders of the
path. ``json`` and ``urllib`` take as long.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from typing import NamedTuple, TypeVar

from agnograd.errors import AgnogradError, PluginError, PluginWarning

BACKENDS = "agnograd.backends"
OPS = "agnograd.ops"
PLUGINS = "agnograd.plugins"
PROTOCOLS = "agnograd.protocols"
NAMES = "agnograd.names"
COMMANDS = "agnograd.commands"
OURS = "agnograd"
OWN = "agnograd.", "agnograd_"  # what the names of its modules, and of plugins, begin with
_GROUPS = f"[{OURS}."  # what their names begin with: also those that a plugin defines
T = TypeVar("T")


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
        return self.value.partition("[")[0].partition(":")[0].strip()

    @property
    def attr(self) -> str:
        """The object's name in the module, with dots; empty for the module itself."""
        return self.value.partition("[")[0].partition(":")[2].strip()

    def load(self) -> object:
        """Import the module, and return the object."""
        found: object = import_module(self.module)
        for attribute in filter(None, self.attr.split(".")):
            found = getattr(found, attribute)
        return found


class _Distribution(NamedTuple):
    """What is installed under a name: what describes it, and where it is."""

    key: str  # the name, as names are compared
    path: str
    place: str
    read: Callable[[str], str | None]  # gives the text of a file that describes it


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """Return the entry points of all installed distributions, in agnograd's groups."""
    distributions = list(_distributions())
    named = [each for each in distributions if each.key == OURS]
    ours = next(filter(_is_here, named), named[0] if named else None)
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for each in distributions:
        # What only calls itself agnograd hides nothing, and is told apart.
        path = each.path if each.key == OURS and ours and each.path != ours.path else ""
        if (path or each.key) not in found:  # what comes later on the path is hidden
            found[path or each.key] = tuple(_read(each, f" (in {path})" if path else ""))
    return tuple(entry for entries in found.values() for entry in entries)


def _distributions() -> Iterator[_Distribution]:
    finders = [each for each in sys.meta_path if hasattr(each, "find_distributions")]
    archives = [place for place in sys.path if place.endswith(".egg") or os.path.isfile(place)]
    if archives or any(each is not PathFinder for each in finders):
        from importlib.metadata import distributions

        for each in distributions():
            place = os.path.realpath(str(each.locate_file("")))
            yield _Distribution(_key(each.metadata["Name"] or ""), place, place, each.read_text)
        return
    for folder in sys.path:
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:  # most paths have places that do not exist
            continue
        for name in names:
            if name.lower().endswith((".dist-info", ".egg-info")):
                key = _key(name.rpartition(".")[0].partition("-")[0])
                place = os.path.realpath(folder) if key == OURS else folder
                path = os.path.join(place, name)
                yield _Distribution(key, path, place, partial(_text, path))


def _key(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _is_here(found: _Distribution) -> bool:
    """Return whether a distribution is beside this package, or was installed from its folder."""
    home = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
    _, told, url = (found.read("direct_url.json") or "").partition('"file://')
    if "%" in url:
        from urllib.parse import unquote

        url = unquote(url)
    return found.place == home or bool(told and os.path.realpath(url.partition('"')[0]) == home)


def _read(found: _Distribution, apart: str) -> Iterator[EntryPoint]:
    """Yield the entry points of one distribution, whose name is followed by what tells it apart."""
    text = found.read("entry_points.txt") or ""
    if _GROUPS not in text:
        return
    facts = found.read("METADATA") or found.read("PKG-INFO") or ""
    headers = dict(line.partition(": ")[::2] for line in facts.partition("\n\n")[0].splitlines())
    distribution, version = headers.get("Name", "") + apart, headers.get("Version", "")
    group = ""  # none of agnograd's
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1] if line.startswith(_GROUPS) else ""
        elif group and line and not line.startswith("#"):
            name, _, value = map(str.strip, line.partition("="))
            yield EntryPoint(name, value, group, distribution, version)


def every(group: str | None = None) -> list[EntryPoint]:
    """Return the entry points of a group, or of all groups, the built-in ones first.

    With ``AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD=1`` only those of agnograd itself count.
    """
    alone = os.environ.get("AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD", "") not in ("", "0")
    entries = [entry for entry in _entry_points() if group in (None, entry.group)]
    if alone:
        entries = [entry for entry in entries if entry.distribution == OURS]
    return sorted(entries, key=lambda entry: (entry.distribution != OURS, entry))


def _by_name(group: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in every(group):
        found.setdefault(entry.name, []).append(entry)
    return found


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name.

    A name that two distributions claim belongs to agnograd, else to the first found.
    """
    return {name: entries[0] for name, entries in _by_name(group).items()}


def conflicts(group: str) -> dict[str, str]:
    """Say for each name that several entry points of a group have which of them is used."""
    return {
        name: f"{group} entry point {name!r} of {origin(used)} is used, and not that of "
        f"{', '.join(map(origin, others))}, which has the same name. Uninstall one of the two, or "
        "rename its entry point"
        for name, (used, *others) in _by_name(group).items()
        if others
    }


def chosen(kind: str, name: str, group: str, missing: type[AgnogradError]) -> EntryPoint:
    """Return the entry point of a name in a group, which messages call a ``kind``.

    It warns if several distributions give it, and raises ``missing`` if none does.
    """
    conflict = conflicts(group).get(name)
    if conflict is not None:
        warn(conflict)
    known = installed(group)
    if name in known:
        return known[name]
    from agnograd._util.checks import did_you_mean

    listed = f"; installed: {', '.join(known)}{did_you_mean(name, known)}"
    nothing = ", and none is installed: reinstall agnograd"
    raise missing(f"no {kind} is named {name!r}{listed if known else nothing}")


def warn(text: str) -> None:
    """Warn of an installed plugin."""
    import warnings

    warnings.warn(f"AGNOGRAD: {text}", PluginWarning, stacklevel=3)


def origin(entry: EntryPoint) -> str:
    """Return the distribution and version that an entry point came from."""
    return f"{entry.distribution} {entry.version}".strip() or "an unknown distribution"


def load(entry: EntryPoint, kind: type[T] = object) -> T:  # type: ignore[assignment]
    """Import what an entry point names; a failure names the entry point and its origin."""
    shown = f"{entry.group} entry point {entry.name!r} of {origin(entry)} ({entry.value})"
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # a script ends the process when it is imported
        raise PluginError(f"{shown} failed to load: {type(error).__name__}: {error}") from error
    if not isinstance(found, kind):
        root = kind.__module__.partition(".")[0]
        where = f"{OURS}.extend" if root == OURS else root
        what = f"{'an' if where[0] in 'aeio' else 'a'} {where}.{kind.__name__}"
        raise PluginError(f"{shown} must name {what}, not {type(found).__name__}")
    return found


def load_every(group: str, kind: type[T]) -> Iterator[tuple[EntryPoint, T]]:
    """Yield what the entry points of a group name; one that fails is left out with a warning."""
    for entry in every(group):
        try:
            found = load(entry, kind)
        except PluginError as error:
            warn(f"an entry point is left out: {error}. Update or uninstall its distribution")
        else:
            yield entry, found
