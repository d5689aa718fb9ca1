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

from agnograd._engine.arrivals import completed, leaves_out
from agnograd._graph.calls import Pairs, note
from agnograd._graph.nodes import FIRST, OP, RANK, Node, Parts, on_device

if TYPE_CHECKING:
    from agnograd._engine.run import Pass


def carry(
    seeds: Iterable[tuple[Node, Any]], onward: Callable[[Node, Any], Iterable[tuple[Node, Any]]]
) -> None:
    """Carry cotangents from the nodes of outputs to all that these were computed from.

    ``onward`` sees the gradient of each node when it is whole. It returns, for each input of the
    node, the node that made it and its gradient, both of which may be None.
    """
    gradients: dict[int, Any] = {}
    queue: list[Node] = []

    def arrive(node: Node, g: Any) -> None:
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
            for edge, part in onward(node, gradients.pop(node[RANK])):
                if edge is not None and part is not None:
                    arrive(edge, part)
        except BaseException as error:
            note(error, node[OP])
            raise


def run(this: Pass) -> None:
    """Do what ``Pass.run`` does."""
    seeds = [(node, this.arrivals.gradients[node[RANK]]) for node in this.arrivals.queue]
    this.differentiate = partial(_by_rules, this)  # type: ignore[method-assign]

    def onward(node: Node, g: Any) -> Pairs:
        with on_device(node, g):
            return this.pairs(node, g)

    carry(seeds, onward)


def _by_rules(this: Pass, node: Node, taken: Node, g: Any) -> Pairs:
    """Call the rules of a node's op, between the hooks of plugins."""
    op = node[OP]
    node = [*node[:FIRST], *op.unpack(node[FIRST : op.first]), *node[op.first :]]
    masked = node[RANK] in this.arrivals.masked  # a gradient reached it through an op like `where`
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
