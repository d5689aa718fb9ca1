"""The mean of the ranks' arrays through memory that they share: each takes that of its share.

The elements of all arrays are numbered as if they were joined, and each rank has a share of these
numbers. It hands its elements of the others' shares to these, takes the mean of its own share, and
hands it to all. So no rank sums or reads more than it has to, however many there are.
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

    def take_means(self, parts: Sequence[Any], memory: Any) -> None:
        """Take the means of this rank's share, and write them to their places as well.

        The ranks' arrays are summed in their order.
        """
        everyone, flat = [self._flat(each) for each in parts], self._flat(memory)
        own = self._shares[self._rank]
        both = zip(pieces(self._hosts, *own), pieces(self._results, *own), strict=True)
        for (host, place), (result, _) in both:
            arrays = [each[place] for each in everyone]
            arrays[self._rank] = host
            first, second, *others = arrays
            np.add(first, second, out=result)
            for each in others:
                np.add(result, each, out=result)
            result /= self._size
            np.copyto(flat[place], result)

    def read_means(self, means: Sequence[Any]) -> None:
        """Read the means of the other ranks' shares."""
        for rank, share in enumerate(self._shares):
            if rank != self._rank:
                flat = self._flat(means[rank])
                for result, place in pieces(self._results, *share):
                    np.copyto(result, flat[place])

    def _flat(self, memory: Any) -> Host:
        return np.frombuffer(memory, self._dtype)
