"""Draw recorded graphs: ops, shapes, what is saved, and how large gradients are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import agnograd as ag
from agnograd.extend import hookimpl
from agnograd_clip import norm
from agnograd_graph._drawing import Box, Drawing

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Box", "Drawing", "Graph", "draw"]


class Graph:
    """See the shapes that ops return, and the norms of their gradients, and draw them.

    It keeps a few facts of every op that runs while it is active: activate it for what you want
    to look at, not for a whole training.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> x = ag.Variable([3.0, 4.0])
    >>> with ag.hooks("graph") as (graph,):
    ...     y = xp.sum(x * x)
    ...     y.backward()
    >>> print(graph.draw(y).mermaid())
    flowchart TD
      n0(["leaf<br/>(2,) float64<br/>grad 10"])
      n1["multiply<br/>(2,) float64<br/>saved: freed<br/>grad 1.414"]
      n2["sum<br/>() float64<br/>saved: freed<br/>grad 1"]
      n0 --> n1
      n0 --> n1
      n1 --> n2
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all ops."""
        self._values: dict[Call, str] = {}
        self._squares: dict[Call, list[Any]] = {}

    @hookimpl
    def forward_postprocess(self, op: Call, outputs: Sequence[Any]) -> None:
        """Note the shapes and dtypes of an op's results."""
        self._values[op] = ", ".join(_value(each.shape, each.dtype) for each in outputs)

    @hookimpl
    def backward_postprocess(self, op: Call, grad_outputs: Sequence[Any]) -> None:
        """Note how large the gradients of an op's results are; no value is waited for."""
        # Of several passes the last one counts.
        self._squares[op] = [norm(g) for g in grad_outputs if g is not None]

    def draw(self, *outputs: ag.Variable) -> Drawing:
        """Return a drawing of all that values depend on."""
        graph = ag.autodiff.graph(outputs)
        boxes = []
        for number, node in _numbered(outputs, graph).items():
            info = graph.nodes[number]
            value = "" if info.shape is None else _value(info.shape, info.dtype)
            norms: list[Any] = []
            if node.op is not None:
                value = self._values.get(node.op, value)
                norms = self._squares.get(node.op, norms)
            elif node.variable is not None and node.variable.grad is not None:
                norms = [norm(node.variable.grad.data)]
            size = sum(float(each) ** 2 for each in norms) ** 0.5 if norms else None
            boxes.append(Box(number, info.kind, info.name, value, info.saved, size))
        return Drawing(tuple(sorted(boxes)), graph.edges)


def draw(*outputs: ag.Variable) -> Drawing:
    """Return a drawing of all that values depend on, as far as it is known without the plugin."""
    return Graph().draw(*outputs)


def _numbered(outputs: Sequence[ag.Variable], graph: ag.autodiff.Graph) -> dict[int, Any]:
    """Return the node of each number: the graph itself holds no nodes."""
    sources = {(edge.target, edge.place): edge.source for edge in graph.edges}
    found: dict[int, Any] = {}
    stack = [
        (number, output.node)
        for number, output in zip(graph.outputs, outputs, strict=True)
        if number is not None
    ]
    while stack:
        number, node = stack.pop()
        if number in found or node is None:
            continue
        found[number] = node
        for place, each in enumerate(node.inputs):
            if each is not None:
                stack.append((sources[number, place], each))
    return found


def _value(shape: tuple[int, ...], dtype: Any) -> str:
    return f"{tuple(shape)} {str(dtype).rpartition('.')[2]}"
