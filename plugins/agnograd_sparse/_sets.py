"""Sets of indices, one for each element of an array, as two arrays of integers on the host.

They are lists of rows as in the format CSR: those of element ``i`` are
``members[starts[i] : starts[i + 1]]``. All that is done with them is done for all elements at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from agnograd.extend import domain_named

Shape = tuple[int, ...]


def host() -> Any:
    """Return the namespace that patterns are computed with: NumPy's, which is always installed."""
    return domain_named("numpy").library


def numbered(shape: Shape, first: int = 0) -> Any:
    """Return an array of a shape with its elements' places, counted in row-major order."""
    xp = host()
    return xp.reshape(xp.arange(first, first + prod(shape)), shape)


class Sets:
    """A set of indices for each of some elements.

    Parameters
    ----------
    starts : array, shape (elements + 1,)
        Where the set of each element begins, and where the last one ends.
    members : array
        The indices in all sets, those of each set in ascending order.
    """

    __slots__ = ("members", "starts")

    def __init__(self, starts: Any, members: Any) -> None:
        self.starts, self.members = starts, members

    @classmethod
    def own(cls, count: int, first: int = 0) -> Sets:
        """Return sets of one index each: that of the element, counted from the first one."""
        xp = host()
        return cls(xp.arange(count + 1), xp.arange(first, first + count))

    @classmethod
    def empty(cls, count: int) -> Sets:
        """Return sets without any index."""
        xp = host()
        return cls(xp.zeros(count + 1, dtype=xp.int64), xp.zeros(0, dtype=xp.int64))

    @classmethod
    def of_pairs(cls, elements: Any, members: Any, count: int) -> Sets:
        """Return the sets that some pairs of an element and an index make, in any order."""
        xp = host()
        width = int(xp.max(members)) + 1 if members.shape[0] else 1
        keys = xp.sort(elements * width + members)
        keys = keys[xp.concat([keys[:1] == keys[:1], keys[1:] != keys[:-1]])]
        starts = xp.searchsorted(keys, xp.arange(count + 1) * width)
        return cls(starts, keys % width)

    @property
    def count(self) -> int:
        """The number of elements."""
        return int(self.starts.shape[0]) - 1

    @property
    def lengths(self) -> Any:
        """How many indices each set has."""
        return self.starts[1:] - self.starts[:-1]

    @property
    def elements(self) -> Any:
        """The element that each of the members belongs to."""
        xp = host()
        return xp.repeat(xp.arange(self.count), self.lengths)

    def taken(self, places: Any) -> Sets:
        """Return the sets of the elements at some places; that of a negative place is empty."""
        xp = host()
        nothing = xp.zeros(1, dtype=xp.int64)
        places = xp.where(places < 0, self.count, places)  # one more, without members
        lengths = xp.take(xp.concat([self.lengths, nothing]), places, axis=0)
        starts = xp.concat([nothing, xp.cumulative_sum(lengths)])
        # How far each member lies behind where it was.
        moved = xp.take(self.starts, places, axis=0) - starts[:-1]
        found = xp.arange(int(starts[-1])) + xp.repeat(moved, lengths)
        return Sets(starts, xp.take(self.members, found, axis=0))

    def grouped(self, groups: Any, count: int) -> Sets:
        """Return the union of the sets in each group; elements of negative groups are left out."""
        xp = host()
        of_members = xp.repeat(groups, self.lengths)
        members = self.members
        if groups.shape[0] and int(xp.min(groups)) < 0:
            there = of_members >= 0
            of_members, members = of_members[there], members[there]
        return Sets.of_pairs(of_members, members, count)

    def spread(self, shape: Shape, wanted: Shape) -> Sets:
        """Return the sets of an array of a shape as those of what it is broadcast to."""
        if shape == wanted:
            return self
        xp = host()
        return self.taken(xp.reshape(xp.broadcast_to(numbered(shape), wanted), (-1,)))


def union(parts: Sequence[Sets]) -> Sets:
    """Return, for each element, the union of its sets in all parts."""
    different = list({id(part): part for part in parts}.values())
    if len(different) == 1:
        return different[0]
    xp = host()
    elements = xp.concat([part.elements for part in different])
    members = xp.concat([part.members for part in different])
    return Sets.of_pairs(elements, members, different[0].count)


def joined(parts: Sequence[Sets]) -> Sets:
    """Return the sets of the elements of all parts, one part after the other."""
    xp = host()
    starts, last = [xp.zeros(1, dtype=xp.int64)], 0
    for part in parts:
        starts.append(part.starts[1:] + last)
        last += int(part.starts[-1])
    return Sets(xp.concat(starts), xp.concat([part.members for part in parts]))
