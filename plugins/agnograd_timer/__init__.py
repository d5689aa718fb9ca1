"""Measure how long each op takes, forward and backward, and each backward pass."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

from agnograd.extend import Uncopied, hookimpl
from agnograd_timer._running import Running
from agnograd_timer._totals import as_tables

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


class Timer(Uncopied):
    """Add up the time of each op, forward and backward apart, and of backward passes.

    Each time is an op's own: ops that run inside it (those of a rule, when the pass is
    recorded) count for themselves. The time of a pass is all from its start to its end, but for
    passes inside it, which count for themselves too. Failed calls count. One timer may be
    active in many threads at once: their times add up. On a device that has a clock of its own
    (``Backend.mark``) it is what the device computed that is timed, not its launch.

    Parameters
    ----------
    events : int
        How many ops and passes of each thread ``trace`` writes: the latest ones.

    Examples
    --------
    >>> import agnograd as ag
    >>> with ag.hooks("timer") as (timer,):
    ...     gradient = ag.grad(lambda x: x * x * x)(3.0)
    >>> timer.to_dict()["backward"]["multiply"]["calls"]
    2
    """

    def __init__(self, *, events: int = 10_000) -> None:
        _check_events(events)
        self._kept = events
        self._all: list[Running] = []
        self._threads = _Threads(self._all, events)

    def reset(self) -> None:
        """Forget all that was measured; what still runs counts when it ends."""
        for running in list(self._all):
            running.reset()

    @hookimpl
    def forward_postprocess(self, kind: Call, inputs: Sequence[Any], start: Any, stop: Any) -> None:
        """Note an op's time."""
        running = self._threads.running
        key = "forward", kind.name, tuple([getattr(array, "shape", ()) for array in inputs])
        if type(start) is float:
            running.host.add(key, start, stop)
        else:
            running.on_device(kind.backend, key, start, stop)

    @hookimpl
    def backward_postprocess(
        self, kind: Call, grad_outputs: Sequence[Any], start: Any, stop: Any
    ) -> None:
        """Note the time of an op's rule."""
        running = self._threads.running
        key = "backward", kind.name, tuple([getattr(array, "shape", ()) for array in grad_outputs])
        if type(start) is float:
            running.host.add(key, start, stop)
        else:
            running.on_device(kind.backend, key, start, stop)

    @hookimpl(trylast=True)
    def backward_start(self, outputs: Any) -> None:
        """Note that a pass begins."""
        self._threads.running.begin_pass(outputs)

    @hookimpl(tryfirst=True)
    def backward_finish(self, outputs: Any) -> None:
        """Note that a pass ended."""
        self._threads.running.end_pass(outputs)

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
        return as_tables(
            row
            for running in list(self._all)
            for _, timeline in running.timelines()
            for row in list(timeline.rows.values())
        )

    def summary(self) -> str:
        """Return what was measured as a table, the longest total first.

        Shares are of the time of all ops together.
        """
        from agnograd_timer._report import as_text

        return as_text(self.to_dict())

    def __rich__(self) -> Table:
        """Return the table for ``rich.print``."""
        from agnograd_timer._report import as_table

        return as_table(self.to_dict())

    def trace(self, path: str | PathLike[str], *others: Any) -> None:
        """Write the latest ops and passes to a file for Perfetto or ``chrome://tracing``.

        Each of ``others`` is written on a line of its own: an object with a method
        ``trace_events``, which returns tuples of a name, a start and a stop, both by
        ``time.perf_counter``.
        """
        from agnograd_timer._report import write_trace

        events = [
            (row, clock, start, stop, running.thread)
            for running in list(self._all)
            for clock, timeline in running.timelines()
            for row, start, stop in timeline.latest(self._kept)
        ]
        write_trace(path, events, {type(each).__name__: each.trace_events() for each in others})

    def plot(self, top: int = 12) -> Figure:
        """Return a bar chart of the ops that took longest, a figure of matplotlib."""
        from agnograd_timer._report import chart

        return chart(self.to_dict(), top)


def _check_events(events: Any) -> None:
    if not isinstance(events, Integral) or isinstance(events, bool):
        raise TypeError(f"timer: events must be an int, not {events!r}")
    if not int(events) >= 0:
        raise ValueError(f"timer: events must be 0 or more, not {events}")
