"""A function of arrays of certain shapes and dtypes, as programs that run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from agnograd import Variable
from agnograd.extend import Lock
from agnograd.extend.transforms import Domain, current_mode
from agnograd_compile._lowerings import Lowering, lowered
from agnograd_compile._passes.passes import run as improved
from agnograd_compile._programs.program import Missed, Runnable, TracedProgram
from agnograd_compile._recording import Recording
from agnograd_compile._stepwise import Stepwise, locate
from agnograd_compile._trace import Result, Traced, record
from agnograd_compile._ways import Guarded, Ways

NO_RANKS: Mapping[int, int] = MappingProxyType({})


class Traceable(Protocol):
    """A function of Variables over traced arrays, which is called while a recording runs."""

    def __call__(self, run: Recording, arrays: Sequence[Variable]) -> Result: ...


class Owner(Protocol):
    """What a unit asks of the compiled function that it belongs to."""

    name: str
    lock: Lock  # held while a program is made

    def lowering(self, domain: Domain) -> Lowering:
        """Return what makes programs of a backend's arrays run."""

    def traced(self, make: Callable[[], Traced], order: int) -> Traced:
        """Trace, if that may be done once more; changes of what is outside are refused."""


class Unit:
    """A function of arrays of certain shapes and dtypes, as programs.

    Parameters
    ----------
    owner : Owner
        The compiled function.
    callee : callable
        What is traced.
    domain : Domain
        The domain of the arrays, that of a library.
    order : int
        Which derivative of the function is computed; 0 stands for the function itself.
    """

    def __init__(self, owner: Owner, callee: Traceable, domain: Domain, order: int = 0) -> None:
        self.owner, self.callee, self.domain, self.order = owner, callee, domain, order
        self.ways = Ways(self._way, owner.lock)

    def _way(self, arrays: Sequence[Any], ranks: Mapping[int, int] = NO_RANKS) -> Guarded:
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

    def __call__(
        self, arrays: Sequence[Any], ranks: Mapping[int, int] = NO_RANKS
    ) -> tuple[Guarded, list[Any]]:
        """Return the way that was taken, and the function's raw arrays.

        ``ranks`` are those of the nodes of arrays from outside, by their places.
        """
        return self.ways.run(arrays, ranks)


class Runs:
    """Runs a program: by what it was lowered to, or step by step between the hooks of plugins."""

    def __init__(self, program: TracedProgram, run: Runnable, traced: TracedProgram) -> None:
        self.program, self.lowered = program, run
        self._traced = traced  # as the user wrote it, for hooks
        self._scalars = scalars_of(program)

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


def scalars_of(program: TracedProgram) -> list[int]:
    """Return which outputs are scalars of the library, which users get as arrays."""
    kinds = program.domain.ready_types
    return [
        place for place, ref in enumerate(program.outputs) if program.facts[ref].kind not in kinds
    ]
