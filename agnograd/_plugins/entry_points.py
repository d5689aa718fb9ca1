"""Entry points: what is installed, without importing any of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from typing import NamedTuple

from agnograd.errors import PluginError, PluginWarning

BACKENDS = "agnograd.backends"
OPS = "agnograd.ops"
PLUGINS = "agnograd.plugins"
PROTOCOLS = "agnograd.protocols"
_GROUPS = (BACKENDS, OPS, PLUGINS, PROTOCOLS)
OURS = "agnograd"


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
    folders = [folder for place in sys.path for folder in _folders(place or os.curdir)]
    ours = _ours(
        (folder, os.path.dirname(folder), partial(_text, folder, "direct_url.json"))
        for folder in folders
        if _key_of(folder) == OURS
    )
    for folder in folders:
        key = _key_of(folder)
        if key == OURS and os.path.realpath(folder) != ours:
            key = folder  # which only calls itself so, and hides nothing
        if key not in found:  # what comes later on the path is hidden
            found[key] = tuple(_in_folder(folder, ours))
    return tuple(entry for entries in found.values() for entry in entries)


def _key(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _key_of(folder: str) -> str:
    return _key(os.path.basename(folder).rpartition(".")[0].partition("-")[0])


def _ours(found: Iterable[tuple[str, str, Callable[[], str | None]]]) -> str | None:
    """Return which of the distributions that call themselves ``agnograd`` is this one.

    It is beside this package, or says that it was installed from where this package is; if there
    is none such, it is the first.

    Parameters
    ----------
    found : iterable of tuple
        For each its path, the place that it is in, and what gives the text of its direct_url.json.
    """
    home = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
    first = None
    for path, place, origin in found:
        if os.path.realpath(place) == home or _path_in(origin() or "") == home:
            return os.path.realpath(path)
        first = first or os.path.realpath(path)
    return first


def _path_in(text: str) -> str | None:
    """Return the folder that a direct_url.json names, if it names one."""
    _, found, url = text.partition('"file://')
    if not found:
        return None
    if "%" in url:
        from urllib.parse import unquote

        url = unquote(url)
    return os.path.realpath(url.partition('"')[0])


def _of_all_kinds() -> Iterator[EntryPoint]:
    from importlib.metadata import distributions

    found = [
        (each, each.metadata["Name"] or "an unknown distribution", str(each.locate_file("")))
        for each in distributions()
    ]
    ours = _ours(
        (place, place, partial(each.read_text, "direct_url.json"))
        for each, name, place in found
        if _key(name) == OURS
    )
    seen = set()
    for each, name, place in found:
        name = _told_apart(name, os.path.realpath(place), ours)
        if _key(name) not in seen:  # what comes later on the path is hidden
            seen.add(_key(name))
            for entry in each.entry_points:
                if entry.group in _GROUPS:
                    yield EntryPoint(entry.name, entry.value, entry.group, name, each.version)


def _told_apart(name: str, path: str, ours: str | None) -> str:
    """Return a distribution's name, with its path if it is not the ``agnograd`` that it says."""
    return f"{name} (in {path})" if _key(name) == OURS and path != ours else name


def _folders(place: str) -> list[str]:
    """Return the folders that describe the distributions of one place of the path."""
    try:
        names = os.listdir(place)
    except OSError:  # most paths have places that do not exist
        return []
    kinds = (".dist-info", ".egg-info")
    return [os.path.join(place, name) for name in names if name.lower().endswith(kinds)]


def _in_folder(folder: str, ours: str | None) -> Iterator[EntryPoint]:
    """Read the entry points of one distribution."""
    text = _text(folder, "entry_points.txt")
    if not any(f"[{group}]" in text for group in _GROUPS):
        return
    facts = _text(folder, "METADATA") or _text(folder, "PKG-INFO")
    headers = dict(line.partition(": ")[::2] for line in facts.partition("\n\n")[0].splitlines())
    distribution = _told_apart(headers.get("Name", ""), os.path.realpath(folder), ours)
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group in _GROUPS and line and not line.startswith("#"):
            name, _, value = map(str.strip, line.partition("="))
            yield EntryPoint(name, value, group, distribution, headers.get("Version", ""))


def _text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def every(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, the built-in ones first.

    With ``AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD=1`` only those of agnograd itself count.
    """
    entries = [entry for entry in _entry_points() if entry.group == group]
    ours = [entry for entry in entries if entry.distribution == OURS]
    others = [entry for entry in entries if entry.distribution != OURS]
    if os.environ.get("AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD", "") not in ("", "0"):
        others = []
    return [*sorted(ours), *sorted(others)]


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name.

    A name that two distributions claim belongs to agnograd, else to the first found.
    """
    found: dict[str, EntryPoint] = {}
    for entry in every(group):
        found.setdefault(entry.name, entry)
    return found


def chosen(group: str, name: str) -> EntryPoint | None:
    """Return the entry point of a name, if there is one; it warns if there are several."""
    found = [entry for entry in every(group) if entry.name == name]
    if len(found) > 1:
        import warnings

        warnings.warn(f"AGNOGRAD: {conflict(found)}", PluginWarning, stacklevel=4)
    return found[0] if found else None


def conflict(entries: Sequence[EntryPoint]) -> str:
    """Say that entry points have one name, and which of them is used."""
    first, *others = entries
    return (
        f"{first.group} entry point {first.name!r} of {origin(first)} is used, and not that of "
        f"{', '.join(map(origin, others))}, which has the same name. Uninstall one of the two, or "
        "rename its entry point"
    )


def conflicts(group: str) -> list[str]:
    """Say for each name that several entry points of a group have which of them is used."""
    by_name: dict[str, list[EntryPoint]] = {}
    for entry in every(group):
        by_name.setdefault(entry.name, []).append(entry)
    return [conflict(entries) for entries in by_name.values() if len(entries) > 1]


def origin(entry: EntryPoint) -> str:
    """Return the distribution and version that an entry point came from."""
    return f"{entry.distribution} {entry.version}".strip() or "an unknown distribution"


def unknown(kind: str, name: str, group: str) -> str:
    """Say that nothing in a group has a name, what is installed, and what may have been meant."""
    import difflib

    names = list(installed(group))
    if not names:
        return f"no {kind} is named {name!r}, and none is installed: reinstall agnograd"
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"no {kind} is named {name!r}; installed: {', '.join(names)}{hint}"


def load(entry: EntryPoint) -> object:
    """Import what an entry point names; a failure names the entry point and its origin."""
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # a script ends the process when it is imported
        raise PluginError(
            f"{entry.group} entry point {entry.name!r} of {origin(entry)} ({entry.value}) "
            f"failed to load: {type(error).__name__}: {error}"
        ) from error
