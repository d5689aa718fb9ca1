"""Gradients that arrive element by element, from a loop over ``x[i]``."""

from __future__ import annotations

from typing import Any

from agnograd._graph import FIRST, OP, Edge

__all__ = ["Elements"]


class Elements(list[tuple[Edge, Any]]):
    """The gradient of an array that was read one element at a time, until it is needed.

    A list of the reading nodes and the cotangents of what they read. They are added to the array's
    gradient all at once: an element on its own costs more than ten of them together.

    Parameters
    ----------
    total : array or None
        What else has arrived.
    owned : bool
        Whether that may be added to in place.
    """

    __slots__ = ("owned", "total")

    def __init__(self, total: Any, owned: bool) -> None:
        super().__init__()
        self.total = total
        self.owned = owned

    def __iadd__(self, g: Any) -> Elements:  # type: ignore[override,misc]
        """Add what arrives in another way."""
        self.owned = self.total is not None
        self.total = self.total + g if self.owned else g
        return self

    def gathered(self) -> Any:
        """Return the sum of all, an array that nothing else shares memory with."""
        node = self[0][0]
        op = node[OP]
        into = self.total
        if into is not None and not self.owned:
            into = op.domain.copy(into)
        key = _joined([reading[FIRST] for reading, _ in self], op.domain.library)
        if key is None:
            for reading, g in self:
                into = op.add(into, g, reading)
            return into
        cotangents = op.domain.library.asarray([g for _, g in self])
        return op.add(into, cotangents, [*node[:FIRST], key, *node[FIRST + 1 :]])


def _joined(keys: list[Any], xp: Any) -> Any:
    """Return one key of integer arrays for many of integers, or None if there are others."""
    if {type(key) for key in keys} == {int}:
        return xp.asarray(keys)
    if len({len(key) if type(key) is tuple else None for key in keys}) != 1:
        return None
    if type(keys[0]) is tuple and all(type(part) is int for key in keys for part in key):
        return tuple(xp.asarray(parts) for parts in zip(*keys, strict=True)) or None
    return None
