"""Colourings of symmetric matrices, such as Hessians."""

from __future__ import annotations

from collections.abc import Iterator

from agnograd.errors import ArgumentError
from agnograd_sparse._colouring import ORDER_STEPS, Colouring, grouped, lists
from agnograd_sparse._orders import ORDERS
from agnograd_sparse._pattern import Sparsity
from agnograd_sparse._stars import acyclic, star


def coloured_symmetrically(
    pattern: Sparsity, method: str = "star", order: str = "auto"
) -> Colouring:
    """Return a colouring of the columns of a symmetric matrix, with few colours.

    Parameters
    ----------
    pattern : Sparsity
        The pattern, which must be symmetric.
    method : {"star", "acyclic"}
        Whether each entry can be read from one product, or computed from several.
    order : str
        The order in which the columns are taken, as for ``coloured``.
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
