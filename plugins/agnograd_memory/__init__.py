"""Measure what graphs keep in memory: when, how much, and which ops' rules need it."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from agnograd.extend import Backend, Uncopied, hookimpl
from agnograd_memory._ledger import Holder, Ledger
from agnograd_memory._sizes import nbytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from agnograd.extend import Call

__all__ = ["Holder", "Memory", "nbytes"]


class _Held:
    """Stands for an array in a graph: it goes when the graph lets the array go."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Any) -> None:
        self.value = value


class Memory(Uncopied):
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
        self._ledger = Ledger()
        self._device: dict[str, dict[str, int]] = {}

    def __repr__(self) -> str:
        return f"<Memory: {self.held:,} bytes held, {self.peak:,} at the peak>"

    def reset(self) -> None:
        """Forget all but what graphs still hold."""
        self._ledger.reset()
        self._device = {}

    @hookimpl
    def forward_postprocess(self, op: Call) -> None:
        """Find the line that called an op."""
        _ = op.location  # reading it keeps it for save_value

    @hookimpl(wrapper=True)
    def save_value(self, op: Call, name: str, value: Any) -> Generator[None, object | None, object]:
        """Count a value that the graph saves, or what another plugin made of it."""
        packed = yield
        if packed is None:
            kept: Any = _Held(value)
            array, size = id(value), nbytes(value)
        else:
            kept = packed
            array, size = id(packed), getattr(packed, "nbytes", nbytes(value))
        try:
            weakref.finalize(kept, self._ledger.free, array).atexit = False
        except TypeError:
            return packed  # nobody can tell when bytes, for example, are let go
        self._ledger.add(array, size, Holder(op.name, name, op.location))
        self._look(op.backend)
        return kept

    @hookimpl
    def restore_value(self, packed: Any) -> Any:
        """Return the value that a stand-in stands for."""
        return packed.value if isinstance(packed, _Held) else None

    @hookimpl
    def backward_postprocess(self, op: Call) -> None:
        """Look at the device's memory, which is fullest in the backward pass."""
        self._look(op.backend)

    def _look(self, backend: Backend) -> None:
        if type(backend).memory is Backend.memory:
            return
        most = self._device.setdefault(backend.name, {})
        for name, size in backend.memory().items():
            most[name] = max(size, most.get(name, 0))

    @property
    def held(self) -> int:
        """The bytes that graphs hold now."""
        return self._ledger.held

    @property
    def peak(self) -> int:
        """The most bytes that graphs have held."""
        return self._ledger.peak

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured, as plain data; sizes are in bytes.

        Returns
        -------
        dict
            ``held``, ``peak``; ``at_peak``, the bytes that each holder had then; ``saved``, how
            many ``values`` and ``bytes`` each has saved in all; ``timeline``, pairs of seconds
            and bytes; ``device``, the largest figures of ``Backend.memory()`` by backend.
        """
        device = {name: dict(most) for name, most in self._device.items()}
        return {**self._ledger.to_dict(), "device": device}

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
