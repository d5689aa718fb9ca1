"""Forward mode: tangents are pushed through the graph, from its start to its results.

A node's backward function is linear in the cotangent: it is the transpose of what a tangent needs.
So it is recorded for some cotangent, and transposed by a pass of its own: one set of rules serves
both directions (Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agnograd._arrays.variable import Variable
from agnograd._codegen.products import guarded
from agnograd._engine.run import run_pass
from agnograd._graph.calls import Call, was_freed
from agnograd._graph.nodes import (
    FIRST,
    OP,
    RANK,
    Edge,
    Leaf,
    Node,
    Output,
    edges_of,
    maker_of,
    next_rank,
    saved_of,
)
from agnograd._graph.paths import on_path, reachable
from agnograd._hooks.entering import recording_since
from agnograd._hooks.state import current_mode, set_mode
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._transforms.sensitivity import irregular

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain

Facts = tuple[tuple[int, ...], Any, Any]
# The place of a value: its node's rank, with the number of the result if there are several.
Place = int | tuple[int, int]


class Tape:
    """The nodes of a run in the order of their recording, with the facts of their results."""

    def __init__(self) -> None:
        mode = current_mode()
        self._outer = mode.tape if mode is not None else None
        self._entries: list[tuple[Node, Facts | list[Facts]]] = []
        self._guarded: set[int] = set()

    def append(self, node: Node, out: Any) -> bool:
        """Note a node and its raw result; an outer tape notes it, too."""
        device = node[OP].domain.device
        if isinstance(out, tuple | list):
            facts: Any = [(each.shape, each.dtype, device(each)) for each in out]
        else:
            facts = out.shape, out.dtype, device(out)
        self._entries.append((node, facts))
        return self._outer is None or self._outer.append(node, out)

    def guard(self, node: Node) -> None:
        """Note that a node is a product that is guarded; an outer tape notes it, too."""
        self._guarded.add(node[RANK])
        if self._outer is not None:
            self._outer.guard(node)

    def unheard(self, outputs: Iterable[Edge], inputs: Sequence[Edge], start: int) -> Edge | None:
        """Return a node of another thread or context by which an output depends on an input.

        ``start`` is the rank from which on the run recorded.
        """
        heard = {node[RANK] for node, _ in self._entries}
        heard |= {node[RANK] for node in reachable(inputs, start)}  # which is before the run
        unheard = [
            node
            for node in reachable(outputs, start)
            if isinstance(node[OP], Call) and node[RANK] not in heard
        ]
        path = on_path(unheard, inputs) if unheard else set()
        return next((n for n in unheard if path is None or n[RANK] in path), None)

    def push(self, tangents: Iterable[tuple[Edge, Any]], create_graph: bool) -> dict[Place, Any]:
        """Carry tangents from where they are given to every value that depends on them.

        They are raw arrays, or Variables under ``create_graph``.
        """
        found: dict[Place, Any] = {place(node): tangent for node, tangent in tangents}
        outer = current_mode()
        try:
            for node, facts in self._entries:
                edges = edges_of(node)
                incoming = [None if edge is None else found.get(place(edge)) for edge in edges]
                if not any(tangent is not None for tangent in incoming):
                    continue
                if node[RANK] in self._guarded:
                    found[node[RANK]] = _push_product(node, incoming, create_graph)
                else:
                    _push_one(node, facts, incoming, found, create_graph)
        finally:
            set_mode(outer)
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
    values = _saved_by(node, create_graph)
    wanted = [
        edge if tangent is not None else None
        for edge, tangent in zip(edges_of(node), incoming, strict=True)
    ]
    # What the rule computes may be infinite or undefined: only the graph of it is used.
    with domain.backend.quiet(), recording_since(start):
        pairs = op.compiled.backward(
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


def _push_product(node: Node, incoming: Sequence[Any], create_graph: bool) -> Any:
    """Compute the tangent of a cotangent times a derivative, in a pass before which was a mask.

    Where a factor is 0, an infinite or undefined tangent of the other one counts as little as an
    infinite derivative does in the pass itself.
    """
    op, domain = node[OP], node[OP].domain
    values = _saved_by(node, create_graph)
    if not create_graph:
        values = [value.data if isinstance(value, Variable) else value for value in values]
    known = dict(zip(op.plan.names, values, strict=True))
    xp = domain.namespace if create_graph else domain.raw
    of_cotangent, of_derivative = incoming
    with domain.backend.quiet(), recording_since(next_rank()):
        total = None
        if of_cotangent is not None:
            total = _either_zero(domain, of_cotangent, known["x2"], xp)
        if of_derivative is not None:
            part = _either_zero(domain, known["x1"], of_derivative, xp)
            total = part if total is None else total + part
        return total


def _either_zero(domain: Domain, x1: Any, x2: Any, xp: Any) -> Any:
    """Return a product that is 0 where either factor is, whatever the other one is."""
    if not is_python_scalar(x2):
        x1 = xp.where(xp.logical_and(x2 == 0, xp.logical_not(xp.isfinite(x1))), 0.0, x1)
    return guarded(domain, x1, x2, xp)


def _saved_by(node: Node, create_graph: bool) -> list[Any]:
    """Return what a node saved as Variables, which are connected to the graph or constants."""
    saved = saved_of(node)
    if saved is None:
        was_freed(node[OP].name)
    saved = node[OP].unpack(saved)
    domain: Domain = node[OP].domain
    return domain.connected(node, saved) if create_graph else _constants(node, saved)


def _probe(facts: Facts, domain: Domain) -> Variable:
    """Return a cotangent: irregular values, since rules may treat zeros, and only zeros, apart."""
    shape, dtype, device = facts
    xp = domain.raw
    if not domain.is_inexact(dtype):
        zeros: Variable = domain.Variable._make(xp.zeros(shape, dtype=dtype, device=device), None)
        return zeros
    values = irregular(shape, dtype, device, domain)
    made: Variable = domain.Variable._make(values, None)
    made._node = Leaf.of(made)
    return made


def _constants(node: Node, values: Sequence[Any]) -> list[Any]:
    """Return saved values as Variables that are connected to nothing."""
    domain = node[OP].domain
    return [
        value
        if source is None or value is None or is_python_scalar(value)
        else (domain.home_of(value) or domain).wrap(value)
        for value, source in zip(values, node[OP].plan.sources, strict=True)
    ]
