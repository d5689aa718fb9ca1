"""Where each entry of a matrix is found among the products with all colours.

It depends only on the pattern and the colours, and on no algorithm that chose these: a colouring by
which an entry cannot be told from others is an error here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agnograd.errors import SparsityError
from agnograd_sparse._colouring import Colouring, lists
from agnograd_sparse._pattern import Sparsity
from agnograd_sparse._sets import host


class Level(NamedTuple):
    """Entries that are what a product has, less others that are known by then.

    Attributes
    ----------
    places : array
        Where in the products each of them is a part of a sum.
    others : array
        The other parts, by the order in which entries become known.
    of : array
        The entry of this level that each of those belongs to.
    """

    places: Any
    others: Any
    of: Any


class Recovery(NamedTuple):
    """How entries are found among products.

    Attributes
    ----------
    levels : sequence of Level
        What is computed, one level after the other.
    order : array or None
        Of all that is known at the end, which belongs to each entry of the pattern; None if it is
        in their order.
    """

    levels: Sequence[Level]
    order: Any

    def moved(self, function: Callable[[Any], Any]) -> Recovery:
        """Return the same with arrays of integers that a function makes of these."""
        levels = [Level(*[function(part) for part in level]) for level in self.levels]
        return Recovery(levels, None if self.order is None else function(self.order))

    def passes(self, colouring: Colouring, shape: tuple[int, int]) -> Any:
        """Return the number of the pass that each entry is read from; those forward come first."""
        xp, (height, width) = host(), shape
        places = xp.concat([level.places for level in self.levels])
        places = places if self.order is None else xp.take(places, self.order, axis=0)
        first = colouring.forward * height
        reverse = colouring.forward + (places - first) // width
        return xp.where(places < first, places // height, reverse)

    def __call__(self, products: Any, xp: Any) -> Any:
        """Return the entries of the pattern from the products with all colours, in one row."""
        known = xp.take(products, self.levels[0].places, axis=0)
        for level in self.levels[1:]:
            sums = xp.take(products, level.places, axis=0)
            parts = xp.take(known, level.others, axis=0)
            known = xp.concat(
                [known, sums - xp.scatter_add_axis(parts, level.of, axis=0, shape=sums.shape)]
            )
        return known if self.order is None else xp.take(known, self.order, axis=0)


def directly(pattern: Sparsity, colouring: Colouring, symmetric: bool = False) -> Recovery:
    """Return where each entry stands alone: in a product forward, or else in one in reverse.

    The reverse products of a symmetric matrix are those forward.
    """
    xp, rows, columns = host(), pattern.rows, pattern.columns
    height, width = pattern.shape
    of_columns = xp.take(colouring.columns, columns, axis=0)
    of_rows = xp.take(colouring.columns if symmetric else colouring.rows, rows, axis=0)
    forward = of_columns * height + rows
    reverse = of_rows * width + columns
    found = (of_columns >= 0) & _alone(forward)
    also = (of_rows >= 0) & _alone(reverse)
    if not bool(xp.all(found | also)):
        entry = int(xp.argmin(found | also))
        raise SparsityError(
            f"the colouring hides the entry of row {int(rows[entry])} and column "
            f"{int(columns[entry])}: others of its colours are in that row and in that column"
        )
    first = 0 if symmetric else colouring.forward * height
    nothing = xp.zeros(0, dtype=xp.int64)
    return Recovery([Level(xp.where(found, forward, first + reverse), nothing, nothing)], None)


def _alone(keys: Any) -> Any:
    """Return whether each number is there only once."""
    found = host().unique_all(keys)
    return host().take(found.counts, found.inverse_indices, axis=0) == 1


def by_substitution(pattern: Sparsity, colouring: Colouring) -> Recovery:
    """Return how entries of a symmetric matrix follow from each other, after an acyclic colouring.

    In a product, the element of a row is the sum of its entries of that colour. Where all but one
    are known, that one follows, and may be the last one missing in its other row.
    """
    colours = colouring.columns.tolist()
    sums: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, columns in enumerate(lists(pattern)):
        for j in columns:
            sums[i, colours[j]].append((min(i, j), max(i, j)))
    left = {key: len(parts) for key, parts in sums.items()}
    known: dict[tuple[int, int], int] = {}  # by the order in which they become known
    levels = []
    ready = [key for key, count in left.items() if count == 1]
    while ready:
        places: list[int] = []
        others: list[int] = []
        of: list[int] = []
        fresh: dict[tuple[int, int], int] = {}
        for row, colour in ready:
            entry = next((e for e in sums[row, colour] if e not in known), None)
            if entry is None or entry in fresh:
                continue
            parts = [known[e] for e in sums[row, colour] if e != entry]
            fresh[entry] = len(known) + len(fresh)
            of += [len(places)] * len(parts)
            others += parts
            places.append(colour * pattern.shape[0] + row)
        known |= fresh
        ready = []
        for i, j in fresh:
            for key in {(i, colours[j]), (j, colours[i])}:
                left[key] -= 1
                if left[key] == 1:
                    ready.append(key)
        if fresh:
            xp = host()
            levels.append(Level(*[xp.asarray(x, dtype=xp.int64) for x in (places, others, of)]))
    if not levels:
        levels.append(Level(*[host().zeros(0, dtype=host().int64)] * 3))
    return Recovery(levels, _order(pattern, known))


def _order(pattern: Sparsity, known: dict[tuple[int, int], int]) -> Any:
    """Return the number by which each entry, or the one transposed, became known."""
    xp, found = host(), []
    for i, j in zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True):
        number = known.get((min(i, j), max(i, j)))
        if number is None:
            raise SparsityError(f"the colouring has a circle through row {i} and column {j}")
        found.append(number)
    return xp.asarray(found, dtype=xp.int64)
