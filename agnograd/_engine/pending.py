"""Gradients that are made of many small parts, all at once when they are needed."""

from __future__ import annotations

from typing import Any, NamedTuple

from agnograd._graph.calls import in_full
from agnograd._graph.nodes import FIRST, OP, Node

# Of how many elements the factors of products that wait are: so many stay in a processor's cache.
_ENOUGH = 2**14
_SMALL = _ENOUGH // 4


class Pending:
    """A gradient to which parts may be added later.

    Parameters
    ----------
    node : node
        One of those whose rule gives a part.
    total : array or None
        What else has arrived.
    owned : bool
        Whether that may be added to in place.
    """

    __slots__ = ("cotangents", "node", "owned", "total")

    def __init__(self, node: Node, total: Any, owned: bool) -> None:
        self.node = node
        self.total = total
        self.owned = owned
        self.cotangents: list[Any] = []

    def __iadd__(self, g: Any) -> Pending:
        """Add what arrives in another way."""
        self.add(g)
        return self

    def add(self, g: Any) -> None:
        """Add an array to what has arrived."""
        if self.owned:
            self.total += g
        else:
            self.owned = self.total is not None
            self.total = self.total + g if self.owned else g

    def gathered(self) -> Any:
        """Return the sum of all, an array that nothing else shares memory with."""
        raise NotImplementedError


class Elements(Pending):
    """The gradient of an array that was read one element at a time, from a loop over ``x[i]``.

    What arrives is added to the array's gradient all at once: one element after the other costs
    several times as much, if they are more than a few.

    Attributes
    ----------
    keys, cotangents : list
        Where elements were read, and the cotangents of what was read there.
    """

    __slots__ = ("keys",)

    def __init__(self, node: Node, total: Any, owned: bool) -> None:
        super().__init__(node, total, owned)
        self.keys: list[Any] = []

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
            dtype = in_full(self.node)[-2]
            cotangents = op.domain.library.asarray(self.cotangents, dtype=dtype)
            return op.compiled.add(cotangents, reading, into)
        for key, g in zip(self.keys, self.cotangents, strict=True):
            into = op.compiled.add(g, [*self.node[:FIRST], key, *self.node[FIRST + 1 :]], into)
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


class Products(Pending):
    """The gradient of an array that many small products share, as the weights of a network in time.

    The gradient of several products is that of one, whose other factors and cotangents are theirs
    one after the other: it takes one call where they take two each.

    Parameters
    ----------
    node, total, owned
        See ``Pending``.
    shared : Shared
        Which of the op's inputs is shared.
    ndim : int
        How many axes the other factors and the cotangents have.

    Attributes
    ----------
    others, cotangents : list
        The other factors, and the cotangents of the products.
    """

    __slots__ = ("backward", "count", "dtype", "ndim", "others", "shared", "size")

    def __init__(self, node: Node, total: Any, owned: bool, shared: Shared, ndim: int) -> None:
        op = node[OP]
        edges = [None] * (len(node) - op.first)
        edges[shared.number] = node[op.first + shared.number]
        super().__init__([*node[: op.first], *edges], total, owned)
        self.backward = op.compiled.backward  # the node may be freed before this is called
        self.count = op.domain.count
        self.dtype = total.dtype
        self.shared = shared
        self.ndim = ndim
        self.others: list[Any] = []
        self.size = 0

    def take(self, shared: Shared, other: Any, g: Any) -> bool:
        """Let a product wait for others, unless it is large or of another kind."""
        count = self.count
        size = count(other) + count(g)
        if (
            type(size) is not int  # a size that is yet to be known
            or size > _SMALL
            or not other.ndim == self.ndim == g.ndim
            or not other.dtype is self.dtype is g.dtype
            or (shared is not self.shared and shared != self.shared)
        ):
            return False
        self.others.append(other)
        self.cotangents.append(g)
        self.size = size = self.size + size
        if size > _ENOUGH:
            self._multiply()
        return True

    def _multiply(self) -> None:
        """Add all products that wait."""
        node = self.node.copy()
        node[self.shared.place] = self._stacked(self.others)
        pairs = self.backward(self._stacked(self.cotangents), node)
        self.others.clear()
        self.cotangents.clear()
        self.size = 0
        self.add(pairs[self.shared.number][1])

    def _stacked(self, arrays: list[Any]) -> Any:
        xp = self.node[OP].domain.library
        together = xp.stack if self.ndim == 1 else xp.concat
        return together(arrays, axis=self.shared.axis)

    def gathered(self) -> Any:
        """Return the sum of all, an array that nothing else shares memory with."""
        if self.others:
            self._multiply()
        return self.total  # what was there is added to by the first products


# Whether a type is one of these is asked in less time than `isinstance` takes.
PENDING = frozenset({Elements, Products})


class Shared(NamedTuple):
    """An input that products may share: its op and number, and where and how the other one is."""

    op: str
    number: int
    place: int
    axis: int
