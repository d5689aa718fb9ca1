"""What has to hold where levels meet: checked at every op of a level with ``AGNOGRAD_VERIFY=1``.

A raw function of a level computes with arrays of this level, and with what is below: constants, and
Variables that are tracked there. What it returns is of the level, and hides nothing of it. And a
Variable holds a raw array of its own domain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from agnograd._arrays.levels import derived
from agnograd._arrays.variable import Variable


def verified(function: Callable[..., Any], level: int, name: str) -> Callable[..., Any]:
    """Return a raw function of a level that checks what it is given, and what it returns.

    Raises
    ------
    AssertionError
        If levels are mixed up. The message names the function and the array.
    """

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for each in _arrays((args, kwargs)):
            if level_of(each) > level - isinstance(each, Variable):
                return function(*args, **kwargs)  # left to another level, or to the namespace
            check_below(each, f"{name} is given")
        out = function(*args, **kwargs)
        for each in _arrays(out):
            own = not isinstance(each, Variable) and level_of(each) == level
            _hold(own, f"{name} returns", each, level)
            check_below(each, f"{name} returns")
        return out

    return checked


def check_left(result: Any, level: int) -> None:
    """Check what leaves an interpretation: no array of it is in there."""
    _hold(level_of(result) < level, "a function returns", result, level)
    check_below(result, "a function returns")


def check_below(array: Any, what: str) -> None:
    """Check that each array holds one from below, and each Variable one of its own domain."""
    while type(array) in derived or isinstance(array, Variable):
        if isinstance(array, Variable):
            own, inner = array._domain, array._raw
            _hold(isinstance(inner, own.array_types), f"{what} a Variable with", inner, own.level)
        else:
            level, inner = derived[type(array)].level, array.payload
            _hold(level_of(inner) < level, f"{what} an array with", inner, level)
        array = inner


def level_of(array: Any) -> int:
    """Return the level of an array or a Variable; one of a library has 0."""
    domain = derived.get(type(array))
    return 0 if domain is None else domain.level


def _hold(holds: bool, what: str, array: Any, level: int) -> None:
    if not holds:
        kind = type(array).__name__
        raise AssertionError(f"{what} {kind} of level {level_of(array)}, at level {level}")


def _arrays(values: Any) -> Iterator[Any]:
    """Yield all Variables, and arrays of levels, among values."""
    if isinstance(values, tuple | list):
        for each in values:
            yield from _arrays(each)
    elif isinstance(values, dict):
        yield from _arrays([*values.values()])
    elif isinstance(values, slice):
        yield from _arrays((values.start, values.stop, values.step))
    elif type(values) in derived or isinstance(values, Variable):
        yield values
