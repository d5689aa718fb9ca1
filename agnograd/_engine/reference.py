"""The reverse pass in its simple form, which the fast one has to agree with.

With ``AGNOGRAD_REFERENCE=1`` in the environment, every pass of the process is this one, and ops run
without generated code (``agnograd._codegen.plain``). If a gradient is wrong there, too, look at a
rule; if it is right, look at what makes the usual pass fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from agnograd._engine.arrivals import Parts, completed, on_device
from agnograd._graph.calls import note
from agnograd._graph.nodes import (
    FIRST,
    OP,
    RANK,
    Edge,
    Node,
    Output,
    forget,
    maker_of,
)
from agnograd._graph.paths import within

if TYPE_CHECKING:
    from agnograd._engine.run import Pass

Pairs = Iterable[tuple[Edge | None, Any]]


def carry(
    seeds: Iterable[tuple[Edge, Any]],
    meet: Callable[[Edge, Any], Any],
    differentiate: Callable[[Edge, Any], Pairs],
) -> None:
    """Carry cotangents from the nodes of outputs to all that these were computed from.

    ``meet`` sees each gradient when it is whole, and returns what goes on from there.
    ``differentiate`` returns, for each input of a node, the node that made it and its gradient.
    """
    gradients: dict[int, Any] = {}
    queue: list[Edge] = []

    def arrive(node: Edge, g: Any) -> None:
        if node[RANK] in gradients:  # it was used more than once: gradients add up
            gradients[node[RANK]] = gradients[node[RANK]] + g
        else:
            gradients[node[RANK]] = g
            heappush(queue, node)

    for node, g in seeds:
        arrive(node, g)
    while queue:
        # Newer nodes rank lower. All that used this node's value is newer, and has run before it:
        # its gradient is whole.
        node = heappop(queue)
        try:
            g = meet(node, gradients.pop(node[RANK]))
            for edge, part in differentiate(node, g):
                if edge is not None and part is not None:
                    arrive(edge, part)
        except BaseException as error:
            note(error, node[OP])
            raise


def run(this: Pass) -> None:
    """Do what ``Pass.run`` does."""
    gradients = this.arrivals.gradients
    seeds = [(node, gradients[node[RANK]]) for node in this.arrivals.queue]
    carry(seeds, this.meet, partial(_differentiate, this))


def _differentiate(this: Pass, node: Edge, g: Any) -> Pairs:
    """Return the gradients of a node's inputs."""
    if g is None:
        return ()
    if isinstance(node, Output):
        if node[RANK] in this.arrivals.masked:
            this.arrivals.mask(node)
        return [(maker_of(node), Parts({node.number: (node, g)}))]
    taken = node if this.path is None else within(this.path, node)
    if taken is None:
        return ()
    with on_device(node, g):
        pairs = _by_rules(this, node, taken, g)
    if not this.retain_graph:
        forget(node)
    return pairs


def _by_rules(this: Pass, node: Node, taken: Node, g: Any) -> Pairs:
    """Call the rules of a node's op, between the hooks of plugins."""
    op = node[OP]
    saved, edges = op.unpack(node[FIRST : op.first]), taken[op.first :]
    masked = node[RANK] in this.arrivals.masked  # a gradient reached it through an op like `where`
    masks = op.plan.masks
    if masked or (masks is not None and masks([*node[:FIRST], *saved, *edges])):
        this.arrivals.mask(node)
    if isinstance(g, Parts):
        g = completed(node, g, this.create_graph)
    rules = op.compiled.guarded if masked else op.compiled.backward
    if this.create_graph:
        values = op.domain.connected(node, saved)
        compute = partial(rules, g, [*node[:FIRST], *values, *edges], op.domain.namespace)
    else:
        compute = partial(rules, g, [*node[:FIRST], *saved, *edges])
    with op.domain.backend.quiet() if masked else ExitStack():
        if this.observers is None:
            return tuple(compute())
        return tuple(this.observers.backward(compute, node, g))
