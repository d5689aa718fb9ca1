"""A program that is rewritten: its steps so far, and what is known of its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd_compile._programs.program import Fact, Ref, Step, TracedProgram


class Editor:
    """Writes the steps of a program that takes the place of another one.

    Attributes
    ----------
    program : TracedProgram
        The other one, which does not change.
    steps : list of Step
        The steps so far.
    facts, constants : dict
        Those of the other program, and of new values.
    """

    def __init__(self, program: TracedProgram) -> None:
        self.program, self.domain = program, program.domain
        self.steps: list[Step] = []
        self.facts = dict(program.facts)
        self.constants = dict(program.constants)
        self._next = program.next_number()

    def value(self, fact: Fact) -> Ref:
        """Return a new value, of which this is known; a step is yet to make it."""
        ref = Ref(self._next)
        self._next += 1
        self.facts[ref] = fact
        return ref

    def emit(
        self,
        op: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        fact: Fact,
        *,
        views: tuple[Ref, ...] = (),
        location: str | None = None,
    ) -> Ref:
        """Add a step with one result, of which this is known; return the result."""
        ref = self.value(fact)
        self.steps.append(Step(op, args, kwargs, (ref,), views=views, location=location))
        return ref

    def finished(
        self, steps: Sequence[Step] | None = None, outputs: tuple[Ref, ...] | None = None
    ) -> TracedProgram:
        """Return the program that was written; other steps, or outputs, may take their places."""
        return self.program.with_(
            steps=tuple(self.steps if steps is None else steps),
            outputs=self.program.outputs if outputs is None else outputs,
            facts=self.facts,
            constants=self.constants,
        )
