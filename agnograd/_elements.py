"""Gradients that arrive element by element, from a loop over ``x[i]``."""

from __future__ import annotations

from typing import Any

from agnograd._graph import FIRST, OP, Node

__all__ = ["Elements"]


class Elements:
    """The gradient of an array that was read one element at a time, until it is needed.

    What arrives is added to the array's gradient all at once: one element after the other costs
    several times as much, if they are more than a few.

    Parameters
    ----------
    node : node
        One of those that read an element.
    total : array or None
        What else has arrived.
    owned : bool
        Whether that may be added to in place.

    Attributes
    ----------
    keys, cotangents : list
        Where elements were read, and the cotangents of what was read there.
    """

    __slots__ = ("cotangents", "keys", "node", "owned", "total")

    def __init__(self, node: Node, total: Any, owned: bool) -> None:
        self.node = node
        self.total = total
        self.owned = owned
        self.keys: list[Any] = []
        self.cotangents: list[Any] = []

    def __iadd__(self, g: Any) -> Elements:
        """Add what arrives in another way."""
        self.owned = self.total is not None
        self.total = self.total + g if self.owned else g
        return self

    def gathered(self) -> Any:
        """Return the sum of all, an array that nothing else shares memory with."""
        op = self.node[OP]
        into = self.total
        if into is not None and not self.owned:
            into = op.domain.copy(into)
        few = len(self.keys) < 8
        key = None if few else _joined(self.keys, op.domain.library)
        if key is not None:
            reading = [*self.node[:FIRST], key, *self.node[FIRST + 1 :]]
            # Libraries take half of the time where they need not find the dtype out.
            dtype = self.node[FIRST + op.saved_names.index("x_dtype")]
            return op.add(op.domain.library.asarray(self.cotangents, dtype=dtype), reading, into)
        for key, g in zip(self.keys, self.cotangents, strict=True):
            into = op.add(g, [*self.node[:FIRST], key, *self.node[FIRST + 1 :]], into)
        return into


def _joined(keys: list[Any], xp: Any) -> Any:
    """Return one key of integer arrays for many of integers, or None if there are others.

    All of them read one element: each is an integer, or a tuple of one for each axis.
    """
    try:
        places = xp.asarray(keys, dtype=xp.int64)
    except (TypeError, ValueError):
        return None
    if places.ndim == 1:
        return places
    return tuple(places[:, axis] for axis in range(places.shape[1])) or None
