"""All switches: the numbers at which the way of computing changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from agnograd._plugins.entry_points import OURS, every
from agnograd._util.switches import MODE, VARIABLE, Switch, known_switches, mode_of

__all__ = ["Switch", "switches", "with_switches"]

_DEFINITION = re.compile(r"^[A-Z]\w* = switch\($|^[A-Z]\w* = switch\(\"", re.MULTILINE)


def switches() -> list[Switch]:
    """Return all numbers at which the way of computing changes, such as how many passes are few.

    The environment variable ``AGNOGRAD_SWITCHES`` sets them for a process: to the ``least`` or the
    ``most`` of each, or to others by a seed (``random:SEED``). Gradients are the same in each case.

    Returns
    -------
    list of Switch
        Those of agnograd and of all installed packages that extend it, by module and name. A module
        is imported for it if it defines a switch, unless it needs a library that is not installed.

    Examples
    --------
    >>> import agnograd.testing
    >>> found = {each.name: each for each in agnograd.testing.switches()}
    >>> found["FEW_PASSES"].module, found["FEW_PASSES"].default
    ('agnograd._transforms.jacobian', 16)
    """
    for name in _modules():
        with suppress(ImportError):
            import_module(name)
    found = known_switches()
    unknown = MODE.numbers.keys() - {each.name for each in found}
    if unknown:
        raise ValueError(f"{VARIABLE}: no switch has the name {', '.join(sorted(unknown))}")
    return found


def with_switches(setting: str) -> dict[str, str]:
    """Return the environment of a process in which switches are set.

    Parameters
    ----------
    setting : str
        What ``AGNOGRAD_SWITCHES`` is to say: ``least``, ``most`` or ``random:SEED``, numbers of
        single switches as ``NAME=NUMBER``, or both, with commas between.

    Returns
    -------
    dict of str
        This process's environment with that variable, as ``subprocess.run`` takes it.

    Raises
    ------
    ValueError
        If the setting is not of this form.

    Examples
    --------
    >>> from agnograd.testing import with_switches
    >>> with_switches("least,FEW_PASSES=16")["AGNOGRAD_SWITCHES"]
    'least,FEW_PASSES=16'
    """
    mode_of(setting)
    return {**os.environ, VARIABLE: setting}


def _modules() -> Iterator[str]:
    """Yield the modules that define switches, by their text."""
    entries = {entry.module.partition(".")[0] for entry in every()}
    for package in sorted({OURS, *entries}):
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path in sorted(Path(folder).rglob("*.py")):
                if _DEFINITION.search(path.read_text(encoding="utf-8")):
                    parts = path.relative_to(folder).with_suffix("").parts
                    yield ".".join((package, *parts)).removesuffix(".__init__")
        if spec and spec.origin and not spec.submodule_search_locations:
            yield package
