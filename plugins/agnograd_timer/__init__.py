"""Measure how long each op takes, forward and backward, and each backward pass."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from agnograd.extend import hookimpl
from agnograd_timer._running import Running, clock_of
from agnograd_timer._totals import as_tables, events_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from agnograd.extend import Call

__all__ = ["Timer"]


class _Threads(threading.local):
    """One thread's ``Running``, which joins those of all threads when it is made."""

    def __init__(self, all_of_them: list[Running], kept: int) -> None:
        self.running = Running(kept)
        all_of_them.append(self.running)


class Timer:
    """Add up the time of each op, forward and backward apart, and of backward passes.

    Each time is an op's own: ops that run inside of it (those of a rule, when the pass is
    recorded) count for themselves. The time of a pass is all from its start to its end, but for
    passes inside of it, which count for themselves too. Failed calls count. One timer may be
    active in many threads at once: their times add up. On a device that has a clock of its own
    (``Backend.mark``) it is what the device computed that is timed, not its launch.

    Parameters
    ----------
    events : int
        How many ops and passes of each thread to keep one by one, for ``trace``: the latest ones.

    Examples
    --------
    >>> import agnograd as ag
    >>> with ag.hooks("timer") as (timer,):
    ...     gradient = ag.grad(lambda x: x * x * x)(3.0)
    >>> timer.to_dict()["backward"]["multiply"]["calls"]
    2
    """

    def __init__(self, *, events: int = 100_000) -> None:
        self._kept = events
        self._all: list[Running] = []
        self._threads = _Threads(self._all, events)

    def reset(self) -> None:
        """Forget all that was measured; what still runs counts when it ends."""
        for running in list(self._all):
            running.reset()

    # A hook that starts a span runs after those of other plugins, one that ends it before them.

    @hookimpl(trylast=True)
    def forward_preprocess(self, op: Call) -> None:
        """Start to measure an op."""
        self._threads.running.start(op, clock_of(op))

    @hookimpl(tryfirst=True)
    def forward_postprocess(self, op: Call, inputs: Iterable[Any]) -> None:
        """Note an op's time."""
        self._threads.running.stop(op, "forward", op.name, inputs)

    @hookimpl(trylast=True)
    def backward_preprocess(self, op: Call) -> None:
        """Start to measure an op's rule."""
        clock = clock_of(op)
        running = self._threads.running
        if clock is not None:
            running.on_device(clock)
        running.start(op, clock)

    @hookimpl(tryfirst=True)
    def backward_postprocess(self, op: Call, grad_outputs: Iterable[Any]) -> None:
        """Note the time of an op's rule."""
        self._threads.running.stop(op, "backward", op.name, grad_outputs)

    @hookimpl(trylast=True)
    def backward_start(self, outputs: Any) -> None:
        """Start to measure a pass."""
        self._threads.running.start(outputs, None)

    @hookimpl(tryfirst=True)
    def backward_finish(self, outputs: Any) -> None:
        """Note a pass's time."""
        self._threads.running.stop(outputs, "passes", "backward pass", outputs)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return what was measured, as plain data; times are in seconds.

        Returns
        -------
        dict
            ``forward`` and ``backward`` have a row for each op, with its ``calls``, ``seconds``,
            and the same two for each of the ``shapes`` of its inputs (backward: of the gradients
            of its outputs). ``passes`` is one row. ``preparation``, in the rows of ``backward``
            and in ``passes``, is the time around rules: before those of this op, and in all.
        """
        for running in list(self._all):
            running.settle()
        return as_tables(
            row
            for running in list(self._all)
            for rows in (running.rows, running.late)
            for row in list(rows.values())
        )

    def summary(self) -> str:
        """Return what was measured as a table, the longest total first.

        Shares are of the time of all ops together.
        """
        from agnograd_timer._report import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> Table:
        """Return the table for ``rich.print``."""
        from agnograd_timer._report import table

        return table(self.to_dict())

    def trace(self, path: str | PathLike[str]) -> None:
        """Write the latest ops and passes to a file for Perfetto or ``chrome://tracing``."""
        from agnograd_timer._report import write_trace

        events = [
            (running.thread, event)
            for running in list(self._all)
            for event in events_of(list(running.latest))
        ]
        write_trace(path, events)

    def plot(self, top: int = 12) -> Figure:
        """Return a bar chart of the ops that took longest, a figure of matplotlib."""
        from agnograd_timer._report import chart

        return chart(self.to_dict(), top)
