"""The mean of the ranks' arrays through memory that they share: each rank sums a share of it.

The elements of all arrays are numbered as if they were joined, and each rank has a share of these
numbers. It hands its elements of the others' shares to these, sums those of its own share, and
hands the sums to all. So no rank sums or reads more than it has to, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from agnograd_distributed.kernels.host import Host, pieces

__all__ = ["Shares"]


class Shares:
    """Arrays of one rank, and those that get the means; see ``Communicator._mean``."""

    def __init__(
        self, hosts: Sequence[Host], results: Sequence[Host], rank: int, size: int
    ) -> None:
        self._hosts, self._results, self._rank, self._size = hosts, results, rank, size
        self._dtype = results[0].dtype
        length = sum(each.size for each in results)
        self._shares = [*pairwise(length * each // size for each in range(size + 1))]
        self.nbytes = length * self._dtype.itemsize

    def write_parts(self, memory: Any) -> None:
        """Write the elements of other ranks' shares, each to its place in shared memory."""
        flat = self._flat(memory)
        for rank, share in enumerate(self._shares):
            if rank != self._rank:
                for part, place in pieces(self._hosts, *share):
                    np.copyto(flat[place], part)

    def write_sums(self, parts: Sequence[Any], memory: Any) -> None:
        """Write the sums of the elements of this rank's share, in the order of ranks.

        Their means are made at once, while the sums are in the cache.
        """
        everyone, flat = [self._flat(each) for each in parts], self._flat(memory)
        share = self._shares[self._rank]
        both = zip(pieces(self._hosts, *share), pieces(self._results, *share), strict=True)
        for (own, place), (result, _) in both:
            arrays = [each[place] for each in everyone]
            arrays[self._rank] = own
            first, second, *others = arrays
            total = np.add(first, second, out=flat[place])
            for each in others:
                np.add(total, each, out=total)
            np.divide(total, self._size, out=result)

    def read_means(self, sums: Sequence[Any]) -> None:
        """Read the sums of the other shares, and make means of them.

        All ranks divide the same sums, which takes no longer than to copy them.
        """
        for rank, (share, memory) in enumerate(zip(self._shares, sums, strict=True)):
            if rank != self._rank:
                flat = self._flat(memory)
                for result, place in pieces(self._results, *share):
                    np.divide(flat[place], self._size, out=result)

    def _flat(self, memory: Any) -> Host:
        return np.frombuffer(memory, self._dtype)
