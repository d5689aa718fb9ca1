"""Gradients on their way: what has arrived at nodes that are yet to run."""

from __future__ import annotations

from heapq import heappush
from math import inf
from sys import getrefcount
from typing import Any

from agnograd._engine.pending import PENDING, Elements, Pending, Products, Shared
from agnograd._graph.calls import Call, Pairs
from agnograd._graph.nodes import FIRST, OP, RANK, ByNode, Leaf, Node, Parts, edges_of, raw_gradient
from agnograd._plugins.backend import RawDomain


def _references_to_what_arrived() -> int:
    gradients = {0: object()}
    total = gradients.get(0)
    return getrefcount(total)


_NO_ELEMENTS = Elements([None], None)  # those of no array
# Those of a gradient that nothing refers to but the dictionary, seen as in `add`.
_ALONE = _references_to_what_arrived()


class Arrivals:
    """What has arrived at nodes that are yet to run. Nodes are known by their ranks."""

    # Of the oldest node that was found not worth to be run in blocks with newer ones.
    tried = -inf

    def __init__(self, in_place: bool) -> None:
        self.gradients: dict[int, Any] = {}
        self.elements: dict[int, Elements] = {}  # gradients that come element by element
        self.newest = _NO_ELEMENTS  # those to which one came last
        self.queue: list[Node] = []  # a heap: newest first
        # Leaves that need no place in it: they get their gradients at the end of the pass.
        self.leaves: list[Node] = []
        # Where the gradient was made here, and is changed in place. All others may be shared.
        self.owned: set[int] = set()
        # Nodes that a gradient reaches through an op that leaves elements out, such as `where`:
        # there a zero may mean that nothing is asked, whatever the derivative is.
        self.masked: set[int] = set()
        self.final: ByNode[Any] = ByNode()  # what is asked for, as it becomes complete
        self.in_place = in_place  # whether any gradient is: Variables never are
        # Whether nodes have to be looked at before they take a step: gradients may be large, or
        # come element by element to the result of an op.
        self.special = False

    def add(self, node: Node, g: Any, domain: RawDomain | None = None) -> None:
        """Add a gradient to what has arrived at a node: in place, if its domain says how."""
        rank = node[RANK]
        total = self.gradients.get(rank)
        if total is None:
            self.gradients[rank] = g
            heappush(self.queue, node)
        elif rank in self.owned:
            total += g
            self.gradients[rank] = total
        elif not self.in_place:
            self.gradients[rank] = total + g
        else:
            # As Domain.is_large, without a call: a graph may have many such sums of small arrays.
            if (
                domain is not None
                and domain.large
                and type(total) in domain.viewable_types
                and domain.count(total) >= domain.large
            ):
                self.special = True
                number = domain.backend.uniform(total)
                if number is not None and (other := domain.backend.uniform(g)) is not None:
                    self.gradients[rank] = domain.raw.broadcast_to(number + other, g.shape)
                    return
                if getrefcount(total) == _ALONE and domain.backend.alone(total):
                    self.owned.add(rank)
                    total += g
                    return
            self.owned.add(rank)
            self.gradients[rank] = total + g

    def mask(self, node: Node) -> None:
        """Let what goes on from a node be masked, instead of what arrives there."""
        self.masked.discard(node[RANK])
        for edge in edges_of(node):
            if edge is not None and type(edge) is not Leaf and not edge[OP].reads:
                self.masked.add(edge[RANK])

    def zeros(self, node: Node, g: Any) -> bool | None:
        """Return whether zeros of a cotangent may mean that nothing is asked; None if unknown.

        What arrives at a masked node without any asks for all elements.
        """
        if node[RANK] not in self.masked:
            return False
        op = node[OP]
        raw = g if self.in_place else raw_gradient(g)
        known = op.compiled.guards and type(raw) in op.domain.plain_types
        zeros = op.domain.backend.has_zeros(raw) if known else None
        if zeros is False:
            self.masked.remove(node[RANK])
        return zeros

    def own(self, node: Node, g: Any) -> None:
        """Put a gradient that may be changed in place where a node's gradient is."""
        rank = node[RANK]
        if rank not in self.gradients:
            heappush(self.queue, node)
        self.gradients[rank] = g
        self.elements.pop(rank, None)
        self.newest = _NO_ELEMENTS
        self.owned.add(rank)

    def buffer(self, node: Node, domain: RawDomain) -> Any:
        """Return what has arrived at a node as an array that may be changed, or None."""
        total = self.gradients.get(node[RANK])
        if isinstance(total, Pending):
            return total.gathered()
        if total is None or node[RANK] in self.owned:
            return total
        alone = getrefcount(total) == _ALONE and domain.backend.alone(total)
        return total if alone else domain.copy(total)

    def read(self, reading: Node, g: Any) -> None:
        """Take the cotangent of an element that a node reads: the node needs no turn of its own."""
        elements = self.elements.get(reading[-1][RANK]) or self.begin_elements(reading)
        elements.keys.append(reading[FIRST])
        elements.cotangents.append(g)

    def begin_elements(self, reading: Node) -> Elements:
        """Let elements arrive one by one at what a node reads."""
        node = reading[-1]
        rank = node[RANK]
        elements = Elements(reading, self.buffer(node, reading[OP].domain))
        if type(node) is not Leaf:
            self.special = True
            self.masked.add(rank)  # what is not read is left out
        elif rank not in self.gradients:
            self.leaves.append(node)
            self.gradients[rank] = elements
        self.own(node, elements)
        self.elements[rank] = elements
        return elements

    def join(self, edge: Node, node: Node, shared: Shared, other: Any, g: Any) -> bool:
        """Let a product of small arrays be the first that waits for others, if it can.

        A gradient has arrived at the input that they share: what is used once has no others.
        """
        kind = type(self.gradients[edge[RANK]])
        if kind in PENDING or g.ndim > 2:
            return False
        products = Products(node, self.gradients[edge[RANK]].dtype, shared, g.ndim)
        if not products.take(shared, other, g):
            return False
        products.total = self.buffer(edge, node[OP].domain)
        self.special = self.special or type(edge) is not Leaf
        self.own(edge, products)
        return True

    def overwrite(self, op: Call, node: Node, taken: Node, g: Any, owned: bool) -> Pairs:
        """Let an op change its cotangent into the gradient of its first input.

        That spares a full-size array for each of many writes to an array.
        """
        first, *others = taken[op.first :]
        found = op.compiled.backward(g, [*node[: op.first], None, *others]) if any(others) else ()
        arrays = op.domain.viewable_types
        # Each may be a view of what is about to change. None stays here, so that only g is left.
        pairs = [(e, op.domain.copy(p) if type(p) in arrays else p) for e, p in found]
        del found
        if first is not None:
            g = op.compiled.overwrite(g if owned else op.domain.copy(g), node)  # type: ignore[misc]
            if first[RANK] in self.gradients:
                self.add(first, g)
            else:
                self.own(first, g)
        return pairs

    def accumulate(self, op: Call, g: Any, node: Node) -> Pairs:
        """Let a function add its gradients to the buffers of its inputs, if all are different."""
        edges = node[op.first :]
        ranks = [edge[RANK] for edge in edges if edge is not None]
        if len(set(ranks)) < len(ranks):
            return op.compiled.backward(g, node)
        into = [None if edge is None else self.buffer(edge, op.domain) for edge in edges]
        sums = op.compiled.accumulate(into, g, node)  # type: ignore[misc]
        for edge, total in zip(edges, sums, strict=True):
            if edge is not None and total is not None:
                self.own(edge, total)
        return ()


def leaves_out(node: Node, g: Any) -> bool:
    """Return whether an op, whose cotangent this is, leaves elements of its inputs out."""
    if isinstance(g, Parts):  # nothing depends on some of its results
        output, _ = next(iter(g.values()))
        if len(g) < len(output.siblings):
            return True
    masks = node[OP].plan.masks
    return masks is not None and masks(node)


def of_masked(op: Call, node: Node, g: Any, zeros: bool | None) -> Pairs:
    """Return what a rule makes of a raw cotangent some of whose zeros may ask for nothing.

    If it is known that there are zeros, the rule is guarded only where that makes a difference: to
    look for NaN in its results takes less time.
    """
    backend = op.domain.backend
    with backend.quiet():
        if zeros:
            pairs = op.compiled.backward(g, node)
            for edge, part in pairs:
                if edge is not None and backend.has_nan(part):
                    break
            else:
                return pairs
        return op.compiled.guarded(g, node)


def completed(node: Node, arrived: Parts, home: RawDomain, create_graph: bool) -> list[Any]:
    """Return one cotangent for each output of an op; zeros of a domain, or None, for others."""
    op, xp = node[OP], home.namespace if create_graph else home.raw
    output, like = next(iter(arrived.values()))
    return [
        arrived[index][1]
        if index in arrived
        else None
        if op.compiled.optional
        else xp.zeros(shape, dtype=dtype, device=op.domain.device(like))
        for index, (shape, dtype) in enumerate(output.siblings)
    ]
