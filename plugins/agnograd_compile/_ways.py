"""The programs of one function of arrays: one for each way that its branches went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from agnograd.extend import Lock
from agnograd.extend.transforms import seldom_collected
from agnograd_compile._programs.program import Missed, Runnable
from agnograd_compile._trace import Traced


class TooManyPrograms(Exception):  # noqa: N818 - it says where to go on, and no user sees it
    """A function was traced as often as it may be."""


class Guarded:
    """A program for what its guards say, and what runs it.

    Attributes
    ----------
    guards : tuple
        What each guard has to find.
    traced : Traced
        The program as it was traced.
    run : callable
        What runs it; ``back`` runs the rest of it, if it is in two parts.
    """

    def __init__(self, traced: Traced, run: Runnable, back: Any = None) -> None:
        self.guards = tuple(step.kwargs["value"] for step in traced.program.guards())
        self.traced, self.run, self.back = traced, run, back

    @cached_property
    def filled(self) -> Callable[[Sequence[Any]], Any]:
        """What makes the function's result of its arrays."""
        return self.traced.result.filler()


Replay = tuple[Guarded, list[Any]]


class Ways:
    """The programs of a function of arrays.

    ``make`` traces it for what ``run`` gets, and raises ``TooManyPrograms`` if it was traced too
    often. It is called with ``lock``, which is that of the compiled function: of two locks, two
    threads could each hold one and wait for the other.
    """

    def __init__(self, make: Callable[..., Guarded], lock: Lock) -> None:
        self._make = make
        self.known: tuple[Guarded, ...] = ()
        self._lock = lock
        self._latest: Guarded | None = None

    @property
    def only(self) -> Guarded | None:
        """The way, if there will never be another one: nothing decides about it."""
        way = self._latest
        return None if way is None or way.guards else way

    def run(self, arrays: Sequence[Any], *other: Any) -> tuple[Guarded, list[Any]]:
        """Return the way that is right for arrays, and what its program gives for them.

        If a guard finds a value that is not its own, another program takes over, from the
        beginning: one whose guards say what was found so far, or a new one.
        """
        latest = self._latest
        if latest is not None:  # most often
            try:
                return latest, latest.run(arrays)
            except Missed:
                pass
        tried, found = 0, None
        while found is None:
            known = self.known
            if len(known) == tried:
                with self._lock:  # the way may be in what another thread makes meanwhile
                    if len(self.known) == tried:
                        return self._new(arrays, *other)
                continue
            found, tried = self._replayed(known, arrays), len(known)
        return found

    def _replayed(self, known: Sequence[Guarded], arrays: Sequence[Any]) -> Replay | None:
        """Return what one of some ways gives, or None if none of them is right."""
        seen: tuple[Any, ...] = ()
        for way in known:
            if way.guards[: len(seen)] != seen:
                continue
            try:
                found = way.run(arrays)
            except Missed as miss:
                seen = (*way.guards[: miss.number], miss.seen)
            else:
                self._latest = way
                return way, found
        return None

    def _new(self, arrays: Sequence[Any], *other: Any) -> Replay:
        with seldom_collected:
            way = self._make(arrays, *other)
        try:
            # The program runs as in later calls, also where it rounds otherwise than what was
            # traced. NumPy has warned of infinities while the function was traced.
            with way.traced.program.domain.backend.quiet():
                found = way.run(arrays)
        except Missed as miss:  # it rounds differently from what was traced
            raise TooManyPrograms from miss
        self._latest = way
        self.known = (*self.known, way)
        return way, found
