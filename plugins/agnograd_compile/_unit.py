"""A function of arrays of certain shapes and dtypes, as programs that run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agnograd.extend.transforms import Domain, current_mode, seldom_collected
from agnograd_compile._lowerings import lowered
from agnograd_compile._passes.passes import run as improved
from agnograd_compile._programs.program import Missed, Runnable, TracedProgram
from agnograd_compile._stepwise import Stepwise, locate
from agnograd_compile._trace import Traceable, Traced, record

if TYPE_CHECKING:
    from agnograd_compile._compiled import CompiledFunction

NO_RANKS: Mapping[int, int] = MappingProxyType({})


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


class Unit:
    """A function of arrays of certain shapes and dtypes, as programs: one for each way of branches.

    Parameters
    ----------
    owner : CompiledFunction
        The compiled function.
    callee : callable
        What is traced.
    domain : Domain
        The domain of the arrays, that of a library.
    order : int
        Which derivative of the function is computed; 0 stands for the function itself.
    """

    def __init__(
        self, owner: CompiledFunction, callee: Traceable, domain: Domain, order: int = 0
    ) -> None:
        self.owner, self.callee, self.domain, self.order = owner, callee, domain, order
        self.known: tuple[Guarded, ...] = ()
        self._latest: Guarded | None = None

    @property
    def only(self) -> Guarded | None:
        """The way, if there will never be another one: nothing decides about it."""
        way = self._latest
        return None if way is None or way.guards else way

    def __call__(self, arrays: Sequence[Any], ranks: Mapping[int, int] = NO_RANKS) -> Replay:
        """Return the way that is right for raw arrays, and the function's arrays.

        ``ranks`` are those of the nodes of arrays from outside, by their places. If a guard finds a
        value that is not its own, another program takes over, from the beginning: one whose guards
        say what was found so far, or a new one.
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
                # The way may be in what another thread makes meanwhile. The lock is that of the
                # compiled function: of two, two threads could each hold one and wait for the other.
                with self.owner.lock:
                    if len(self.known) == tried:
                        return self._new(arrays, ranks)
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

    def _new(self, arrays: Sequence[Any], ranks: Mapping[int, int]) -> Replay:
        with seldom_collected:
            way = self._way(arrays, ranks)
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

    def _way(self, arrays: Sequence[Any], ranks: Mapping[int, int]) -> Guarded:
        """Trace the function; raise ``TooManyPrograms`` if it was traced too often."""
        traced = self._traced(self.callee, arrays, ranks)
        program = improved(traced.program)
        return Guarded(traced, Runs(program, self._lowered(program), traced.program))

    def _traced(self, callee: Traceable, arrays: Sequence[Any], ranks: Mapping[int, int]) -> Traced:
        name = self.owner.name
        return self.owner.traced(
            lambda: record(callee, self.domain, arrays, name, ranks=ranks), self.order
        )

    def _lowered(self, program: TracedProgram) -> Runnable:
        return lowered(self.owner.lowering(self.domain), program)


class Runs:
    """Runs a program: by what it was lowered to, or step by step between the hooks of plugins."""

    def __init__(self, program: TracedProgram, run: Runnable, traced: TracedProgram) -> None:
        self.program, self.lowered = program, run
        self._traced = traced  # as the user wrote it, for hooks
        # Users get scalars of the library as arrays.
        kinds = [program.facts[ref].kind for ref in program.outputs]
        arrays = program.domain.ready_types
        self._scalars = [place for place, kind in enumerate(kinds) if kind not in arrays]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays of the outputs; library scalars become arrays."""
        mode = current_mode()
        try:
            if mode is None or mode.observers is None:
                found = self.lowered(arrays)
            else:
                found = Stepwise(self._traced)(arrays)
        except Missed:
            raise
        except Exception as error:
            self.located(error, arrays)
            raise
        for place in self._scalars:
            found[place] = self.program.domain.backend.array(found[place])
        return found

    def direct(self) -> Runnable | None:
        """Return what does the same where there are no hooks, after the first run."""
        if self._scalars or any(self.program.guards()):
            return None
        found: Runnable = getattr(self.lowered, "direct", self.lowered)
        return found

    def located(self, error: Exception, arrays: Sequence[Any]) -> None:
        """Note on an error which step raised it, unless that is known."""
        if not getattr(error, "__notes__", None):
            locate(error, self._traced, arrays)
