"""Looking at a graph: one node after the other, or all of it as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agnograd._graph import Edge, Leaf, Node, Output

if TYPE_CHECKING:
    from agnograd._call import Call
    from agnograd._variable import Variable

__all__ = ["Graph", "GraphEdge", "GraphNode", "NodeInfo", "SavedInfo", "graph_of"]


class GraphNode:
    """What made a value: an op, or a leaf. Two are equal if they stand for the same node."""

    __slots__ = ("_edge",)

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    @property
    def op(self) -> Call | None:
        """The op, with its ``name``, ``chapter`` and ``parameters``; None for a leaf."""
        node = _op_node(self._edge)
        return None if isinstance(node, Leaf) else node.op

    @property
    def index(self) -> int | None:
        """Which of the op's results this is, if it has several."""
        return self._edge.index if isinstance(self._edge, Output) else None

    @property
    def inputs(self) -> tuple[GraphNode | None, ...]:
        """What made each differentiable input; None for constants."""
        return tuple(
            None if edge is None else GraphNode(edge) for edge in _op_node(self._edge).edges
        )

    @property
    def saved(self) -> MappingProxyType[str, Any] | None:
        """The raw values that the op's rules need, by name; None once a pass has freed them."""
        node = _op_node(self._edge)
        if isinstance(node, Leaf):
            return MappingProxyType({})
        if node.saved is None:
            return None
        values = zip(node.op.saved_names, node.op.unpack(node.saved), strict=True)
        return MappingProxyType(dict(values))

    @property
    def variable(self) -> Variable | None:
        """The Variable of a leaf, if it is still there; None for an op."""
        return self._edge.variable() if isinstance(self._edge, Leaf) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphNode) and other._edge is self._edge

    def __hash__(self) -> int:
        return hash(self._edge)

    def __repr__(self) -> str:
        return "<leaf>" if self.op is None else f"<node of {self.op.name}>"


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


def graph_of(variables: Sequence[Variable]) -> Graph:
    """Return the graph that values depend on, as plain data that holds no node and no array."""
    roots = []
    for variable in variables:
        variable._refresh()
        roots.append(None if variable._node is None else _op_node(variable._node))
    seen = {root for root in roots if root is not None}
    stack = list(seen)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and _op_node(edge) not in seen:
                seen.add(_op_node(edge))
                stack.append(_op_node(edge))
    ordered = sorted(seen, key=lambda node: -node.rank)
    number = {node: index for index, node in enumerate(ordered)}
    edges = tuple(
        GraphEdge(number[_op_node(edge)], number[node], place)
        for node in ordered
        for place, edge in enumerate(node.edges)
        if edge is not None
    )
    return Graph(
        tuple(_info(index, node) for node, index in number.items()),
        edges,
        tuple(None if root is None else number[root] for root in roots),
    )


def _op_node(edge: Edge) -> Node | Leaf:
    return edge.edges[0] if isinstance(edge, Output) else edge


def _info(index: int, node: Node | Leaf) -> NodeInfo:
    if isinstance(node, Leaf):
        variable = node.variable()
        if variable is None:
            return NodeInfo(index, "leaf", "leaf", "", None, None, ())
        return NodeInfo(index, "leaf", "leaf", "", variable.shape, str(variable.dtype), ())
    op = node.op
    saved = None if node.saved is None else tuple(_saved(node, op.unpack(node.saved)))
    return NodeInfo(index, "op", op.name, op.chapter, None, None, saved)


def _saved(node: Node, values: tuple[Any, ...]) -> list[SavedInfo]:
    found = []
    for name, value in zip(node.op.saved_names, values, strict=True):
        parts: Any = value if isinstance(value, tuple | list) else [value]
        for part in parts:
            if isinstance(part, node.op.domain.array_types):
                found.append(_saved_info(name, part))
    return found


def _saved_info(name: str, array: Any) -> SavedInfo:
    return SavedInfo(name, tuple(array.shape), str(array.dtype), getattr(array, "nbytes", None))
