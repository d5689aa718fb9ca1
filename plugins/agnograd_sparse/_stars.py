"""Star and acyclic colourings of symmetric matrices, which need fewer colours than their columns.

An entry that two columns of one colour hide in a row may be read in the transposed place. Both
algorithms are those of Gebremedhin, Tarafdar, Manne and Pothen, "New acyclic and star coloring
algorithms with application to computing Hessians", 2007: no two colours meet on a path of four
vertices (star: each entry can be read), or on a circle (acyclic: it can be computed from others).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agnograd.errors import ArgumentError
from agnograd_sparse._colouring import ORDER_STEPS, Colouring, grouped, lists
from agnograd_sparse._orders import ORDERS, Lists
from agnograd_sparse._pattern import Sparsity

_NONE = (-1, -1)


def coloured_symmetrically(
    pattern: Sparsity, method: str = "star", order: str = "auto"
) -> Colouring:
    """Return a colouring of the columns of a symmetric matrix, with few colours.

    By the method "star" each entry can be read from one product, and by "acyclic" computed from
    several. The order is one of those of ``coloured``.
    """
    if pattern.shape[0] != pattern.shape[1] or pattern != pattern.T:
        raise ArgumentError("the pattern of a Hessian is symmetric, and this one is not")
    found = min(_tried(pattern, method, order), key=lambda colours: max(colours, default=-1))
    return Colouring.of(found, [-1] * pattern.shape[0])


def _tried(pattern: Sparsity, method: str, order: str) -> Iterator[list[int]]:
    """Yield a colouring by each order that is tried."""
    rows = lists(pattern)
    graph = [[w for w in row if w != v] for v, row in enumerate(rows)]
    colour = star if method == "star" else acyclic
    steps = sum(len(graph[w]) for own in graph for w in own)
    for name, ordered in ORDERS.items():
        wanted = "incidence_degree" if order == "saturation" else order
        if name == wanted or (
            order == "auto" and (steps <= ORDER_STEPS or name == "largest_first")
        ):
            yield colour(graph, ordered(graph))
    if order in ("auto", "saturation") and steps <= ORDER_STEPS:
        # Columns that share no row are a star colouring, too, and this order is not for graphs.
        found = grouped(rows, rows, "saturation")
        yield [max(each, 0) for each in found]


class _Edges:
    """The edges of a graph by their ends, in sets that are joined."""

    def __init__(self, graph: Lists) -> None:
        self.numbers: list[dict[int, int]] = [{} for _ in graph]
        count = 0
        for v, others in enumerate(graph):
            for w in others:
                if v < w:
                    self.numbers[v][w] = self.numbers[w][v] = count
                    count += 1
        self.count = count
        self.parents = list(range(count))

    def root(self, v: int, w: int) -> int:
        """Return what stands for the set of an edge."""
        parents, at = self.parents, self.numbers[v][w]
        while parents[at] != at:
            parents[at] = at = parents[parents[at]]
        return at

    def join(self, one: tuple[int, int], other: tuple[int, int]) -> None:
        """Join the sets of two edges."""
        self.parents[self.root(*one)] = self.root(*other)


def star(graph: Lists, order: Iterable[int]) -> list[int]:
    """Return a star colouring of a graph, given by the neighbours of each vertex."""
    count = len(graph)
    edges = _Edges(graph)
    stars, hubs = [-1] * edges.count, [-1] * edges.count  # of an edge; -1 is of a single edge
    colours, treated = [-1] * count, [-1] * count
    forbidden = [-1] * (count + 1)  # the last vertex that may not have each colour
    first = [_NONE] * (count + 1)  # the first neighbour of each colour, for the last vertex

    def treat(v: int, w: int) -> None:
        """Forbid the colours around a neighbour: v will be the hub of a star with it."""
        for x in graph[w]:
            if x != v and colours[x] >= 0:
                forbidden[colours[x]] = v
        treated[w] = v

    for v in order:
        for w in graph[v]:
            colour = colours[w]
            if colour < 0:
                continue
            forbidden[colour] = v
            p, q = first[colour]
            if p == v:
                if treated[q] != v:
                    treat(v, q)
                treat(v, w)
                continue
            first[colour] = (v, w)
            for x in graph[w]:
                if x != v and colours[x] >= 0 and hubs[stars[edges.numbers[w][x]]] == x:
                    forbidden[colours[x]] = v
        colours[v] = next(c for c in range(count + 1) if forbidden[c] != v)
        _update_stars(graph, v, colours, edges, stars, hubs, first)
    return colours


def _update_stars(
    graph: Lists,
    v: int,
    colours: list[int],
    edges: _Edges,
    stars: list[int],
    hubs: list[int],
    first: list[tuple[int, int]],
) -> None:
    """Put the edges of a vertex that got its colour into stars."""
    for w in graph[v]:
        if colours[w] < 0:
            continue
        edge = edges.numbers[v][w]
        beside = next((x for x in graph[w] if x != v and colours[x] == colours[v]), None)
        p, q = first[colours[w]]
        if beside is not None:  # w has two neighbours of this colour
            stars[edge] = stars[edges.numbers[w][beside]]
            hubs[stars[edge]] = w
        elif p == v and q != w:  # v has two neighbours of that colour
            stars[edge] = stars[edges.numbers[v][q]]
            hubs[stars[edge]] = v
        else:
            stars[edge] = edge


def acyclic(graph: Lists, order: Iterable[int]) -> list[int]:
    """Return an acyclic colouring of a graph, given by the neighbours of each vertex."""
    count = len(graph)
    edges = _Edges(graph)
    colours = [-1] * count
    forbidden = [-1] * (count + 1)
    visits = [_NONE] * edges.count  # by which edge a tree was first met, of the last vertex
    for v in order:
        known = [w for w in graph[v] if colours[w] >= 0]
        for w in known:
            forbidden[colours[w]] = v
        for w in known:
            for x in graph[w]:
                if x == v or colours[x] < 0 or forbidden[colours[x]] == v:
                    continue
                tree = edges.root(w, x)
                p, q = visits[tree]
                if p != v:
                    visits[tree] = (v, w)
                elif q != w:  # a second way to the same tree would close a circle
                    forbidden[colours[x]] = v
        colours[v] = next(c for c in range(count + 1) if forbidden[c] != v)
        _grow_trees(graph, v, known, colours, edges)
    return colours


def _grow_trees(graph: Lists, v: int, known: list[int], colours: list[int], edges: _Edges) -> None:
    """Join the edges of a vertex that got its colour to the trees of two colours around it."""
    of_colour: dict[int, int] = {}
    for w in known:
        beside = of_colour.setdefault(colours[w], w)
        if beside != w:
            edges.join((v, w), (v, beside))
    for w in known:
        for x in graph[w]:
            if x != v and colours[x] == colours[v]:
                edges.join((v, w), (w, x))
