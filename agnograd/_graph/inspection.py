"""Looking at a graph: one node after the other, or all of it as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from agnograd._graph.calls import Call, in_full
from agnograd._graph.nodes import OP, RANK, Edge, Leaf, Node, Output, edges_of, maker_of, saved_of
from agnograd._graph.paths import reachable


class GraphNode:
    """What made a value: an op, or a leaf. Two are equal if they stand for the same node."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    @property
    def op(self) -> Call | None:
        """The op, with its ``name``, ``chapter`` and ``parameters``; None for a leaf."""
        node = maker_of(self._edge)
        if isinstance(node, Leaf):
            return None
        op: Call = node[OP]
        return op

    @property
    def index(self) -> int | None:
        """Which of the op's results this is, if it has several."""
        return self._edge.number if isinstance(self._edge, Output) else None

    @property
    def inputs(self) -> tuple[GraphNode | None, ...]:
        """What made each differentiable input; None for constants."""
        return tuple(
            None if edge is None else GraphNode(edge) for edge in edges_of(maker_of(self._edge))
        )

    @property
    def saved(self) -> MappingProxyType[str, Any] | None:
        """The raw values that the op's rules need, by name; None once a pass has freed them."""
        node = maker_of(self._edge)
        if isinstance(node, Leaf):
            return MappingProxyType({})
        if saved_of(node) is None:
            return None
        node = in_full(node)
        saved = node[OP].unpack(saved_of(node))
        values = zip(node[OP].plan.names, saved, strict=True)
        return MappingProxyType({name: value for name, value in values if name[0] != "_"})

    @property
    def variable(self) -> Any:
        """The Variable of a leaf, if it is still there; None for an op."""
        return self._edge.variable() if isinstance(self._edge, Leaf) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphNode) and other._edge is self._edge

    def __hash__(self) -> int:
        return hash(self._edge[RANK])

    def __repr__(self) -> str:
        if self.op is None:
            return "<leaf>"
        result = "" if self.index is None else f", result {self.index}"
        return f"<node of {self.op.name}{result}>"


class SavedInfo(NamedTuple):
    """An array that a node keeps: its name in the rules, shape, dtype and size in bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int | None


class NodeInfo(NamedTuple):
    """One node of a graph; ``shape`` and ``dtype`` are those of a leaf that is still there."""

    id: int
    kind: Literal["op", "leaf"]
    name: str
    chapter: str
    shape: tuple[int, ...] | None
    dtype: str | None
    saved: tuple[SavedInfo, ...] | None


class GraphEdge(NamedTuple):
    """The value that node ``source`` made is input number ``place`` of node ``target``."""

    source: int
    target: int
    place: int


class Graph(NamedTuple):
    """All that values depend on: nodes, the oldest first, and edges between their ids."""

    nodes: tuple[NodeInfo, ...]
    edges: tuple[GraphEdge, ...]
    outputs: tuple[int | None, ...]


def graph_of(variables: Sequence[Any]) -> Graph:
    """Return the graph that values depend on, as plain data that holds no node and no array."""
    ends = [variable._node for variable in variables]
    ordered = sorted((n for n in reachable(ends) if not isinstance(n, Output)), reverse=True)
    number = {node[RANK]: index for index, node in enumerate(ordered)}
    edges = tuple(
        GraphEdge(number[maker_of(edge)[RANK]], number[node[RANK]], place)
        for node in ordered
        for place, edge in enumerate(edges_of(node))
        if edge is not None
    )
    return Graph(
        tuple(_info(index, node) for index, node in enumerate(ordered)),
        edges,
        tuple(None if edge is None else number[maker_of(edge)[RANK]] for edge in ends),
    )


def _info(index: int, node: Node) -> NodeInfo:
    if isinstance(node, Leaf):
        x: Any = node.variable()
        shape, dtype = (None, None) if x is None else (x.shape, str(x.dtype))
        return NodeInfo(index, "leaf", "leaf", "", shape, dtype, ())
    op: Call = node[OP]
    values = saved_of(node)
    saved = None if values is None else tuple(_saved(op, op.unpack(values)))
    return NodeInfo(index, "op", op.name, op.chapter, None, None, saved)


def _saved(op: Call, values: Sequence[Any]) -> Iterator[SavedInfo]:
    for name, value in zip(op.plan.names, values, strict=True):
        parts: Any = value if isinstance(value, tuple | list) else [value]
        for part in parts:
            if isinstance(part, op.domain.array_types):
                x: Any = part
                yield SavedInfo(name, tuple(x.shape), str(x.dtype), getattr(x, "nbytes", None))
