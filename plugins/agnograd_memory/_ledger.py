"""Which arrays graphs hold, who holds them, and how that went over time."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import Any, NamedTuple

from agnograd.extend import Lock

__all__ = ["Holder", "Ledger"]

# Points of the curve over time; when there are more, every other one is left out.
_POINTS = 10_000


class Holder(NamedTuple):
    """What keeps arrays: an op, the name by which its rules know them, and the user's line."""

    op: str
    name: str
    location: str | None


class Ledger:
    """The books: arrays come in by ``add``, and go out by ``free``, once for each use."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._freed: deque[tuple[float, int]] = deque()
        self._arrays: dict[int, tuple[int, int, Holder]] = {}  # uses, bytes, the first holder
        self._held = 0
        self._holders: dict[Holder, int] = {}  # the bytes that each holds now
        self.reset()

    def reset(self) -> None:
        """Forget all but what is held now."""
        with self._lock:
            self._settle()
            self._born = perf_counter()
            self._peak, self._at_peak = self._held, dict(self._holders)
            self._timeline = [(0.0, self._held)]
            self._every, self._changes = 1, 0
            self._saved: dict[Holder, tuple[int, int]] = {}

    def add(self, array: int, size: int, holder: Holder) -> None:
        """Enter one use of an array, by its id."""
        with self._lock:
            self._settle()  # before the id is used again
            uses, _, first = self._arrays.get(array, (0, size, holder))
            self._arrays[array] = uses + 1, size, first
            if not uses:
                count, total = self._saved.get(holder, (0, 0))
                self._saved[holder] = count + 1, total + size
                self._change(perf_counter(), holder, size)

    def free(self, array: int) -> None:
        """Note that one use of an array has ended; it is entered later.

        This may be called at any time, also while this thread has the lock.
        """
        self._freed.append((perf_counter(), array))

    def _settle(self) -> None:
        while self._freed:
            time, array = self._freed.popleft()
            uses, size, holder = self._arrays.pop(array)
            if uses > 1:
                self._arrays[array] = uses - 1, size, holder
            else:
                self._change(time, holder, -size)

    def _change(self, time: float, holder: Holder, size: int) -> None:
        if size < 0 and self._held == self._peak:
            self._at_peak = dict(self._holders)
        self._held += size
        self._holders[holder] = self._holders.get(holder, 0) + size
        if not self._holders[holder]:
            del self._holders[holder]
        self._peak = max(self._peak, self._held)
        self._changes += 1
        if self._changes % self._every == 0:
            self._timeline.append((time - self._born, self._held))
        if len(self._timeline) > _POINTS:
            del self._timeline[1::2]
            self._every *= 2

    def to_dict(self) -> dict[str, Any]:
        """Return what is in the books, as plain data."""
        with self._lock:
            self._settle()
            at_peak = self._holders if self._held == self._peak else self._at_peak
            return {
                "held": self._held,
                "peak": self._peak,
                "at_peak": dict(at_peak),
                "saved": {
                    holder: {"values": count, "bytes": total}
                    for holder, (count, total) in self._saved.items()
                },
                "timeline": list(self._timeline),
            }

    @property
    def held(self) -> int:
        """The bytes that are held now."""
        with self._lock:
            self._settle()
            return self._held

    @property
    def peak(self) -> int:
        """The most bytes that were held."""
        with self._lock:
            return self._peak
