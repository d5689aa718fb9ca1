"""Forward mode: tangents are pushed through the graph, from its start to its results.

A node's backward function is linear in the cotangent: it is the transpose of what a tangent needs.
So it is recorded for some cotangent, and transposed by a pass of its own: one set of rules serves
both directions (Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agnograd._engine import run_pass
from agnograd._fit import is_python_scalar
from agnograd._graph import (
    FIRST,
    OP,
    RANK,
    Edge,
    Leaf,
    Node,
    Output,
    connected,
    edges_of,
    home_of,
    maker_of,
    next_rank,
    saved_of,
)
from agnograd._mode import current_mode, recording_since

if TYPE_CHECKING:
    from agnograd._domain import Domain
    from agnograd._variable import Variable

__all__ = ["Tape", "place"]

Facts = tuple[tuple[int, ...], Any, Any]
# The place of a value: its node's rank, with the number of the result if there are several.
Place = int | tuple[int, int]


class Tape:
    """The nodes of a run in the order of their recording, with the facts of their results."""

    def __init__(self) -> None:
        mode = current_mode()
        self._outer = mode.tape if mode is not None else None
        self._entries: list[tuple[Node, Facts | list[Facts]]] = []

    def append(self, node: Node, out: Any) -> bool:
        """Note a node and its raw result; an outer tape notes it, too."""
        device = node[OP].domain.device
        if isinstance(out, tuple | list):
            facts: Any = [(each.shape, each.dtype, device(each)) for each in out]
        else:
            facts = out.shape, out.dtype, device(out)
        self._entries.append((node, facts))
        return self._outer is None or self._outer.append(node, out)

    def push(self, tangents: Iterable[tuple[Edge, Any]], create_graph: bool) -> dict[Place, Any]:
        """Carry tangents from where they are given to every value that depends on them.

        They are raw arrays, or Variables under ``create_graph``.
        """
        found: dict[Place, Any] = {place(node): tangent for node, tangent in tangents}
        for node, facts in self._entries:
            incoming = [None if edge is None else found.get(place(edge)) for edge in edges_of(node)]
            if any(tangent is not None for tangent in incoming):
                _push_one(node, facts, incoming, found, create_graph)
        return found


def place(edge: Edge) -> Place:
    """Return the key of a value among tangents."""
    return (maker_of(edge)[RANK], edge.number) if isinstance(edge, Output) else edge[RANK]


def _push_one(
    node: Node,
    facts: Any,
    incoming: Sequence[Any],
    found: dict[Place, Any],
    create_graph: bool,
) -> None:
    """Compute the tangents of one node's results."""
    op, domain = node[OP], node[OP].domain
    several = isinstance(facts, list)
    start = next_rank()
    probes = [_probe(each, domain) for each in (facts if several else [facts])]
    saved = saved_of(node)
    assert saved is not None
    saved = op.unpack(saved)
    values = connected(node, saved) if create_graph else _constants(node, saved)
    wanted = [
        edge if tangent is not None else None
        for edge, tangent in zip(edges_of(node), incoming, strict=True)
    ]
    # What the rule computes may be infinite or undefined: only the graph of it is used.
    with domain.backend.quiet(), recording_since(start):
        pairs = op.backward(
            probes if several else probes[0],
            [*node[:FIRST], *values, *wanted],
            domain.namespace,
        )
        seeds = [
            (g._node, tangent)
            for (_, g), tangent in zip(pairs, incoming, strict=True)
            if g is not None and tangent is not None and g._node is not None
        ]
        targets = [probe._node for probe in probes if probe._node is not None]
        result = run_pass(
            seeds, targets=targets, create_graph=create_graph, retain_graph=create_graph
        )
    for index, probe in enumerate(probes):
        tangent = None if probe._node is None else result.of(probe._node)
        if tangent is not None:
            found[(node[RANK], index) if several else node[RANK]] = tangent


def _probe(facts: Facts, domain: Domain) -> Variable:
    """Return a cotangent: irregular values, since rules may treat zeros, and only zeros, apart."""
    shape, dtype, device = facts
    xp = domain.raw
    if not domain.is_inexact(dtype):
        zeros: Variable = domain.Variable._make(xp.zeros(shape, dtype=dtype, device=device), None)
        return zeros
    real = xp.abs(xp.zeros((), dtype=dtype)).dtype  # finfo's is a string in some libraries
    values = xp.sin(xp.arange(1, math.prod(shape) + 1, dtype=real, device=device))
    values = xp.astype(xp.reshape(values, shape), dtype)
    if domain.is_complex(dtype):
        values = (1 + 0.5j) * values
    made: Variable = domain.Variable._make(values, None)
    made._node = Leaf.of(made)
    return made


def _constants(node: Node, values: Sequence[Any]) -> list[Any]:
    """Return saved values as Variables that are connected to nothing."""
    domain = node[OP].domain
    return [
        value
        if source is None or value is None or is_python_scalar(value)
        else (home_of(value, domain) or domain).wrap(value)
        for value, source in zip(values, node[OP].sources, strict=True)
    ]
