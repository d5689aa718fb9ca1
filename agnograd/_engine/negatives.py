"""Large products of an array and its negative, as in ``-x * x``: their nodes keep the array alone.

What a rule names is kept for the backward pass. The negative of an array that is kept, too, is
cheaper made again: a large one costs as much memory as all that the node of ``exp(-x * x)`` needs
besides.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from agnograd._graph.calls import Call, Pairs, SharedCall
from agnograd._graph.nodes import FIRST, OP, Edge, Node

__all__ = ["RESTORING", "backward", "lean", "reference"]


class Negative:
    """Stands for the negative of an array among the values that a node saved."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


class _Restoring:
    """Restores what a node saved, as the plugins do that packed it."""

    def restore(self, saved: Sequence[Any]) -> list[Any]:
        return [-v.array if type(v) is Negative else v for v in saved]


RESTORING: Any = _Restoring()


def reference(x: Any) -> Any:
    """Return what the node of ``-x`` keeps: a weak reference to ``x``, which may be forgotten.

    An array that has one is not written to in place (``Domain.write``).
    """
    return weakref.ref(x)


def lean(
    op: Call, x1: Any, x2: Any, node1: Edge | None, node2: Edge | None
) -> tuple[Call, Any, Any]:
    """Return the op and the arrays that its node is to keep."""
    if type(op) is SharedCall:  # what hooks look at is kept as it is
        if _is_negative(node1, x2):
            return op.lean(RESTORING), Negative(x2), x2
        if _is_negative(node2, x1):
            return op.lean(RESTORING), x1, Negative(x1)
    return op, x1, x2


def backward(g: Any, node: Node) -> Pairs:
    """Return the gradients of a product whose node stands for ``-x * x``, by one product."""
    op = node[OP]
    (x2, x1), (edge1, edge2) = node[FIRST : FIRST + 2], node[op.first :]
    # What only the gradient of an input without a node needs is None.
    array, edge, other = (x2, edge1, edge2)
    if x2 is None or type(x2) is Negative:
        array, edge, other = (x1, edge2, edge1)
    if g.dtype in op.domain.complex_dtypes:
        array = op.domain.library.conj(array)
    product = g * array
    return (edge, product), (other, None if other is None else -product)


def _is_negative(node: Edge | None, x: Any) -> bool:
    """Return whether a node made the negative of this very array."""
    return (
        node is not None
        and node[OP].negates
        and node[FIRST] is not None
        and bool(node[FIRST]() is x)
    )
