"""How to make a transformed function again in another process: a function has no pickle.

A pickle names functions by their module. What ``ag.grad(f)`` returns has no name there, but
``ag.grad`` and ``f`` have, and objects that hold such a function pickle these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from operator import attrgetter
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

P = ParamSpec("P")
T = TypeVar("T")
# By what a transformation returned; not in its attributes, which functools.wraps copies.
_made: WeakKeyDictionary[Any, CallOf] = WeakKeyDictionary()


class CallOf(NamedTuple):
    """A call of a transformation, by which its result is made again."""

    transformation: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def remade(transformation: Callable[P, T]) -> Callable[P, T]:
    """Let what a transformation returns be made again from a pickle."""

    @wraps(transformation)
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        return made_by(transformation(*args, **kwargs), made, *args, **kwargs)

    return made


def made_by(found: T, transformation: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Let what a transformation returned be made again from a pickle, by this call of it."""
    _made[found] = CallOf(transformation, args, kwargs)
    return found


def name_of(value: Any) -> str | None:
    """Return the name by which a module has something, as a decorated function, or None."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", "")
    with suppress(AttributeError):
        if attrgetter(name)(module) is value:
            return str(name)
    return None


def packed(value: Any) -> Any:
    """Return a function as what a pickle can hold: transformations, and what they are of."""
    try:
        known = _made.get(value)
    except TypeError:  # neither hashable nor a function
        return value
    if known is None or name_of(value) is not None:
        return value
    kwargs = {name: packed(each) for name, each in known.kwargs.items()}
    return CallOf(known.transformation, tuple(map(packed, known.args)), kwargs)


def unpacked(value: Any) -> Any:
    """Return the function that ``packed`` took apart."""
    if not isinstance(value, CallOf):
        return value
    kwargs = {name: unpacked(each) for name, each in value.kwargs.items()}
    return value.transformation(*map(unpacked, value.args), **kwargs)
