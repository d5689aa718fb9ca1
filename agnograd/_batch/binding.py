"""Arguments, bound as signatures bind them, in a tenth of the time."""

from __future__ import annotations

from inspect import Parameter
from types import EllipsisType, NoneType
from typing import Any, NamedTuple

from agnograd._ops.op import Op

_PARTS = frozenset({int, NoneType, EllipsisType})
_BOUNDS = frozenset({int, NoneType})


class Names(NamedTuple):
    """The parameters of an op: those by position, that of all other positions, the others."""

    positional: tuple[str, ...]
    rest: str | None
    keywords: tuple[str, ...]

    @classmethod
    def of(cls, op: Op) -> Names:
        """Return the names of an op's parameters."""
        kinds = {each.name: each.kind for each in op.signature.parameters.values()}
        rest = [name for name, kind in kinds.items() if kind is Parameter.VAR_POSITIONAL]
        keywords = tuple(n for n, kind in kinds.items() if kind is Parameter.KEYWORD_ONLY)
        positional = tuple(name for name in kinds if name not in (*keywords, *rest))
        return cls(positional, rest[0] if rest else None, keywords)


class Bound:
    """Arguments by the names of parameters, as ``inspect.BoundArguments``."""

    __slots__ = ("_names", "arguments")

    def __init__(self, names: Names, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._names = names
        self.arguments = dict(zip(names.positional, args, strict=False))
        if kwargs:
            self.arguments.update(kwargs)
        if names.rest is not None:
            self.arguments[names.rest] = args[len(names.positional) :]

    # Loops, as they have no calls of their own, which comprehensions have before Python 3.12.

    @property
    def args(self) -> list[Any]:
        """What is given by position."""
        given, names, found = self.arguments, self._names, []
        for name in names.positional:
            if name in given:
                found.append(given[name])
        return found if names.rest is None else [*found, *given[names.rest]]

    @property
    def kwargs(self) -> dict[str, Any]:
        """What is given by name."""
        given, found = self.arguments, {}
        for name in self._names.keywords:
            if name in given:
                found[name] = given[name]
        return found


def has_arrays(key: Any) -> bool:
    """Return whether there may be arrays in a key, also as bounds of slices."""
    for part in key if type(key) is tuple else (key,):
        if type(part) is slice:
            if not {type(part.start), type(part.stop), type(part.step)} <= _BOUNDS:
                return True
        elif type(part) not in _PARTS:
            return True
    return False
