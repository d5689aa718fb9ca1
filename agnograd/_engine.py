"""The reverse pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any

from agnograd._graph import Edge, Leaf, Node, Output, connected
from agnograd._hooks import ActiveHooks
from agnograd._mode import current_mode, enable_grad, no_grad
from agnograd._variable import Variable
from agnograd.errors import FreedGraphError, GradientError

__all__ = ["run_pass"]


def run_pass(
    seeds: Iterable[tuple[Edge, Any]],
    *,
    targets: Collection[Edge] | None = None,
    create_graph: bool = False,
    retain_graph: bool = False,
    retain_grads: bool = False,
) -> dict[Edge, Any]:
    """Carry cotangents from the outputs of a graph back to where it starts.

    Nothing but the graph's saved values changes: gradients are returned, not stored.

    Parameters
    ----------
    seeds : iterable of (node, cotangent)
        Where the pass starts: raw arrays, or Variables under ``create_graph``.
    targets : collection of nodes, optional
        The values whose gradients are asked for; by default all leaves. Only nodes on a path to
        a target are visited.
    create_graph : bool
        Call rules with Variables, so that the gradients can be differentiated.
    retain_graph : bool
        Keep the values that nodes saved.
    retain_grads : bool
        Return the gradient of every visited value.

    Returns
    -------
    dict
        The gradients by node: raw arrays, or Variables under ``create_graph``.
    """
    mode = current_mode()
    hooks = mode.hooks if mode is not None else None
    first_order = hooks is None and not create_graph
    seeds = list(seeds)
    path = None if targets is None else _on_path([node for node, _ in seeds], targets)
    wanted = targets if targets is not None else ()
    gradients: dict[Edge, Any] = {}  # what has arrived so far at nodes that are yet to run
    owned: set[Edge] = set()  # nodes whose gradient is a sum made here: it is added to in place
    queue: list[tuple[int, Edge]] = []  # those nodes, newest first
    final: dict[Edge, Any] = {}
    node: Edge | None = None

    for node, g in seeds:
        if node in gradients:
            gradients[node] = gradients[node] + g
        else:
            gradients[node] = g
            heappush(queue, (node.rank, node))
    try:
        while queue:
            # All consumers of the newest node have run: they are newer still.
            node = heappop(queue)[1]
            g = gradients.pop(node)
            edges = node.edges
            if node.watch is not None:
                g = _watched(node, g, create_graph)
                if node.watch.retained:
                    final[node] = g
            if retain_grads or node in wanted:
                final[node] = g
            if path is not None:
                edges = tuple([edge if edge in path else None for edge in edges])
                if not any(edges):
                    continue

            if type(node) is not Node:
                if type(node) is Leaf:
                    final[node] = g
                    if hooks is not None:
                        _announce(node, g, hooks)
                else:
                    _join_siblings(node, g, gradients, queue)  # type: ignore[arg-type]
                continue

            op, saved = node.op, node.saved
            if saved is None:
                raise _freed(node)
            if type(g) is _Siblings:
                g = g.completed(op, create_graph)
            if first_order:
                if op.accumulate is not None:
                    _accumulate(node, g, gradients, owned, queue)
                    parts: Sequence[Any] = ()
                else:
                    parts = op.backward(g, edges, saved)
            else:
                parts = _general(node, g, edges, hooks, create_graph)
            if not retain_graph:
                node.saved = saved = None

            for edge, part in zip(edges, parts):  # noqa: B905 - an accumulated node has no parts
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
                    gradients[edge] = total + part
                    if not create_graph:
                        owned.add(edge)
    except BaseException as error:
        if isinstance(node, Node):
            error.add_note(f"agnograd: in the backward pass, at op {node.op.name!r}")
        raise
    return final


def _on_path(roots: Iterable[Edge], targets: Collection[Edge]) -> set[Edge]:
    """Return the nodes from which a target can be reached, the targets among them."""
    reached = set(roots)
    stack = list(reached)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and edge not in reached:
                reached.add(edge)
                stack.append(edge)
    path = {target for target in targets if target in reached}
    # Oldest first: a node's edges are decided before the node is.
    for node in sorted(reached, key=lambda node: node.rank, reverse=True):
        if any(edge in path for edge in node.edges):
            path.add(node)
    return path


class _Siblings(dict[int, Any]):
    """The cotangents of an op's several outputs, by index, as far as they have arrived."""

    __slots__ = ("like",)

    def __init__(self, like: Sequence[tuple[tuple[int, ...], Any]]) -> None:
        super().__init__()
        self.like = like

    def completed(self, op: Any, create_graph: bool) -> list[Any]:
        """Return one cotangent for each output: zeros for those that nothing depends on."""
        xp = op.domain.namespace if create_graph else op.domain.raw
        device = next(iter(self.values())).device
        return [
            self[index] if index in self else xp.zeros(shape, dtype=dtype, device=device)
            for index, (shape, dtype) in enumerate(self.like)
        ]


def _join_siblings(
    output: Output, g: Any, gradients: dict[Edge, Any], queue: list[tuple[int, Edge]]
) -> None:
    (node,) = output.edges
    if node not in gradients:
        gradients[node] = _Siblings(output.siblings)
        heappush(queue, (node.rank, node))
    gradients[node][output.index] = g


def _watched(node: Edge, g: Any, create_graph: bool) -> Any:
    """Let the hooks that users registered on a value see, and replace, its gradient."""
    assert node.watch is not None
    for hook in tuple(node.watch.hooks.values()):
        grad = g if create_graph else _domain(node)._make(g, None)
        with enable_grad() if create_graph else no_grad():
            new = hook(grad)
        if new is None:
            continue
        if not isinstance(new, Variable):
            new = grad._make(grad._domain.to_raw(new), None)
        if new.shape != grad.shape or new.dtype != grad.dtype:
            raise GradientError(
                f"a hook returned a gradient of shape {new.shape} and dtype {new.dtype}, in place "
                f"of one of shape {grad.shape} and dtype {grad.dtype}"
            )
        new._refresh()
        g = new if create_graph else new._data
    return g


def _domain(node: Edge) -> Any:
    if isinstance(node, Leaf):
        return node.domain.Variable
    return (node.edges[0] if isinstance(node, Output) else node).op.domain.Variable


def _announce(leaf: Leaf, g: Any, hooks: ActiveHooks) -> None:
    variable = leaf.variable()
    if variable is not None and hooks.has("gradient_ready"):
        hooks.run("gradient_ready", variable=variable, grad=_raw(g))


def _accumulate(
    node: Node,
    g: Any,
    gradients: dict[Edge, Any],
    owned: set[Edge],
    queue: list[tuple[int, Edge]],
) -> None:
    """Let an op add its gradient into a buffer, instead of making a full-size array of its own."""
    op = node.op
    edge = node.edges[0]
    assert op.accumulate is not None
    assert edge is not None
    total = gradients.get(edge)
    if total is None:
        heappush(queue, (edge.rank, edge))
    elif edge not in owned:
        total = op.domain.copy(total)
    assert node.saved is not None
    gradients[edge] = op.accumulate(total, g, node.saved)
    owned.add(edge)


def _general(
    node: Node,
    g: Any,
    edges: tuple[Edge | None, ...],
    hooks: ActiveHooks | None,
    create_graph: bool,
) -> Sequence[Any]:
    """Run a node's rule with Variables, if it is recorded, and between the hooks of plugins."""
    op = node.op
    assert node.saved is not None
    if create_graph:
        compute = partial(op.backward, g, edges, connected(node), op.domain.namespace)
    else:
        compute = partial(op.backward, g, edges, node.saved)
    if hooks is None:
        return compute()
    known = dict(zip(op.sources, op.unpack(node.saved), strict=True))
    inputs = tuple(known.get(index) for index in range(len(edges)))
    grad_outputs = tuple(_raw(each) for each in (g if isinstance(g, list) else (g,)))
    return hooks.backward(op, compute, inputs, grad_outputs, _raw)


def _raw(g: Any) -> Any:
    return g._data if isinstance(g, Variable) else g


def _freed(node: Node) -> FreedGraphError:
    return FreedGraphError(
        f"the values that {node.op.name!r} saved were freed by an earlier backward pass; pass "
        "retain_graph=True to that pass if the graph is needed again"
    )
