"""The recorded graph: nodes, and the values that they saved.

A node is a plain list::

    [rank, watch, op, *saved, *edges]

Python makes a list in a quarter of the time that an object with named attributes takes, and the
garbage collector, which visits nodes again and again, finds one object where it would find three.

``rank`` is the node's number: newer nodes rank lower, so that the smallest of some nodes is the
newest one, and no two have the same. ``watch`` is what a user asked to see of the gradient, or
None. ``op`` is the call that was recorded; it knows how many values were saved. ``saved`` are
exactly the values that the op's rules name, and ``edges``, for each differentiable input, the node
that made it (None for constants). Nodes never point at Variables, or at nodes that come after
them: there are no cycles.

Where a graph starts there are leaves, and between an op with several results and those who use one
of them there are outputs: lists of the same form, with attributes, and with no op to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from sys import getrefcount
from typing import Any, Protocol, TypeVar
from weakref import ref

from agnograd._plugins.backend import RawDomain

T = TypeVar("T")
Node = list[Any]
Edge = list[Any]

RANK, WATCH, OP, FIRST = range(4)


class Value(Protocol):
    """A Variable, as the layers below it know it: a raw array, and the node that made it."""

    _raw: Any
    _node: Edge | None

    @property
    def _domain(self) -> Any: ...


class NoOp:
    """What leaves and outputs have for an op; ``UNWATCHED`` is that of an unwatched leaf."""

    name, first, step, domain = "leaf", FIRST, None, None
    reads, turn = 0, True
    began = -(2**62)  # the rank of what it may stand for: none

    def watched(self) -> NoOp:
        """Return what stands for it where someone watches."""
        return _NO_OP

    def ended(self, targets: Sequence[Edge]) -> None:
        """See that a pass, to these targets or to all leaves, ends here."""


_NO_OP, UNWATCHED = NoOp(), NoOp()
UNWATCHED.turn = False

# Taking the next number of a range is one C call, hence atomic: threads never share a rank. (An
# itertools.count takes longer, if it counts down.) Ops call `next`, which is faster than a method.
ranks = iter(range(0, -(2**62), -1))
next_rank = ranks.__next__


class Leaf(list[Any]):
    """The start of a graph: an array that requires a gradient, and that gradient."""

    __slots__ = (
        *("__weakref__", "accumulated", "alive", "argument", "domain", "facts", "grad", "variable"),
    )

    EACH = object()
    alive: object  # this one: references to it count the leaves
    argument: bool  # there if it is one of a function that is being differentiated
    domain: RawDomain
    facts: tuple[tuple[int, ...], Any] | None  # shape and dtype, once elements were read
    grad: Value | None
    variable: ref[Value]
    accumulated: dict[int, Callable[[Any], Any]] | None

    @classmethod
    def of(cls, variable: Value, argument: bool = False) -> Leaf:
        """Return a leaf for a Variable, in half of the time that an ``__init__`` takes."""
        leaf = cls((next(ranks), None, UNWATCHED))
        leaf.grad = leaf.accumulated = leaf.facts = None
        leaf.domain, leaf.alive = variable._domain, Leaf.EACH
        leaf.variable = ref(variable)
        if argument:
            leaf.argument = True
        return leaf


def leaves_alive() -> int:
    """Return how many leaves there are in the process, which all refer to one object."""
    return getrefcount(Leaf.EACH) - 2  # the class' own reference, and the one of the call


class Output(list[Any]):
    """One output of an op that has several; its gradient joins those of its siblings."""

    __slots__ = ("domain", "number", "siblings")

    def __init__(self, node: Node, number: int, siblings: Sequence[Any], domain: RawDomain) -> None:
        super().__init__((next_rank(), None, _NO_OP, node))
        self.number, self.domain = number, domain
        self.siblings = siblings  # the shape and dtype of every output


class Parts(dict[int, tuple[Output, Any]]):
    """The gradients that have arrived at an op with several results, by the result's number."""

    def __add__(self, other: Parts) -> Parts:
        """Add others: nothing else refers to these."""
        for number, (output, g) in other.items():
            self[number] = output, (self[number][1] + g if number in self else g)
        return self


def edges_of(node: Edge) -> Sequence[Edge | None]:
    """Return the nodes that made an op's inputs, None for constants; of an output, its op."""
    return node[node[OP].first :]


def saved_of(node: Node) -> list[Any] | None:
    """Return the values that a node saved, or None if they were freed."""
    op = node[OP]
    return None if op.compiled.gone else node[FIRST : op.first]


def forget(node: Node) -> None:
    """Free what a node saved: its op becomes one whose derivative is an error."""
    op = node[OP]
    node[OP : op.first] = op.freed or op.when_freed()


def maker_of(edge: Edge) -> Edge:
    """Return the op's own node for one of its outputs; any other node as it is."""
    return edge[FIRST] if isinstance(edge, Output) else edge


def domain_at(node: Edge) -> RawDomain:
    """Return the domain of the value that a node made."""
    named = node if isinstance(node, (Leaf, Output)) else node[OP]
    return named.domain


class ByNode(dict[int, tuple[Edge, T]]):
    """What belongs to nodes, which are lists and have no hash: each node with it, by rank."""

    __slots__ = ()

    def put(self, node: Edge, it: T) -> None:
        """Let something belong to a node."""
        self[node[RANK]] = node, it

    def of(self, node: Edge) -> T | None:
        """Return what belongs to a node, or None."""
        return self.get(node[RANK], (node, None))[1]


class Watch:
    """What a user asked to see of one value's gradient: hooks, and whether to retain it."""

    __slots__ = ("grad", "hooks", "retained")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.retained = False
        self.grad: Value | None = None


def watch(node: Edge) -> Watch:
    """Return the node's watch, made on first use: from then on it is not a plain op."""
    if node[WATCH] is None:
        node[WATCH] = Watch()
        node[OP] = node[OP].watched()
    return node[WATCH]  # type: ignore[no-any-return]


def raw_gradient(g: Any) -> Any:
    """Return a gradient as hooks see it: the raw array of a Variable, or what one stands for."""
    while hasattr(type(g), "_raw"):
        g = g._raw
    return g


def on_device(node: Edge, g: Any) -> AbstractContextManager[Any]:
    """Return a context in which work goes to the device of a node's gradient."""
    if isinstance(g, Parts):
        _, g = next(iter(g.values()))  # of one of several outputs
    return domain_at(node).backend.on_device(raw_gradient(g))
