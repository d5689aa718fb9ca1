"""Measure what graphs keep in memory: when, how much, and which ops' rules need it."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Generator
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from agnograd.extend import Backend, hookimpl
from agnograd_memory._sizes import nbytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from agnograd.extend import Call

__all__ = ["Holder", "Memory", "nbytes"]

# Points of the curve over time; when there are more, every other one is left out.
_POINTS = 10_000


class Holder(NamedTuple):
    """What keeps arrays: an op, the name by which its rules know them, and the user's line."""

    op: str
    name: str
    location: str | None


class _Held:
    """Stands for an array in a graph: it goes when the graph lets the array go."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Any) -> None:
        self.value = value


class Memory:
    """Add up the bytes that graphs save, from each op's forward until the graph is freed.

    An array that several ops save counts once, for the first of them. What another plugin packs
    counts as what it packed it into, if that says its ``nbytes``. One instance may be active in
    several threads.

    Attributes
    ----------
    held : int
        The bytes that graphs hold now.
    peak : int
        The most that they have held.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> with ag.hooks("memory") as (memory,):
    ...     y = xp.sum(xp.exp(ag.Variable([0.0] * 100)))
    >>> memory.held  # what exp returned, which is its derivative
    800
    >>> y.backward()
    >>> memory.held, memory.peak
    (0, 800)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._freed: deque[tuple[float, int]] = deque()  # when, and what: see _free
        self._arrays: dict[int, tuple[int, int, Holder]] = {}  # uses, bytes, the first holder
        self._held = 0
        self._holders: dict[Holder, int] = {}  # the bytes that each holds now
        self.reset()

    def reset(self) -> None:
        """Forget all but what graphs still hold."""
        with self._lock:
            self._settle()
            self._born = perf_counter()
            self._peak, self._at_peak = self._held, dict(self._holders)
            self._timeline = [(0.0, self._held)]
            self._every, self._changes = 1, 0
            self._saved: dict[Holder, tuple[int, int]] = {}
            self._device: dict[str, dict[str, int]] = {}

    @hookimpl
    def forward_postprocess(self, op: Call) -> None:
        """Find the line that called an op."""
        _ = op.location  # reading it keeps it for save_value

    @hookimpl(wrapper=True)
    def save_value(self, op: Call, name: str, value: Any) -> Generator[None, object | None, object]:
        """Count a value that the graph saves, or what another plugin made of it."""
        packed = yield
        size = nbytes(value) if packed is None else getattr(packed, "nbytes", nbytes(value))
        kept = _Held(value) if packed is None else packed
        array = id(value if packed is None else packed)
        holder = Holder(op.name, name, op.location)
        with self._lock:
            self._settle()  # before an id is used again
            uses, _, first = self._arrays.get(array, (0, size, holder))
            self._arrays[array] = uses + 1, size, first
            if not uses:
                count, total = self._saved.get(holder, (0, 0))
                self._saved[holder] = count + 1, total + size
                self._change(perf_counter(), holder, size)
        # No lock there: it may be called at any time, also while this thread has the lock.
        weakref.finalize(kept, self._free, array).atexit = False
        self._look(op.domain.backend)
        return kept

    @hookimpl
    def restore_value(self, packed: Any) -> Any:
        """Return the value that a stand-in stands for."""
        return packed.value if isinstance(packed, _Held) else None

    @hookimpl
    def backward_postprocess(self, op: Call) -> None:
        """Look at the device's memory, which is fullest in the backward pass."""
        self._look(op.domain.backend)

    def _free(self, array: int) -> None:
        self._freed.append((perf_counter(), array))

    def _settle(self) -> None:
        """Take in what graphs have let go."""
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

    def _look(self, backend: Backend) -> None:
        if type(backend).memory is Backend.memory:
            return
        figures = backend.memory()
        with self._lock:
            most = self._device.setdefault(backend.name, {})
            for name, size in figures.items():
                most[name] = max(size, most.get(name, 0))

    @property
    def held(self) -> int:
        """The bytes that graphs hold now."""
        with self._lock:
            self._settle()
            return self._held

    @property
    def peak(self) -> int:
        """The most bytes that graphs have held."""
        with self._lock:
            return self._peak

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured, as plain data; sizes are in bytes.

        Returns
        -------
        dict
            ``held``, ``peak``; ``at_peak``, the bytes that each holder had then; ``saved``, how
            many ``values`` and ``bytes`` each has saved in all; ``timeline``, pairs of seconds
            and bytes; ``device``, the largest figures of ``Backend.memory()`` by backend.
        """
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
                "device": {name: dict(most) for name, most in self._device.items()},
            }

    def summary(self) -> str:
        """Return what was measured as a table, what held most at the peak first."""
        from agnograd_memory._report import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> Table:
        """Return the table for ``rich.print``."""
        from agnograd_memory._report import table

        return table(self.to_dict())

    def plot(self) -> Figure:
        """Return the bytes over time, and the holders at the peak, as a figure of matplotlib."""
        from agnograd_memory._report import chart

        return chart(self.to_dict())
