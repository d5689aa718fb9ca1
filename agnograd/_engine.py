"""The reverse pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any

from agnograd._call import Backward, Call
from agnograd._graph import Edge, Leaf, Node, Output, connected
from agnograd._mode import current_mode
from agnograd._paths import on_path, uses
from agnograd._variable import Variable
from agnograd._watching import announce, watched
from agnograd.errors import FreedGraphError

__all__ = ["Callback", "run_pass"]

Callback = Callable[[Any], Any]


def run_pass(
    seeds: Iterable[tuple[Edge, Any]],
    *,
    outputs: Sequence[Variable] = (),
    targets: Collection[Edge] | None = None,
    create_graph: bool = False,
    retain_graph: bool = False,
    retain_grads: bool = False,
    callbacks: Mapping[Edge, Callback] | None = None,
    beyond: bool = True,
) -> dict[Edge, Any]:
    """Carry cotangents from the outputs of a graph back to where it starts.

    Nothing but the graph's saved values changes: gradients are returned, not stored.

    Parameters
    ----------
    seeds : iterable of (node, cotangent)
        Where the pass starts: raw arrays, or Variables under ``create_graph``.
    outputs : sequence of Variables
        The values that the pass starts from, for the hooks of plugins.
    targets : collection of nodes, optional
        The values whose gradients are asked for; by default all leaves. Only nodes on a path to
        a target are visited.
    create_graph : bool
        Call rules with Variables, so that the gradients can be differentiated.
    retain_graph : bool
        Keep the values that nodes saved.
    retain_grads : bool
        Return the gradient of every visited value.
    callbacks : mapping, optional
        What to call, for each of some targets, with its gradient as soon as that is final; what it
        returns replaces the gradient.
    beyond : bool
        Whether gradients go on from one target to another. If not, this pass is a part of another
        one, which will: then no hook on a target hears of its part.

    Returns
    -------
    dict
        The gradients by node: raw arrays, or Variables under ``create_graph``.
    """
    seeds = list(seeds)
    this = Pass(create_graph, retain_graph, retain_grads)
    starts = [node for node, _ in seeds]
    if targets is not None:
        this.targets = targets
        this.path = on_path(starts, targets)
        this.ends = () if beyond else targets
    if callbacks or (this.hooks is not None and this.hooks.has("gradient_ready")):
        this.callbacks = callbacks or {}
        this.awaited = uses(starts, this.path)
    for node, g in seeds:
        this.add(node, g)
    if this.hooks is None:
        this.run()
    else:
        raw = tuple(output._data for output in outputs)
        with this.hooks.around_pass(raw):
            this.run()
    return this.final


class Pass:
    """One reverse pass: what is asked of it, and the gradients that are on their way.

    Attributes
    ----------
    gradients : dict
        What has arrived so far at nodes that are yet to run.
    queue : heap of (rank, node)
        Those nodes, newest first.
    owned : set
        Those of them whose gradient is a sum that was made here: it is added to in place. All
        other gradients are kept as the rules gave them, and may be shared.
    final : dict
        The gradients that are asked for, as they become complete.
    masked : set
        Nodes that a gradient reaches through an op that leaves elements out, such as ``where``:
        there a zero may mean that nothing is asked, and an infinite derivative is none of its
        business. Empty for programs without such ops, which pay nothing for it.
    awaited : dict or None
        Where someone waits for the gradients of leaves: how many uses of each are yet to run. When
        none is left, the leaf need not wait for its turn.
    plain : bool
        Whether all that a node can need is its backward function.
    """

    def __init__(self, create_graph: bool, retain_graph: bool, retain_grads: bool) -> None:
        mode = current_mode()
        self.hooks = mode.hooks if mode is not None else None
        self.create_graph = create_graph
        # Forward mode outside of this pass needs the values that it would free.
        self.retain_graph = retain_graph or (mode is not None and mode.tape is not None)
        self.retain_grads = retain_grads
        self.targets: Collection[Edge] = ()
        self.ends: Collection[Edge] = ()
        self.path: set[Edge] | None = None
        self.gradients: dict[Edge, Any] = {}
        self.queue: list[tuple[int, Edge]] = []
        self.owned: set[Edge] = set()
        self.final: dict[Edge, Any] = {}
        self.masked: set[Edge | None] = set()
        self.callbacks: Mapping[Edge, Callback] = {}
        self.awaited: dict[Edge, int] | None = None
        self.plain = self.hooks is None and not create_graph

    def run(self) -> None:
        """Visit every node that a gradient reaches, the newest one first."""
        gradients, queue, owned, path = self.gradients, self.queue, self.owned, self.path
        plain, retain_graph, awaited = self.plain, self.retain_graph, self.awaited
        # Leaves are met in any case; other targets are nodes like all others.
        noticing = self.retain_grads or not all(isinstance(node, Leaf) for node in self.targets)
        while queue:
            # The consumers of the newest node are newer still and have run: its gradient is whole.
            node: Any = heappop(queue)[1]
            g = gradients.pop(node)
            if noticing or node.watch is not None or type(node) is not Node:
                g = self.meet(node, g)
                if g is None:
                    continue

            op, saved, edges = node.op, node.saved, node.edges
            if path is not None and not path.issuperset(edges):
                edges = tuple([edge if edge in path else None for edge in edges])
                if not any(edges):
                    continue
            try:
                if plain and op.simple and saved is not None:
                    parts: Sequence[Any] = op.backward(g, edges, saved)
                else:
                    parts = self.differentiate(node, g, edges)
                    plain = self.plain
            except BaseException as error:
                error.add_note(f"agnograd: in the backward pass, at op {op.name!r}")
                raise
            if not retain_graph:
                node.saved = saved = None

            # As in add, which a call for each edge would make the slowest part of the loop.
            for edge, part in zip(edges, parts):  # noqa: B905 - no parts: they are added already
                if edge is None or part is None:
                    continue
                total = gradients.get(edge)
                if total is None:
                    gradients[edge] = part
                    heappush(queue, (edge.rank, edge))
                elif edge in owned:
                    total += part
                    gradients[edge] = total
                else:
                    self.add(edge, part)
            if awaited is not None:
                self.settle(edges)

    def settle(self, edges: tuple[Edge | None, ...]) -> None:
        """Let leaves arrive whose last use has run."""
        assert self.awaited is not None
        for edge in edges:
            if edge not in self.awaited:
                continue
            self.awaited[edge] -= 1
            if self.awaited[edge] == 0 and edge in self.gradients:
                self.queue.remove((edge.rank, edge))
                heapify(self.queue)
                self.meet(edge, self.gradients.pop(edge))

    def add(self, node: Edge, g: Any) -> None:
        """Add a gradient to what has arrived at a node."""
        total = self.gradients.get(node)
        if total is None:
            self.gradients[node] = g
            heappush(self.queue, (node.rank, node))
        else:
            self.gradients[node] = total + g
            if not self.create_graph:
                self.owned.add(node)

    def meet(self, node: Edge, g: Any) -> Any:
        """Show a gradient to those who asked; return it, or None if it ends here or at a leaf."""
        g = self.notice(node, g)
        if node in self.ends:
            return None
        if isinstance(node, Node):
            return g
        self.arrive(node, g)
        return None

    def notice(self, node: Edge, g: Any) -> Any:
        """Keep a gradient that is asked for, after the hooks on its value have seen it."""
        watch = node.watch if node not in self.ends else None
        if watch is not None:
            g = watched(node, watch, g, self.create_graph)
        if node in self.callbacks:
            g = self.callbacks[node](g)
        if self.retain_grads or node in self.targets or (watch is not None and watch.retained):
            self.final[node] = g
        return g

    def arrive(self, node: Leaf | Output, g: Any) -> None:
        """End at a leaf; from one of an op's several outputs go on to the op."""
        if isinstance(node, Leaf):
            self.final[node] = g
            if self.hooks is not None:
                announce(node, g, self.hooks)
            return
        (op_node,) = node.edges
        if node in self.masked:
            self.masked.remove(node)
            self.masked.add(op_node)
        if op_node not in self.gradients:
            self.gradients[op_node] = {}
            heappush(self.queue, (op_node.rank, op_node))
        arrived = self.gradients[op_node]
        if node.index in arrived:  # from the Output that the user has, and from one of a rule
            g = arrived[node.index][1] + g
        arrived[node.index] = node, g

    def differentiate(self, node: Node, g: Any, edges: tuple[Edge | None, ...]) -> Sequence[Any]:
        """Run a node's rule in any other than the plain case; return the inputs' gradients."""
        op, saved = node.op, node.saved
        if saved is None:
            raise _freed(node)
        if op.hooks is not None:
            saved = op.hooks.restore(saved)
        masked = node in self.masked
        if masked or (op.masks is not None and op.masks(saved)):
            self.masked.discard(node)
            self.masked.update(edges)
            self.plain = False
        if op.add is not None and self.hooks is None and not self.create_graph:
            self.gather(op, edges[0], g, saved)
            return ()
        if isinstance(g, dict):
            g = _completed(node, g, self.create_graph)
        if not masked:
            return self.apply(node, op.backward, g, edges, saved)
        with op.domain.backend.quiet():
            return self.apply(node, op.guarded, g, edges, saved)

    def gather(self, op: Call, edge: Any, g: Any, saved: tuple[Any, ...]) -> None:
        """Let an op add its gradient to a buffer, instead of making a full-size array for it."""
        assert op.add is not None
        total = self.gradients.get(edge)
        if total is None:
            heappush(self.queue, (edge.rank, edge))
        elif edge not in self.owned:
            total = op.domain.copy(total)
        self.gradients[edge] = op.add(total, g, saved)
        self.owned.add(edge)

    def apply(
        self,
        node: Node,
        backward: Backward,
        g: Any,
        edges: tuple[Edge | None, ...],
        saved: tuple[Any, ...],
    ) -> Sequence[Any]:
        """Call a backward function on raw arrays or Variables, observed or not."""
        op = node.op
        if self.create_graph:
            compute = partial(backward, g, edges, connected(node, saved), op.domain.namespace)
        elif op.accumulate is not None and self.hooks is None and _are_different(edges):
            self.accumulate(node, edges, g, saved)
            return ()
        else:
            compute = partial(backward, g, edges, saved)
        if self.hooks is None:
            return compute()
        known = dict(zip(op.sources, saved, strict=True))
        inputs = tuple(known.get(index) for index in range(len(edges)))
        cotangents = tuple(g) if isinstance(g, list) else (g,)
        return self.hooks.backward(op, compute, inputs, cotangents)

    def accumulate(
        self, node: Node, edges: tuple[Edge | None, ...], g: Any, saved: tuple[Any, ...]
    ) -> None:
        """Let a function add its gradients to the buffers of all of its inputs."""
        assert node.op.accumulate is not None
        into = [None if edge is None else self.buffer(node, edge) for edge in edges]
        for edge, total in zip(edges, node.op.accumulate(into, g, saved), strict=True):
            if edge is None or total is None:
                continue
            if edge not in self.gradients:
                heappush(self.queue, (edge.rank, edge))
            self.gradients[edge] = total
            self.owned.add(edge)

    def buffer(self, node: Node, edge: Edge) -> Any:
        """Return what has arrived at a node as an array that may be added to, or None."""
        total = self.gradients.get(edge)
        return total if total is None or edge in self.owned else node.op.domain.copy(total)


def _are_different(edges: tuple[Edge | None, ...]) -> bool:
    return len(edges) == 1 or len({edge for edge in edges if edge}) == sum(map(bool, edges))


def _completed(node: Node, arrived: dict[int, tuple[Output, Any]], create_graph: bool) -> list[Any]:
    """Return one cotangent for each output of an op; zeros, or None, for unused ones."""
    domain = node.op.domain
    xp = domain.namespace if create_graph else domain.raw
    output, like = next(iter(arrived.values()))
    return [
        arrived[index][1]
        if index in arrived
        else None
        if node.op.optional
        else xp.zeros(shape, dtype=dtype, device=domain.device(like))
        for index, (shape, dtype) in enumerate(output.siblings)
    ]


def _freed(node: Node) -> FreedGraphError:
    return FreedGraphError(
        f"the values that {node.op.name!r} saved were freed by an earlier backward pass; pass "
        "retain_graph=True to that pass if the graph is needed again"
    )
