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
from typing import Any
from weakref import proxy

from agnograd._engine.arrivals import completed, leaves_out
from agnograd._graph.calls import Pairs, note
from agnograd._graph.nodes import FIRST, OP, RANK, Node, Parts, on_device


def carry(seeds: Iterable[Any], onward: Callable[..., Pairs], last_uses: dict[int, int]) -> None:
    """Carry cotangents from the nodes of outputs to all that these were computed from.

    ``onward`` sees the gradient of each node when it is whole. It returns, for each input of the
    node, the node that made it and its gradient, both of which may be None. ``last_uses`` has the
    ranks of leaves that someone waits for, and of the oldest node that uses each.
    """
    gradients, queue = dict[int, Any](), list[Any]()

    def arrive(pairs: Iterable[Any]) -> None:
        for node, g in pairs:
            if node is None or g is None:
                continue
            rank = node[RANK]
            if rank in gradients:  # it was used more than once: gradients add up
                gradients[rank] = gradients[rank] + g
            else:
                gradients[rank] = g
                heappush(queue, (last_uses.get(rank, rank), rank in last_uses, -rank, node))

    arrive(seeds)
    while queue:
        # Newer nodes rank lower. All that used this node's value is newer, and has run before it:
        # its gradient is whole. That of a leaf is whole right after the last node that used it.
        *_, node = heappop(queue)
        try:
            arrive(onward(node, gradients.pop(node[RANK])))
        except BaseException as error:
            note(error, node[OP])
            raise


def run(this: Any) -> None:
    """Do what ``Pass.run`` does, for a pass."""
    seeds = ((node, this.arrivals.gradients.pop(node[RANK])) for node in this.arrivals.queue)
    this.differentiate = partial(_by_rules, proxy(this))

    def onward(node: Node, g: Any) -> Pairs:
        if this.visiting is not None:
            this.visiting(node[RANK])
        with on_device(node, g):
            return this.pairs(node, g)  # type: ignore[no-any-return]

    carry(seeds, onward, this.awaited or {})


def _by_rules(this: Any, node: Node, taken: Node, g: Any) -> Pairs:
    """Call the rules of a node's op, between the hooks of plugins."""
    op = node[OP]
    node = [*node[:FIRST], *op.unpack(node[FIRST : op.first]), *node[op.first :]]
    masked = this.arrivals.zeros(node, g) is not False  # a gradient came through an op like `where`
    if masked or leaves_out(node, g):
        this.arrivals.mask(node)
    if isinstance(g, Parts):
        g = completed(node, g, this.home(op.domain), this.create_graph)
    rules = op.compiled.guarded if masked else op.compiled.backward
    compute = this.by_rules(rules, node, [*node[: op.first], *taken[op.first :]], g)
    with op.domain.backend.quiet() if masked else ExitStack():
        if this.observers is None:
            return tuple(compute())
        return tuple(this.observers.backward(compute, node, g))
