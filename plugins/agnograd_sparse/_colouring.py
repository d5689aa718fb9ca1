"""Colourings: which columns, or rows, of a sparse matrix are computed in one pass.

Columns that share no row may have one colour: a product with the sum of their unit vectors has the
entries of all of them, each in a row of its own (Curtis, Powell and Reid, 1974). The survey is
Gebremedhin, Manne and Pothen, "What color is your Jacobian?", 2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from agnograd.extend import switch
from agnograd_sparse._orders import ORDERS, Lists, free, neighbours, saturated
from agnograd_sparse._pattern import Sparsity
from agnograd_sparse._sets import host

# The most steps between neighbours for which orders that need them are tried unasked.
ORDER_STEPS = switch("ORDER_STEPS", 2**24, least=0, most=2**62, module=__name__)
# How many ways to leave dense rows, or columns, to the other direction are tried.
SPLITS_TRIED = switch("SPLITS_TRIED", 3, least=1, most=64, module=__name__)
# How many numbers of entries are looked at from which on a row may be dense: few rows are.
LIMITS_TRIED = switch("LIMITS_TRIED", 64, least=1, most=2**16, module=__name__)


class Colouring(NamedTuple):
    """The pass in which each row and each column of a matrix is computed.

    Attributes
    ----------
    columns : array
        The colour of each column, and -1 for those that are in no pass forward.
    rows : array
        The colour of each row, and -1 for those that are in no pass in reverse.
    forward, reverse : int
        The numbers of passes.
    """

    columns: Any
    rows: Any
    forward: int
    reverse: int

    def __repr__(self) -> str:
        return f"<colouring of {self.forward} passes forward and {self.reverse} in reverse>"

    @property
    def passes(self) -> int:
        """The number of all passes."""
        return self.forward + self.reverse

    @classmethod
    def of(cls, columns: Sequence[int], rows: Sequence[int]) -> Colouring:
        """Return the colouring of lists of colours."""
        xp = host()
        of_columns, of_rows = (xp.asarray(each, dtype=xp.int64) for each in (columns, rows))
        return cls(of_columns, of_rows, max(columns, default=-1) + 1, max(rows, default=-1) + 1)

    @property
    def turned(self) -> Colouring:
        """The colouring of the transposed matrix."""
        return Colouring(self.rows, self.columns, self.reverse, self.forward)


def coloured(pattern: Sparsity, direction: str = "auto", order: str = "auto") -> Colouring:
    """Return a colouring of the columns, of the rows, or of some of both, with few passes.

    Parameters
    ----------
    pattern : Sparsity
        The pattern of the matrix.
    direction : {"auto", "forward", "reverse", "both"}
        "forward" colours columns, "reverse" rows, and "both" some rows and some columns. "auto"
        takes what needs least passes.
    order : str
        The order in which they are taken, one of ``ORDERS`` or "saturation". "auto" tries several,
        and keeps the best.
    """
    turned = pattern.T
    sides = {"forward": [pattern], "reverse": [turned], "both": [], "auto": [turned, pattern]}
    split = [pattern, turned] if direction in ("auto", "both") else []
    columns = sides[direction]
    if direction == "auto" and turned == pattern:  # then one of the two is enough
        columns, split = columns[:1], split[:1]
    ways: list[tuple[int, Sparsity, int | None]] = [
        (_longest(each), each, None) for each in columns
    ]
    ways += [(least, each, limit) for each in split for least, limit in _splits(each)]
    if not ways:  # all rows, and all columns, have as many entries
        return coloured(pattern, "auto", order)
    best = None
    # Of two with as many passes the first, so that few go forward, which take longer.
    for least, each, limit in sorted(ways, key=lambda way: way[0]):
        if best is None or least < best.passes:
            found = _of_columns(each, order) if limit is None else _split(each, limit, order)
            found = found.turned if each is turned else found
            best = found if best is None or found.passes < best.passes else best
    assert best is not None
    return best


def _of_columns(pattern: Sparsity, order: str) -> Colouring:
    colours = grouped(lists(pattern.T), lists(pattern), order)
    return Colouring.of(colours, [-1] * pattern.shape[0])


def lists(pattern: Sparsity) -> list[list[int]]:
    """Return the columns of the entries of each row."""
    starts, columns = pattern.starts.tolist(), pattern.columns.tolist()
    return [columns[start:stop] for start, stop in pairwise(starts)]


def grouped(lines: Lists, vertices: Lists, order: str = "auto") -> list[int]:
    """Return colours of vertices: those that share a line differ. What has no lines has none.

    ``lines[v]`` are those of a vertex, and ``vertices[i]`` those of a line.
    """
    least = max(map(len, vertices), default=0)  # all of a line differ
    best: list[int] = []
    for colours in _tried(lines, vertices, order):
        if not best or max(colours, default=-1) < max(best):
            best = colours
        if max(best, default=-1) + 1 <= least:
            break
    return best


def _tried(lines: Lists, vertices: Lists, order: str) -> Iterator[list[int]]:
    """Yield a colouring by each order that is tried."""
    if order in ("auto", "natural"):
        yield greedy(lines, len(vertices), range(len(lines)))
    if order == "natural" or (
        order == "auto" and sum(len(each) ** 2 for each in vertices) > ORDER_STEPS
    ):
        return
    graph = neighbours(lines, vertices)
    if order in ("auto", "saturation"):
        yield [c if own else -1 for c, own in zip(saturated(graph), lines, strict=True)]
    for name, ordered in ORDERS.items():
        if name == order or (order == "auto" and name != "natural"):
            yield greedy(lines, len(vertices), ordered(graph))


def greedy(lines: Lists, count: int, order: Any) -> list[int]:
    """Give each vertex, one after the other, the first colour that none of its lines has.

    The colours of a line are the bits of a number: so it takes as many steps as there are entries.
    """
    taken, colours = [0] * count, [-1] * len(lines)
    for v in order:
        own = lines[v]
        if not own:
            continue
        seen = 0
        for i in own:
            seen |= taken[i]
        colours[v] = free(seen)
        bit = 1 << colours[v]
        for i in own:
            taken[i] |= bit
    return colours


def _longest(pattern: Sparsity) -> int:
    """Return the least number of colours for columns: all of the longest row differ."""
    return max(int(host().max(pattern.starts[1:] - pattern.starts[:-1])), 0) if pattern.count else 0


def _splits(pattern: Sparsity) -> list[tuple[int, int]]:
    """Return how many entries the rows may have that are not left to reverse passes.

    The least number of passes comes with each, by which the most promising ones are chosen: in
    either part the longest line has no fewer entries.
    """
    xp = host()
    rows, lengths = pattern.rows, pattern.starts[1:] - pattern.starts[:-1]
    limits = sorted({*lengths.tolist()})[:-1]
    found = []
    for limit in limits[-LIMITS_TRIED:]:  # the rows that are left are dense
        left = pattern.columns[xp.take(lengths, rows, axis=0) > limit]
        found.append((limit + int(xp.max(xp.bincount(left))), limit))
    return sorted(found)[:SPLITS_TRIED]


def _split(pattern: Sparsity, limit: int, order: str) -> Colouring:
    """Return a colouring in which rows of more entries are left to reverse passes."""
    dense = host().take(pattern.starts[1:] - pattern.starts[:-1], pattern.rows, axis=0) > limit
    by_rows, by_columns = (
        Sparsity.of_pairs(pattern.rows[kept], pattern.columns[kept], pattern.shape)
        for kept in (dense, ~dense)
    )
    reverse = grouped(lists(by_rows), lists(by_rows.T), order)
    forward = grouped(lists(by_columns.T), lists(by_columns), order)
    return Colouring.of(forward, reverse)
