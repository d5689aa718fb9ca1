"""The reverse pass in its simple form, which the fast one has to agree with.

With ``AGNOGRAD_REFERENCE=1`` in the environment, every pass of the process is this one, and ops run
without generated code (``agnograd._codegen.plain``). If a gradient is wrong there, too, look at a
rule; if it is right, look at what makes the usual pass fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from agnograd._engine.arrivals import completed, on_device
from agnograd._engine.watching import announce, watched
from agnograd._graph.calls import note
from agnograd._graph.nodes import (
    FIRST,
    OP,
    RANK,
    WATCH,
    ByNode,
    Edge,
    Leaf,
    Node,
    Output,
    edges_of,
    forget,
    maker_of,
)
from agnograd._graph.paths import on_path, within
from agnograd._hooks.entering import enable_grad
from agnograd._hooks.state import Mode, current_mode, set_mode

if TYPE_CHECKING:
    from agnograd._arrays.variable import Variable

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


def reference_pass(
    seeds: Sequence[tuple[Edge, Any]],
    *,
    starts: Sequence[tuple[Variable, Any]] = (),
    **asked: Any,
) -> ByNode[Any]:
    """Do what ``agnograd._engine.run.run_pass`` does, with the same arguments."""
    mode = current_mode()
    this = ReferencePass([node for node, _ in seeds], mode, **asked)
    try:
        with ExitStack() as around:
            if this.create_graph:
                around.enter_context(enable_grad())
            if this.hooks is not None:
                raw = tuple(output._raw for output, _ in starts)
                around.enter_context(this.hooks.around_pass(raw))
            carry(seeds, this.meet, this.differentiate)
        return this.final
    finally:
        set_mode(mode)


class ReferencePass:
    """What is asked of a pass: see ``agnograd._engine.run.run_pass``."""

    def __init__(
        self,
        starts: Sequence[Edge],
        mode: Mode | None,
        *,
        targets: Iterable[Edge] | None = None,
        create_graph: bool = False,
        retain_graph: bool = False,
        retain_grads: bool = False,
        callbacks: ByNode[Callable[[Any], Any]] | None = None,
        beyond: bool = True,
    ) -> None:
        wanted = [] if targets is None else list(targets)
        self.targets = {node[RANK] for node in wanted}
        self.path = None if targets is None else on_path(starts, wanted)
        self.create_graph, self.retain_grads, self.beyond = create_graph, retain_grads, beyond
        self.keep = retain_graph or (mode is not None and mode.tape is not None)
        self.hooks = mode.hooks if mode is not None else None
        self.callbacks = callbacks or ByNode()
        self.masked: set[int] = set()  # nodes that a gradient reaches through an op like `where`
        self.final: ByNode[Any] = ByNode()

    def meet(self, node: Edge, g: Any) -> Any:
        """Show a gradient to those who asked for it; return None where the pass ends."""
        ends = not self.beyond and node[RANK] in self.targets
        watch = None if ends else node[WATCH]
        if watch is not None:
            g = watched(node, watch, g, self.create_graph)
        callback = self.callbacks.of(node)
        if callback is not None:
            g = callback(g)
        asked = self.retain_grads or node[RANK] in self.targets or isinstance(node, Leaf)
        if asked or (watch is not None and watch.retained):
            self.final.put(node, g)
        if isinstance(node, Leaf) and self.hooks is not None and not ends:
            announce(node, g, self.hooks)
        return None if ends else g

    def differentiate(self, node: Edge, g: Any) -> Pairs:
        """Return the gradients of a node's inputs."""
        if g is None or isinstance(node, Leaf):
            return ()
        if isinstance(node, Output):
            if node[RANK] in self.masked:
                self.masked.add(maker_of(node)[RANK])
            return [(maker_of(node), Parts({node.number: (node, g)}))]
        taken = node if self.path is None else within(self.path, node)
        if taken is None:
            return ()
        with on_device(node, g):
            pairs = self.by_rules(node, taken, g)
        if not self.keep:
            forget(node)
        return pairs

    def by_rules(self, node: Node, taken: Node, g: Any) -> Pairs:
        """Call the rules of a node's op, between the hooks of plugins."""
        op = node[OP]
        saved, edges = op.unpack(node[FIRST : op.first]), taken[op.first :]
        masked = node[RANK] in self.masked
        if masked or (op.plan.masks is not None and op.plan.masks([*node[:FIRST], *saved, *edges])):
            self.masked.update(edge[RANK] for edge in edges_of(node) if edge is not None)
        if isinstance(g, Parts):
            g = completed(node, g, self.create_graph)
        values = op.domain.connected(node, saved) if self.create_graph else saved
        xp = op.domain.namespace if self.create_graph else op.domain.raw
        rules = op.compiled.guarded if masked else op.compiled.backward
        compute = partial(rules, g, [*node[:FIRST], *values, *edges], xp)
        with op.domain.backend.quiet() if masked else ExitStack():
            if self.hooks is None or not self.hooks.observe_rules:
                return tuple(compute())
            return tuple(self.hooks.backward(compute, node, g))
