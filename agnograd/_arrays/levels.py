"""Levels: domains that stand on others, and calls that belong to a level above.

A function of a namespace that is given an array of a domain above leaves the call to that domain.
What is given an array of a domain below takes it for one that is the same for all of its values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar

from agnograd._hooks.state import current_mode
from agnograd._plugins.backend import RawDomain
from agnograd._plugins.entry_points import OWN

D = TypeVar("D", bound=RawDomain)
# The domain of each type of arrays, and of Variables, that stands on another domain.
derived: dict[type, Any] = {}


def highest(domain: D, values: Iterable[Any]) -> D:
    """Return the highest domain among this one and those of values, also those in lists."""
    for value in values:
        if isinstance(value, tuple | list):
            domain = highest(domain, value)
        elif isinstance(value, slice):
            domain = highest(domain, (value.start, value.stop, value.step))
        else:
            found = derived.get(type(value), domain)
            if found.level > domain.level:
                domain = found
    return domain


def above(domain: RawDomain, name: str, *values: Any) -> Callable[..., Any] | None:
    """Return the function of this name in the highest domain of values, None if it is this one.

    It is this one, too, if the highest stands on another library: then the function refuses values.
    """
    found = highest(domain, values)
    if found is domain:
        return None
    backend: Any = found.backend
    if backend.below is not domain and not stands_on(found, domain):
        return None
    function: Callable[..., Any] = attrgetter(name)(found.namespace)
    return function


def is_tracked(x: object) -> bool:
    """Return whether a gradient can reach an array: a Variable that requires one, at any level.

    A raw array of a library is not tracked. An array of a level is if its payload is, or if it
    carries a derivative itself, as it says by ``varies``.
    """
    found: Any = x
    while hasattr(type(found), "_node"):
        if found._node is not None or (type(found) in derived and getattr(found, "varies", False)):
            return True
        found = found._raw
    return False


def untracked(x: Any) -> Any:
    """Return an array without what tracks it, at any level; all else as it is."""
    return x.detach() if is_tracked(x) else x


def root_of(domain: D) -> D:
    """Return the domain of a library that others stand on."""
    while domain.level:
        domain = domain.backend.below  # type: ignore[attr-defined]
    return domain


def beside(domain: D, root: D) -> D:
    """Return the domain that stands on another library as this one stands on its own."""
    if not domain.level:
        return root
    backend: Any = domain.backend
    found: D = type(backend).domain(beside(backend.below, root))
    return found


def over(level: D, domain: D) -> D:
    """Return the domain that stands on the library of another one as a level does on its own."""
    return beside(level, root_of(domain))


def stands_on(domain: RawDomain, other: RawDomain) -> bool:
    """Return whether a domain is another one, or stands on it."""
    while domain.level > other.level:
        backend: Any = domain.backend  # an interpretation
        domain = backend.below
    return domain is other


def entered_above(domain: RawDomain, name: str) -> Callable[..., Any] | None:
    """Return the function of this name at the level that is entered, None if none is above."""
    return _function_of(entered_over(domain), domain, name)


def taken_over(domain: RawDomain, name: str) -> Callable[..., Any] | None:
    """Return the function of this name at the level that takes over all ops, None if none does."""
    return _function_of(whole_over(domain), domain, name)


def _function_of(found: RawDomain, domain: RawDomain, name: str) -> Callable[..., Any] | None:
    return None if found is domain else attrgetter(name)(found.namespace)


def entered_over(domain: D) -> D:
    """Return the domain at the level that is entered if it stands on this one, else this one."""
    mode = current_mode()
    return domain if mode is None else _standing_on(domain, mode.level)


def whole_over(domain: D) -> D:
    """Return the domain at the level that takes over all ops if it stands on this one, else this.

    So what comes from outside of a program that is traced becomes an input of it, or a constant.
    """
    mode = current_mode()
    return domain if mode is None else _standing_on(domain, mode.whole)


def _standing_on(domain: D, found: Any) -> D:
    return domain if found is None or not stands_on(found, domain) else found


def levels_up() -> int:
    """Return the ``stacklevel`` of the first place outside of agnograd, for a warning.

    Packages whose names begin with ``agnograd_``, as those of plugins, are not outside.
    """
    frame, level = sys._getframe(1).f_back, 2
    while frame is not None and f"{frame.f_globals.get('__name__', '')}.".startswith(OWN):
        frame, level = frame.f_back, level + 1
    return level
