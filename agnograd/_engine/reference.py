"""The reverse pass in its simple form, which the fast one has to agree with.

With ``AGNOGRAD_REFERENCE=1`` in the environment, every pass of the process is this one, and ops run
without generated code (``agnograd._codegen.plain``). If a gradient is wrong there, too, look at a
rule; if it is right, look at what makes the usual pass fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from agnograd._engine.arrivals import completed, leaves_out
from agnograd._graph.calls import Pairs, note
from agnograd._graph.nodes import FIRST, OP, RANK, Node, Parts, edges_of, on_device

if TYPE_CHECKING:
    from agnograd._engine.run import Pass


def carry(
    seeds: Iterable[tuple[Node, Any]],
    onward: Callable[[Node, Any], Pairs],
    last_uses: Mapping[int, int],
) -> None:
    """Carry cotangents from the nodes of outputs to all that these were computed from.

    ``onward`` sees the gradient of each node when it is whole. It returns, for each input of the
    node, the node that made it and its gradient, both of which may be None. If someone waits for
    leaves, ``last_uses`` has the oldest node that uses each: both by their ranks.
    """
    gradients: dict[int, Any] = {}
    queue: list[Node] = []

    def arrive(pairs: Iterable[tuple[Any, Any]]) -> None:
        for node, g in pairs:
            if node is None or g is None:
                continue
            if node[RANK] in gradients:  # it was used more than once: gradients add up
                gradients[node[RANK]] = gradients[node[RANK]] + g
            else:
                gradients[node[RANK]] = g
                heappush(queue, node)

    arrive(seeds)
    while queue:
        # Newer nodes rank lower. All that used this node's value is newer, and has run before it:
        # its gradient is whole.
        node = heappop(queue)
        if node[RANK] not in gradients:  # a leaf that was waited for
            continue
        try:
            arrive(onward(node, gradients.pop(node[RANK])))
            for edge in filter(None, edges_of(node)):
                if last_uses.get(edge[RANK]) == node[RANK] and edge[RANK] in gradients:
                    onward(edge, gradients.pop(edge[RANK]))
        except BaseException as error:
            note(error, node[OP])
            raise


def run(this: Pass) -> None:
    """Do what ``Pass.run`` does."""
    arrived = this.arrivals.gradients
    seeds = ((node, arrived.pop(node[RANK])) for node in this.arrivals.queue)
    this.differentiate = partial(_by_rules, this)  # type: ignore[method-assign]

    def onward(node: Node, g: Any) -> Pairs:
        with on_device(node, g):
            return this.pairs(node, g)

    try:
        carry(seeds, onward, this.awaited or {})
    finally:
        del this.differentiate  # it refers to what it belongs to


def _by_rules(this: Pass, node: Node, taken: Node, g: Any) -> Pairs:
    """Call the rules of a node's op, between the hooks of plugins."""
    op = node[OP]
    node = [*node[:FIRST], *op.unpack(node[FIRST : op.first]), *node[op.first :]]
    masked = this.arrivals.zeros(node, g) is not False  # a gradient came through an op like `where`
    if masked or leaves_out(node, g):
        this.arrivals.mask(node)
    if isinstance(g, Parts):
        g = completed(node, g, this.create_graph)
    rules = op.compiled.guarded if masked else op.compiled.backward
    compute = this.by_rules(rules, node, [*node[: op.first], *taken[op.first :]], g)
    with op.domain.backend.quiet() if masked else ExitStack():
        if this.observers is None:
            return tuple(compute())
        return tuple(this.observers.backward(compute, node, g))
