"""Gradients that are made of many small parts, all at once when they are needed."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from agnograd._graph.calls import in_full
from agnograd._graph.nodes import FIRST, OP, Node
from agnograd._util.switches import switch

# Of how many elements the factors of products that wait are, and those of one: so many stay in a
# processor's cache. From how many keys on it takes less time to join them than to add for each.
WAITING_ELEMENTS = switch("WAITING_ELEMENTS", 2**14, least=0, most=2**62, module=__name__)
FACTOR_ELEMENTS = switch("FACTOR_ELEMENTS", 2**12, least=0, most=2**62, module=__name__)
JOINED_KEYS = switch("JOINED_KEYS", 8, least=1, most=2**62, module=__name__)


class Pending:
    """A gradient of which parts wait; ``node`` is one of those whose rule gives them.

    ``total`` is what else has arrived: an array that is changed in place, or None.
    """

    __slots__ = ("cotangents", "node", "total")

    def __init__(self, node: Node, total: Any) -> None:
        self.node, self.total = node, total
        self.cotangents: list[Any] = []  # of the parts

    def __iadd__(self, g: Any) -> Self:
        """Add an array to what has arrived."""
        if self.total is None:
            self.total = self.node[OP].domain.copy(g)
        else:
            self.total += g
        return self

    def gathered(self) -> Any:
        """Return the sum of all, an array that nothing else shares memory with."""
        raise NotImplementedError


class Elements(Pending):
    """The gradient of an array that was read one element at a time, from a loop over ``x[i]``.

    ``keys`` are where in ``array``. Many are added at once, for a fraction of the time of each.
    """

    __slots__ = ("array", "keys")

    def __init__(self, node: Node, total: Any) -> None:
        super().__init__(node, total)
        self.array: Node | None = node[-1]
        self.keys: list[Any] = []

    def gathered(self) -> Any:
        op, into = self.node[OP], self.total
        xp, (*before, _), after = op.domain.library, self.node[: FIRST + 1], self.node[FIRST + 1 :]
        parts: Any = zip(self.keys, self.cotangents, strict=True)
        if len(self.keys) >= JOINED_KEYS and (key := _joined(self.keys, xp)) is not None:
            # Libraries take half of the time where they need not find the dtype out.
            parts = [(key, xp.asarray(self.cotangents, dtype=in_full(self.node)[-2]))]
        for key, g in parts:
            into = op.compiled.add(g, [*before, key, *after], into)
        return into


def _joined(keys: list[Any], xp: Any) -> Any:
    """Return one key of integer arrays for many that are integers, or tuples of such, or None."""
    try:
        places = xp.asarray(keys, dtype=xp.int64)
    except (TypeError, ValueError):
        return None
    if places.ndim == 1:
        return places
    return tuple(places[:, axis] for axis in range(places.shape[1])) or None


class Products(Pending):
    """The gradient of an array that many small products share, as the weights of a network in time.

    It is that of one product, whose other factor and cotangent are theirs one after the other: one
    call in place of two each. ``ndim`` says how many axes the ``others`` and the cotangents have.
    """

    __slots__ = ("backward", "count", "dtype", "ndim", "others", "shared", "size")

    def __init__(self, node: Node, dtype: Any, shared: Shared, ndim: int) -> None:
        op = node[OP]
        edges = [None] * (len(node) - op.first)
        edges[shared.number] = node[op.first + shared.number]
        super().__init__([*node[: op.first], *edges], None)
        self.backward = op.compiled.backward  # the node may be freed before this is called
        self.count, self.dtype = op.domain.count, dtype
        self.shared, self.ndim = shared, ndim
        self.others: list[Any] = []
        self.size = 0

    def take(self, shared: Shared, other: Any, g: Any) -> bool:
        """Let a product wait for others, unless it is large or of another kind."""
        count = self.count
        size = count(other) + count(g)
        if (
            type(size) is not int  # a size that is yet to be known
            or size > FACTOR_ELEMENTS
            or not other.ndim == self.ndim == g.ndim
            or not other.dtype is self.dtype is g.dtype
            or (shared is not self.shared and shared != self.shared)
        ):
            return False
        self.others.append(other)
        self.cotangents.append(g)
        self.size = size = self.size + size
        if size > WAITING_ELEMENTS:
            self.gathered()
        return True

    def gathered(self) -> Any:
        if self.others:
            xp, node = self.node[OP].domain.library, self.node.copy()
            together = xp.stack if self.ndim == 1 else xp.concat
            node[self.shared.place] = together(self.others, axis=self.shared.axis)
            g = together(self.cotangents, axis=self.shared.axis)
            self += self.backward(g, node)[self.shared.number][1]
            self.others, self.cotangents, self.size = [], [], 0
        return self.total


# Whether a type is one of these is asked in less time than `isinstance` takes.
PENDING = frozenset({Elements, Products})


class Shared(NamedTuple):
    """An input that products may share: its op and number, and where and how the other one is."""

    op: str
    number: int
    place: int
    axis: int
