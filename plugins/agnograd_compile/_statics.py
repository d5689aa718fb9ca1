"""Static arguments, and constants: those that a program is made for, as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from operator import index
from typing import Any

from agnograd.errors import ArgumentError
from agnograd.extend.arguments import map_leaves
from agnograd_compile._trace import arguments, copy_of


class Statics:
    """Which arguments of a function are static, by their positions and by their names.

    Parameters
    ----------
    f : callable
        The function.
    static : int, str or sequence of these
        Positions and names, as ``ag.compile`` takes them.

    Raises
    ------
    ArgumentError
        If ``static`` is something else, or if the function has no such argument.
    """

    def __init__(self, f: Callable[..., Any], static: Any) -> None:
        names, open_names, open_positions = _parameters(f)
        self.positions: set[int] = set()
        self.names: set[str] = set()
        try:
            self.given = (static,) if isinstance(static, int | str) else tuple(static)
            for each in self.given:
                if isinstance(each, str):
                    self.names.add(each)
                    self.positions.update(i for i, name in enumerate(names) if name == each)
                else:
                    place = index(each)
                    place += len(names) if place < 0 else 0
                    self.positions.add(place)
                    self.names.update(names[max(place, 0) : place + 1])
        except TypeError:
            raise ArgumentError(
                f"ag.compile: static is {static!r}; it must be positions or names of arguments, "
                "static=1 or static=('steps',), say"
            ) from None
        unknown: set[Any] = {x for x in self.names if not (open_names is None or x in open_names)}
        unknown |= {x for x in self.positions if x < 0 or (x >= len(names) and not open_positions)}
        if unknown:
            raise ArgumentError(
                f"ag.compile: static is {static!r}, but the function has no such argument; it has "
                f"{', '.join(names) or 'none that is positional'}"
            )

    def __bool__(self) -> bool:
        return bool(self.positions or self.names)

    def apart(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], dict[int | str, Any]]:
        """Return the other arguments, positional and by name, and the static ones."""
        values: dict[int | str, Any] = {
            place: args[place] for place in sorted(self.positions) if 0 <= place < len(args)
        }
        values |= {name: kwargs[name] for name in sorted(self.names & set(kwargs))}
        rest = tuple(x for place, x in enumerate(args) if place not in values)
        return rest, {name: x for name, x in kwargs.items() if name not in values}, values


class WithStatics:
    """A function of the arguments that are not static; the caller may write to those that are."""

    def __init__(self, f: Callable[..., Any], values: Mapping[Any, Any]) -> None:
        self.f, self.values = f, map_leaves(copy_of, dict(values))
        self.__name__ = self.__qualname__ = str(getattr(f, "__qualname__", type(f).__name__))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with all arguments."""
        named = {name: value for name, value in self.values.items() if isinstance(name, str)}
        return self.f(*self.filled(args), **named, **kwargs)

    def filled(self, given: Sequence[Any]) -> list[Any]:
        """Return what is given by position together with the values that are."""
        every = list(given)
        for place in sorted(each for each in self.values if isinstance(each, int)):
            every.insert(place, self.values[place])
        return every


class WithConstants(WithStatics):
    """A function of the leaves of its arguments, without some that are arrays of other libraries.

    ``values`` are the others, by their places among all leaves. ``tree`` is the structure of the
    arguments, None if they are the leaves.
    """

    def __init__(self, f: Callable[..., Any], values: Mapping[int, Any], tree: Any) -> None:
        super().__init__(f, values)
        self.tree = tree

    def __call__(self, *leaves: Any) -> Any:
        """Call the function with all arguments."""
        args, kwargs = arguments(self.filled(leaves), self.tree)
        return self.f(*args, **kwargs)


def without(places: Container[int], leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves that are not at these places."""
    return [leaf for place, leaf in enumerate(leaves) if place not in places]


def _parameters(f: Callable[..., Any]) -> tuple[tuple[str, ...], frozenset[str] | None, bool]:
    """Return the names of a function's positional parameters, all names, and whether more fit.

    All names are None where a function takes any, or where its parameters are not known.
    """
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # of functions that are written in C
        return (), None, True
    kinds = {each.kind for each in parameters}
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = tuple(each.name for each in parameters if each.kind in positional)
    every = frozenset(each.name for each in parameters)
    has_any = inspect.Parameter.VAR_KEYWORD in kinds
    return names, None if has_any else every, inspect.Parameter.VAR_POSITIONAL in kinds
