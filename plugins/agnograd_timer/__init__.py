"""Measure how long each op takes, forward and backward."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agnograd.extend import hookimpl

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Timer"]


class _Span:
    """An op (or a pass) that runs: since when, and for how long others ran inside of it."""

    __slots__ = ("inside", "key", "start")

    def __init__(self, key: object) -> None:
        self.key = key
        self.inside = 0.0
        self.start = perf_counter()


class _Running(threading.local):
    """What runs in one thread, the innermost last."""

    def __init__(self) -> None:
        self.ops: list[_Span] = []
        self.passes: list[_Span] = []


class Timer:
    """Add up the host time of each op, forward and backward apart, and of backward passes.

    Each time is an op's own: ops that run inside of it (those of a rule, when the pass is
    recorded) count for themselves. The time of a pass is all from its start to its end, but for
    passes inside of it, which count for themselves too. Failed calls count. One timer may be
    active in many threads at once: their times add up.

    Examples
    --------
    >>> import agnograd as ag
    >>> with ag.hooks("timer") as (timer,):
    ...     gradient = ag.grad(lambda x: x * x * x)(3.0)
    >>> timer.to_dict()["backward"]["multiply"]["calls"]
    2
    """

    def __init__(self) -> None:
        self._running = _Running()
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget all that was measured; what still runs counts when it ends."""
        with self._lock:
            self._totals: dict[str, dict[str, tuple[int, float]]] = {
                "forward": {},
                "backward": {},
                "passes": {},
            }

    # A hook that starts a span runs after those of other plugins, one that ends it before them.

    @hookimpl(trylast=True)
    def forward_preprocess(self, op: Call) -> None:
        """Start to measure an op."""
        self._running.ops.append(_Span(op))

    @hookimpl(tryfirst=True)
    def forward_postprocess(self, op: Call) -> None:
        """Add up an op's time."""
        self._stop(self._running.ops, op, "forward", op.name)

    @hookimpl(trylast=True)
    def backward_preprocess(self, op: Call) -> None:
        """Start to measure an op's rule."""
        self._running.ops.append(_Span(op))

    @hookimpl(tryfirst=True)
    def backward_postprocess(self, op: Call) -> None:
        """Add up the time of an op's rule."""
        self._stop(self._running.ops, op, "backward", op.name)

    @hookimpl(trylast=True)
    def backward_start(self, outputs: Any) -> None:
        """Start to measure a pass."""
        self._running.passes.append(_Span(outputs))

    @hookimpl(tryfirst=True)
    def backward_finish(self, outputs: Any) -> None:
        """Add up a pass's time."""
        self._stop(self._running.passes, outputs, "passes", "passes")

    def _stop(self, running: list[_Span], key: object, table: str, name: str) -> None:
        now = perf_counter()
        if not any(span.key is key for span in running):
            return  # it never started: another plugin's hook failed before
        while (span := running.pop()).key is not key:
            pass  # it never ended: another plugin's hook failed
        elapsed = now - span.start
        if running:
            running[-1].inside += elapsed
        with self._lock:
            calls, total = self._totals[table].get(name, (0, 0.0))
            self._totals[table][name] = calls + 1, total + elapsed - span.inside

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return what was measured, as plain data.

        Returns
        -------
        dict
            ``{"forward": {op: {"calls": n, "seconds": s}}, "backward": {…}, "passes": {"calls":
            n, "seconds": s}}``.
        """
        with self._lock:
            tables: dict[str, dict[str, Any]] = {
                table: {name: {"calls": n, "seconds": s} for name, (n, s) in rows.items()}
                for table, rows in self._totals.items()
            }
        tables["passes"] = tables["passes"].get("passes", {"calls": 0, "seconds": 0.0})
        return tables

    def summary(self) -> str:
        """Return what was measured as a table, the longest total first.

        Shares are of the time of all ops together.
        """
        return "\n".join(_lines(self.to_dict()))


def _lines(tables: dict[str, dict[str, Any]]) -> Iterator[str]:
    passes = tables.pop("passes")
    everything = sum(row["seconds"] for rows in tables.values() for row in rows.values())
    width = max([8, *(len(name) for rows in tables.values() for name in rows)])
    yield f"{'op':{width + 2}}{'calls':>9}{'total ms':>12}{'mean us':>12}{'share':>8}"
    for table, rows in tables.items():
        yield table
        for name in sorted(rows, key=lambda name: -rows[name]["seconds"]):
            share = rows[name]["seconds"] / everything if everything else 0.0
            yield f"  {name:{width}}{_figures(rows[name])}{share:8.1%}"
    yield f"{'passes':{width + 2}}{_figures(passes)}"


def _figures(row: dict[str, Any]) -> str:
    mean = row["seconds"] / row["calls"] if row["calls"] else 0.0
    return f"{row['calls']:9}{row['seconds'] * 1e3:12.3f}{mean * 1e6:12.2f}"
