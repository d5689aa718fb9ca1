"""The orders in which greedy colourings take the vertices of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Literal

Lists = Sequence[Sequence[int]]
Order = Literal["natural", "largest_first", "smallest_last", "incidence_degree", "saturation"]


def neighbours(lines: Lists, vertices: Lists) -> list[list[int]]:
    """Return the other vertices that each vertex shares a line with.

    Vertices are columns of a matrix, say, and lines its rows: ``lines[v]`` are those of a vertex,
    and ``vertices[i]`` those of a line.
    """
    found = []
    for v, own in enumerate(lines):
        others = set().union(*[vertices[i] for i in own])
        others.discard(v)
        found.append(sorted(others))
    return found


def natural(graph: Lists) -> Iterable[int]:
    """Take the vertices as they are numbered."""
    return range(len(graph))


def largest_first(graph: Lists) -> Iterable[int]:
    """Take those of many neighbours first (Welsh and Powell, 1967)."""
    return sorted(range(len(graph)), key=lambda v: -len(graph[v]))


def smallest_last(graph: Lists) -> Iterable[int]:
    """Take last, again and again, what has least neighbours left (Matula and Beck, 1983)."""
    return reversed(_removed(graph, [len(each) for each in graph], -1))


def incidence_degree(graph: Lists) -> Iterable[int]:
    """Take what has most neighbours that were taken (Coleman and More, 1983)."""
    return _removed(graph, [0] * len(graph), -1)


def _removed(graph: Lists, keys: list[int], change: int) -> list[int]:
    """Return the vertices in the order of keys, which fall by one with each neighbour taken."""
    heap = [(key, v) for v, key in enumerate(keys)]
    heapify(heap)
    done, order = [False] * len(keys), []
    while heap:
        key, v = heappop(heap)
        if done[v] or key != keys[v]:  # it has another key by now
            continue
        done[v] = True
        order.append(v)
        for w in graph[v]:
            if not done[w]:
                keys[w] += change
                heappush(heap, (keys[w], w))
    return order


def saturated(graph: Lists) -> list[int]:
    """Return colours: what sees most different ones is next (DSATUR: Brelaz, 1979)."""
    count = len(graph)
    seen = [0] * count  # the colours of neighbours, as bits
    colours = [-1] * count
    heap = [(0, -len(graph[v]), v) for v in range(count)]
    heapify(heap)
    while heap:
        saturation, _, v = heappop(heap)
        if colours[v] >= 0 or -saturation != seen[v].bit_count():
            continue
        colours[v] = free(seen[v])
        bit = 1 << colours[v]
        for w in graph[v]:
            if colours[w] < 0 and not seen[w] & bit:
                seen[w] |= bit
                heappush(heap, (-seen[w].bit_count(), -len(graph[w]), w))
    return colours


def free(taken: int) -> int:
    """Return the first colour that is not among those taken, which are bits of a number."""
    return (~taken & (taken + 1)).bit_length() - 1


ORDERS: dict[str, Callable[[Lists], Iterable[int]]] = {
    "natural": natural,
    "largest_first": largest_first,
    "smallest_last": smallest_last,
    "incidence_degree": incidence_degree,
}
