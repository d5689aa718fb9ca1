"""Running users' functions: on other arrays than their arguments', and back in the same state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from agnograd._arrays.variable import Variable
from agnograd._arrays.views import View
from agnograd._hooks.entering import entered
from agnograd._hooks.state import current_mode, set_mode
from agnograd._plugins.backends import is_array
from agnograd._util.trees import flatten, unflatten

F = TypeVar("F", bound=Callable[..., Any])
TAKEN: Any = object()  # stands for an array among leaves


def restoring(function: F) -> F:
    """Decorate what enters a state: an interrupt at the end of a block may keep it from leaving."""

    @functools.wraps(function)
    def restored(*args: Any, **kwargs: Any) -> Any:
        outer = current_mode()
        try:
            return function(*args, **kwargs)
        finally:
            set_mode(outer)

    return restored  # type: ignore[return-value]


@restoring
def apart(f: Callable[..., Any], *args: Any) -> Any:
    """Call a function of raw arrays as if nothing were transformed or recorded around it."""
    set_mode(None)
    return f(*args)


def at_no_level(f: Callable[..., Any], *args: Any) -> Any:
    """Call a function of arrays of a library where a level, such as that of ``vmap``, is entered.

    What it makes is of no level, and is the same for all members.
    """
    with entered(level=None):
        return f(*args)


def first_array(values: Sequence[Any]) -> Any:
    """Return the first Variable among values, or else the first array, or None."""
    for value in values:
        if isinstance(value, Variable):
            return value
    return next(filter(is_array, values), None)


class Prepared:
    """A function and its arguments, of which those at ``places`` are replaced when it runs."""

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        replaces: Callable[[Any], bool],
    ) -> None:
        self.f = f
        self.name = str(getattr(f, "__name__", type(f).__name__))
        self.leaves, self.tree = flatten((args, kwargs))
        self.places = [place for place, leaf in enumerate(self.leaves) if replaces(leaf)]
        self.structure: Any = None  # of the result, once the function ran

    def take(self) -> list[Any]:
        """Return the arguments that are replaced, and keep them no longer."""
        found = [self.leaves[place] for place in self.places]
        for place in self.places:
            self.leaves[place] = TAKEN
        return found

    def filled(self, values: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with others at the places."""
        known = dict(zip(self.places, values, strict=True))
        both: tuple[tuple[Any, ...], dict[str, Any]] = unflatten(
            self.tree, [known.get(place, leaf) for place, leaf in enumerate(self.leaves)]
        )
        return both

    def __call__(self, values: Iterable[Any]) -> list[Any]:
        """Run the function on these values; return the leaves of its result."""
        args, kwargs = self.filled(values)
        found, self.structure = flatten(self.f(*args, **kwargs))
        for each in found:
            if isinstance(each, View):
                each.refresh()  # its last writes are the function's, too
        return found
