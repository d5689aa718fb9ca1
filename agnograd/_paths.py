"""Which nodes a pass will visit: found before it starts, without recursion."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter

from agnograd._graph import Edge, Leaf

__all__ = ["on_path", "uses"]


def on_path(roots: Iterable[Edge], targets: Collection[Edge]) -> set[Edge]:
    """Return the nodes from which a target can be reached, the targets among them."""
    reached = set(roots)
    stack = list(reached)
    # Newer nodes rank lower: from what is older than all targets none can be reached.
    oldest = max((target.rank for target in targets), default=0)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and edge.rank <= oldest and edge not in reached:
                reached.add(edge)
                stack.append(edge)
    path = {target for target in targets if target in reached}
    # Oldest first: a node's edges are decided before the node is.
    for node in sorted(reached, key=attrgetter("rank"), reverse=True):
        if not path.isdisjoint(node.edges):
            path.add(node)
    return path


def uses(roots: Iterable[Edge], path: set[Edge] | None) -> dict[Edge, int]:
    """Return how many times each leaf is an input of a node that a pass will visit."""
    counts: dict[Edge, int] = {}
    reached = set(roots)
    stack = list(reached)
    while stack:
        for edge in stack.pop().edges:
            if edge is None or (path is not None and edge not in path):
                continue
            if isinstance(edge, Leaf):
                counts[edge] = counts.get(edge, 0) + 1
            elif edge not in reached:
                reached.add(edge)
                stack.append(edge)
    return counts
