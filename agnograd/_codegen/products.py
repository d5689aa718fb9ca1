"""Care in generated code: what nodes keep of products, and cotangents that ask for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnograd._graph.calls import Call, Pairs, Plan
from agnograd._graph.nodes import FIRST, OP, Edge, Leaf, Node, domain_at, next_rank
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backend import RawDomain


def lean(
    op: Call, x1: Any, x2: Any, node1: Edge | None, node2: Edge | None
) -> tuple[Call, Any, Any]:
    """Return the op and the arrays that the node of a product is to keep."""
    if op.freed is None:  # what hooks look at is kept as it is
        return op, x1, x2
    if _is_negative(node1, x2):
        x1 = Negative(x2)
    elif _is_negative(node2, x1):
        x2 = Negative(x1)
    else:
        return op, x1, x2
    return op.variant("lean", hooks=Negative, step=None), x1, x2


def _is_negative(node: Edge | None, x: Any) -> bool:
    """Return whether a node made the negative of this very array.

    It keeps a weak reference to the array, which is not written to as long as it has one
    (``agnograd._arrays.views.write``).
    """
    if node is None or type(node[OP]) is not Call or not node[OP].compiled.negates:
        return False
    return node[FIRST] is not None and bool(node[FIRST]() is x)


class Negative:
    """Stands for the negative of an array among the values that a node saved."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    @staticmethod
    def restore(saved: Sequence[Any]) -> list[Any]:
        """Restore what a node saved, as the plugins do that packed it."""
        return [-v.array if type(v) is Negative else v for v in saved]

    @staticmethod
    def of_packed(g: Any, node: Node) -> Pairs:
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


def behind_mask(node: Edge) -> Node:
    """Return a node that hands its cotangent on to another one, which is masked by it."""
    call = Call("mask", "engine", domain_at(node))
    call.saves(Plan(masks=lambda _: True))
    call.compiled.by_rules = True
    call.compiled.backward = call.compiled.guarded = lambda g, node, xp=None: ((node[FIRST], g),)
    return [next_rank(), None, call, node]


def guarded(domain: RawDomain, g: Any, partial: Any, xp: Any) -> Any:
    """Return ``g * partial``, but 0 where g is 0 and the partial derivative is not finite.

    It is the derivative that is replaced, not the product, which stays linear in g: where a
    cotangent happens to be 0, its own derivative is as before. Raw arrays have one, too, if they
    are of a level, or if their library differentiates; only in a traced program, from which no
    derivatives are taken, may any be replaced. A recorded product leaves elements out itself.
    """
    if is_python_scalar(partial):
        if partial - partial == 0:  # it is finite
            return g * partial
        partial = xp.full_like(g, partial)
    if domain.backend.traces and xp is domain.raw:
        return g * xp.where(g == 0, 0.0, partial)
    idle = xp.logical_and(g == 0, xp.logical_not(xp.isfinite(partial)))
    product = g * xp.where(idle, 0.0, partial)
    node = getattr(product, "_node", None)  # at a level above, that of what it stands for
    if node is not None and not isinstance(node, Leaf):  # whose tangent has been pushed
        plan = node[OP].plan._replace(masks=lambda _: True)
        node[OP] = node[OP].variant("masking", plan=plan, step=None)
    return product


def takes_stacks(op: Op) -> bool:
    """Return whether an op is a function of each matrix of a stack, with one rule for it."""
    rules = op.rules.values()
    return op.batch == "last" and len(op.arrays) == 1 and {rule.kind for rule in rules} == {"vjp"}


def guarded_stack(backward: Callable[..., Pairs]) -> Callable[..., Pairs]:
    """Return a function of stacks of matrices for cotangents some of which ask for nothing.

    A matrix none of whose results is asked for has a gradient of 0, if its rule gives one that is
    not finite: that is replaced, and others are not, which stay linear in the cotangents.
    """

    def of_stack(g: Any, node: Node, *given: Any) -> Pairs:
        ((edge, part),) = backward(g, node, *given)
        if part is None:
            return ((edge, part),)
        xp = given[0] if given else domain_at(node).raw
        idle = xp.logical_not(xp.all(xp.isfinite(part), axis=(-2, -1)))
        for each in g if isinstance(g, list | tuple) else [g]:
            if each is not None:
                core = tuple(range(part.ndim - 2, each.ndim))
                idle = xp.logical_and(idle, xp.all(each == 0, axis=core))
        return ((edge, xp.where(idle[..., None, None], 0.0, part)),)

    return of_stack
