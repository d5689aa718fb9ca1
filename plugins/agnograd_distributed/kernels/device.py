"""Collectives of arrays where they are, for libraries that communicate between devices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from agnograd.extend import backend_of, device_of
from agnograd_distributed._communicator import Communicator

__all__ = ["OnDevice"]


class OnDevice(Communicator):
    """A communicator whose collectives take some arrays where they are, without host memory.

    A subclass says in ``_takes`` which arrays these are, and provides ``_collective``. All others
    go through host memory, and so do messages from one rank to another.
    """

    def _takes(self, array: Any) -> bool:
        """Return whether the library communicates an array where it is."""
        raise NotImplementedError

    def _collective(self, name: str, source: Any, result: Any, root: int) -> None:
        """Write a collective's result to an array; ``root`` is the rank that ``broadcast`` sends.

        Raises
        ------
        CommunicationError
            If a rank fails, or the collective does not end within the timeout.
        """
        raise NotImplementedError

    def all_sum(self, array: Any) -> Any:
        """Return the sum of the ranks' arrays, all of one shape and dtype."""
        if not self._takes(array):
            return super().all_sum(array)
        return self._where_it_is("all_sum", array, array.shape)

    def all_gather(self, array: Any) -> Any:
        """Return the ranks' arrays, all of one shape, one after the other along the first axis."""
        if not array.ndim or not self._takes(array):
            return super().all_gather(array)
        return self._where_it_is(
            "all_gather", array, (self.size * array.shape[0], *array.shape[1:])
        )

    def reduce_scatter(self, array: Any) -> Any:
        """Return this rank's part, along the first axis, of the sum of the ranks' arrays."""
        if not self._takes(array):
            return super().reduce_scatter(array)
        part = self._part(array, "reduce_scatter")
        return self._where_it_is(
            "reduce_scatter", array, (part.stop - part.start, *array.shape[1:])
        )

    def all_to_all(self, array: Any) -> Any:
        """Return this rank's parts, along the first axis, of the ranks' arrays, one after another.

        What rank ``r`` gets as its part ``s`` is the part ``r`` of rank ``s``.
        """
        if not self._takes(array):
            return super().all_to_all(array)
        self._part(array, "all_to_all")
        return self._where_it_is("all_to_all", array, array.shape)

    def broadcast(self, array: Any, root: int = 0) -> Any:
        """Return the array of the rank ``root``; others pass one of the same shape and dtype."""
        if not self._takes(array):
            return super().broadcast(array, root)
        self.check_rank("broadcast", root)
        return self._where_it_is("broadcast", array, array.shape, root)

    def _where_it_is(self, name: str, array: Any, shape: Sequence[int], root: int = 0) -> Any:
        """Return a collective's result; a short message before it names a rank that is late."""
        self._check_unread()
        sent = f" from {root}" if name == "broadcast" else ""
        self._gather(f"{name}{sent} of {array.dtype} and shape {tuple(array.shape)}", b"")
        xp = backend_of(array).namespace()
        result = xp.empty(tuple(shape), dtype=array.dtype, device=device_of(array))
        if 0 not in array.shape:
            self._collective(name, array, result, root)
        return result

    def _until(self, condition: Callable[[], bool], check: Callable[[], object]) -> bool:
        """Return whether a condition came to hold before the timeout; ``check`` may raise."""
        deadline, pause = time.monotonic() + self.timeout, 0.0
        while not condition():
            if time.monotonic() > deadline:
                return False
            check()
            time.sleep(pause)
            pause = min(pause + 1e-5, 1e-3)
        return True
