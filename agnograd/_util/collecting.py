"""Python's garbage collector, while many objects are made that stay."""

from __future__ import annotations

import gc
import os

from agnograd._util.locks import Lock
from agnograd._util.switches import switch

# How many times as seldom as usual Python looks for garbage.
GARBAGE_FACTOR = switch("GARBAGE_FACTOR", 100, least=1, most=10**4, module=__name__)


class Seldom:
    """A block in which Python looks for garbage a hundredth as often as usual.

    It looks at new objects after every few hundred that are made, and again and again at all
    objects of the process. If most of what is made stays, this takes a third of the time, and finds
    nothing. The collector stays on, since what runs in the block may make garbage as well.

    All threads of a process have one collector: it is as it was before once none of them is in the
    block any more. If its thresholds were set inside, they stay.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._reset()
        if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
            # Only the thread that forks exists in the child, and it is in no block.
            os.register_at_fork(after_in_child=self._leave)

    def _reset(self) -> None:
        self._inside = 0
        self._usual = self._now = (0, 0, 0)

    def _leave(self) -> None:
        if self._inside and gc.get_threshold() == self._now:
            gc.set_threshold(*self._usual)
        self._reset()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                first, *others = self._usual = gc.get_threshold()
                gc.set_threshold(first * GARBAGE_FACTOR, *others)
                self._now = gc.get_threshold()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._inside > 1:
                self._inside -= 1
            else:
                self._leave()


seldom_collected = Seldom()
