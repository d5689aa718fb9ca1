"""Which nodes others depend on, and which of them a pass will visit: found without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from agnograd._graph.nodes import OP, RANK, Edge, Leaf, edges_of


def reachable(nodes: Iterable[Edge | None], start: int = 0, before: bool = False) -> Iterator[Edge]:
    """Yield nodes and all that they depend on, as far as a start, a rank, or what is before it."""
    stack = [node for node in nodes if node is not None]
    seen = {node[RANK] for node in stack}
    while stack:
        node = stack.pop()
        # Newer nodes rank lower; a leaf may stand for what was computed from older ones.
        is_before = node[RANK] > start or (before and node[OP].began > start)
        if is_before is before:
            yield node
        if is_before:
            continue
        for edge in node[node[OP].first :]:  # as edges_of, without a call
            if edge is not None and edge[RANK] not in seen:
                seen.add(edge[RANK])
                stack.append(edge)


def older(nodes: Iterable[Edge | None], start: int) -> Iterator[Edge]:
    """Yield the nodes from before a start, a rank, that others depend on; none is searched."""
    return reachable(nodes, start, before=True)


def on_path(roots: Iterable[Edge], targets: Sequence[Edge]) -> set[int] | None:
    """Return the ranks of the nodes from which a target can be reached, the targets' among them.

    It is None if that is so for all nodes that the roots depend on.
    """
    wanted = {target[RANK] for target in targets}
    # Newer nodes rank lower: from what is older than all targets none can be reached.
    oldest = max(wanted, default=0)
    reached = {root[RANK]: root for root in roots}
    stack = list(reached.values())
    everything = True
    while stack:
        node = stack.pop()
        ends = True
        for edge in node[node[OP].first :]:  # as edges_of, without a call
            if edge is None:
                continue
            ends = False
            rank = edge[RANK]
            if rank > oldest:
                everything = False
            elif rank not in reached:
                reached[rank] = edge
                stack.append(edge)
        if ends and node[RANK] not in wanted:
            everything = False
            node[OP].ended(targets)
    if everything:  # all ways end at targets
        return None
    path = wanted & reached.keys()
    # Oldest first: a node's edges are decided before the node is.
    for rank in sorted(reached, reverse=True):
        for edge in edges_of(reached[rank]):
            if edge is not None and edge[RANK] in path:
                path.add(rank)
                break
    return path


def within(path: set[int], node: Edge) -> Edge | None:
    """Return a node without its edges to nodes that are not on the path; None if no other is."""
    edges = edges_of(node)
    kept = [edge if edge is not None and edge[RANK] in path else None for edge in edges]
    return node[: len(node) - len(edges)] + kept if any(kept) else None


def last_uses(roots: Iterable[Edge], path: set[int] | None) -> dict[int, tuple[int, int, Leaf]]:
    """Return the last use of each leaf by a node that a pass will visit, by the leaf's rank.

    It is the node's rank, the place among its edges, and the leaf.
    """
    last: dict[int, tuple[int, int, Leaf]] = {}
    for node in reachable(roots):
        for place, edge in enumerate(edges_of(node) if path is None or node[RANK] in path else ()):
            if isinstance(edge, Leaf):
                # Newer nodes rank lower: the oldest node that uses a leaf is the last that runs.
                use = node[RANK], place, edge
                last[edge[RANK]] = max(use, last.get(edge[RANK], use), key=itemgetter(0))
    return last
