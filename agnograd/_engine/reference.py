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

from agnograd._engine.arrivals import completed, on_device
from agnograd._graph.calls import note
from agnograd._graph.nodes import (
    FIRST,
    OP,
    RANK,
    Edge,
    Leaf,
    Node,
    Output,
    edges_of,
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


class Parts(dict[int, tuple[Output, Any]]):
    """The gradients that have arrived at an op with several results, by the result's number."""

    def __add__(self, other: Parts) -> Parts:
        total = Parts(self)
        for number, (output, g) in other.items():
            total[number] = output, (total[number][1] + g if number in total else g)
        return total


def run(this: Pass) -> None:
    """Do what ``Pass.run`` does."""
    gradients = this.arrivals.gradients
    seeds = [(node, gradients[node[RANK]]) for node in this.arrivals.queue]
    carry(seeds, partial(_meet, this), partial(_differentiate, this))


def _meet(this: Pass, node: Edge, g: Any) -> Any:
    """Show a gradient to those who asked for it; return None where the pass ends."""
    g = this.notice(node, g)
    if node[RANK] in this.ends:
        return None
    if isinstance(node, Leaf):
        return this.arrive(node, g)
    return g


def _differentiate(this: Pass, node: Edge, g: Any) -> Pairs:
    """Return the gradients of a node's inputs."""
    if g is None:
        return ()
    masked = this.arrivals.masked
    if isinstance(node, Output):
        if node[RANK] in masked:
            masked.add(maker_of(node)[RANK])
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
    op, all_masked = node[OP], this.arrivals.masked
    saved, edges = op.unpack(node[FIRST : op.first]), taken[op.first :]
    masked = node[RANK] in all_masked  # a gradient reached it through an op like `where`
    masks = op.plan.masks
    if masked or (masks is not None and masks([*node[:FIRST], *saved, *edges])):
        all_masked.update(edge[RANK] for edge in edges_of(node) if edge is not None)
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
