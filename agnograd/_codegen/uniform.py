"""Cotangents that are one number for all elements: rules are applied to that number.

A sum spreads its cotangent over all elements of its input, in an array that has the memory of one:
the backend tells it by its layout (``Backend.uniform``), and views of it stay so. What comes of it
through ops whose rules use no array is one number as well, and needs no array either.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from agnograd._graph.calls import Call, Pairs
from agnograd._graph.nodes import FIRST, OP, Node
from agnograd._ops.fitting import fit
from agnograd._ops.op import Itself, Op
from agnograd._ops.saved import works


def of_uniform(op: Op) -> Callable[[Any, Node], Pairs | None] | None:
    """Return ``(g, node) -> pairs``, or None if an op gives no such gradients."""
    if works(op) is not None:  # its rules are right for any part of the elements
        return _by_rules
    (rule,) = op.rules.values() if len(op.arrays) == len(op.rules) == 1 else (None,)
    passes = rule is not None and rule.function == Itself("g") and not op.masks
    return _passed_on if passes and op.outputs == "one" and not op.sequence else None


def _by_rules(g: Any, node: Node) -> Pairs | None:
    """Apply element-wise rules, unless they use an array."""
    op = node[OP]
    number, saved = op.domain.backend.uniform(g), node[FIRST : op.first]
    arrays = any(getattr(value, "shape", None) for value in saved)
    if number is None or arrays or op.hooks is not None:
        return None
    match, last = None, op.first - 1
    if op.plan.names[-1:] == ("match",):
        match, node = node[last], [*node[:last], None, *node[op.first :]]
    pairs = op.compiled.backward(number, node)
    return _spread(op, pairs, match or [(g.shape, None)] * len(pairs), g)


def _passed_on(g: Any, node: Node) -> Pairs | None:
    """Pass the cotangent on, in the shape and dtype that nodes save last."""
    op = node[OP]
    number = op.domain.backend.uniform(g)
    if number is None:
        return None
    return _spread(op, [(node[op.first], number)], [node[op.first - 2 : op.first]], g)


def _spread(op: Call, pairs: Pairs, facts: Any, g: Any) -> Pairs:
    """Return gradients in the inputs' shapes and dtypes, as if of all elements of the cotangent."""
    xp, found = op.domain.raw, []
    for (edge, part), (shape, dtype) in zip(pairs, facts, strict=True):
        if part is not None:
            count = prod(g.shape) // prod(shape)
            if count > 1:  # of elements that were made of one
                part = xp.sum(xp.broadcast_to(part, (count,)))
            part = fit(part, (), part.dtype if dtype is None else dtype, xp)
            part = xp.broadcast_to(part, shape) if shape else part
        found.append((edge, part))
    return found
