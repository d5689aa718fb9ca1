"""The recorded graph: nodes, and the values that they saved."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agnograd._fit import is_python_scalar
from agnograd.errors import GradientError

if TYPE_CHECKING:
    from agnograd._call import Call, Source
    from agnograd._variable import Variable

__all__ = ["Edge", "Leaf", "Node", "Output", "Watch", "connected", "next_rank", "watch"]

# Newer nodes rank lower, so that a heap of ranks yields the newest node first. Taking the
# next number of an itertools.count is one C call, hence atomic: threads never share a rank.
next_rank = itertools.count(0, -1).__next__


class Node:
    """One recorded op: where its gradient goes and what its rule will need.

    ``edges`` holds, for each differentiable input, the node that made it (None for constants);
    ``saved`` holds exactly the values that the op's rules name, and None once they are freed.
    A node never points at the Variables or the nodes that come after it: there are no cycles.
    """

    __slots__ = ("edges", "op", "rank", "saved", "watch")

    rank: int
    op: Call
    edges: tuple[Edge | None, ...]
    saved: tuple[Any, ...] | None
    watch: Watch | None


class Leaf:
    """The start of a graph: an array that requires a gradient, and that gradient."""

    __slots__ = ("__weakref__", "accumulated", "domain", "grad", "rank", "variable", "watch")

    edges: tuple[Edge | None, ...] = ()

    def __init__(self, variable: Variable) -> None:
        self.rank = next_rank()
        self.grad: Variable | None = None
        self.domain = variable._domain
        self.variable = weakref.ref(variable)
        self.watch: Watch | None = None
        self.accumulated: dict[int, Callable[[Any], Any]] = {}


class Output:
    """One output of an op that has several; its gradient joins those of its siblings."""

    __slots__ = ("edges", "index", "rank", "siblings", "watch")

    def __init__(
        self, node: Node, index: int, siblings: Sequence[tuple[tuple[int, ...], Any]]
    ) -> None:
        self.rank = next_rank()
        self.edges: tuple[Node] = (node,)
        self.index = index
        self.siblings = siblings  # the shape and dtype of every output
        self.watch: Watch | None = None


Edge = Node | Leaf | Output


class Watch:
    """What a user asked to see of one value's gradient: hooks, and whether to retain it."""

    __slots__ = ("grad", "hooks", "retained")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.retained = False
        self.grad: Variable | None = None


def watch(node: Edge) -> Watch:
    """Return the node's watch, made on first use."""
    if node.watch is None:
        node.watch = Watch()
    return node.watch


def connected(node: Node, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values that a node saved as Variables that are connected to the graph.

    A node saves raw arrays alone; together with its edges they are the Variables that a rule
    needs under ``create_graph``.
    """
    return tuple(
        _connect(v, source, node) for v, source in zip(values, node.op.sources, strict=True)
    )


def _connect(value: Any, source: Source, node: Node) -> Any:
    if source is None or value is None or is_python_scalar(value):
        return value
    make = node.op.domain.Variable._make
    if source == "each":
        return [make(each, edge) for each, edge in zip(value, node.edges, strict=True)]
    if source == "constant":
        return make(value, None) if isinstance(value, node.op.domain.array_types) else value
    if source == "unknown":
        raise GradientError(
            f"{node.op.name} saved an array that is neither an argument nor a result, so that its "
            "own derivative is unknown: under create_graph save arguments or results alone, and "
            "compute what else is needed in backward"
        )
    if isinstance(source, tuple):  # one of several results
        _, index, siblings = source
        return make(value, Output(node, index, siblings))
    if isinstance(value, tuple | list):
        return node.op.domain.wrap_outputs(value, node)
    return make(value, node if source == "out" else node.edges[source])  # type: ignore[index]
