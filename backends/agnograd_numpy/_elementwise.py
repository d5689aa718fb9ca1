"""What writes element-wise steps of a program, whose results may be written to buffers."""

from __future__ import annotations

import os
from typing import Any

from agnograd_compile.lowering import (
    Fact,
    Ref,
    Step,
    TracedProgram,
    Way,
    Writer,
    declared,
    lent,
    planned,
    verify,
)
from agnograd_numpy import _steps

__all__ = ["ElementwiseWriter"]

_VERIFIED = os.environ.get("AGNOGRAD_VERIFY", "0") not in ("", "0")


class ElementwiseWriter(Writer):
    """Writes calls of ufuncs, and names values by the buffers that they are in.

    Attributes
    ----------
    plan : MemoryPlan
        Where the results of steps are written to.
    forms : dict
        The variables of buffers, by their number and the layout of the values in them.
    places : dict
        The variables of the memory that values were written to.
    most : int
        Up to how many elements a number beside an array is written as an array full of it.
    """

    most = _steps.FULL_ELEMENTS
    goes_over = False  # whether results are written over arguments that are in no buffer
    lends = False  # whether memory of results is lent to other values before

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.ways = {id(step): _steps.way_of(program, step) for step in program.steps}
        self.plan = planned(program, self.way, over=self.goes_over)
        if self.lends:
            self.plan = lent(program, self.plan, self.way)
        if _VERIFIED:
            verify(program, self.plan, self.way)
        self.forms: dict[tuple[int, Fact], str] = {}
        self.places: dict[Ref, str] = {}
        # Results that are there from the beginning, since their memory is lent.
        self.owners = {room.owner: f"m{room.owner.number}" for room in self.plan.rooms}
        self._full: dict[tuple[Any, ...], str | None] = {}

    def way(self, step: Step) -> Way:
        """Return what can be done with a step."""
        return self.ways[id(step)]

    def name(self, ref: Ref) -> str:
        """Return the variable of a value, which may be that of its buffer."""
        return self.places.get(ref) or super().name(ref)

    def place(self, number: int, step: Step) -> str | None:
        """Return the variable of what a step's only result is written to, if there is any."""
        if len(step.outs) != 1:
            return None
        into = self.plan.over.get(number)
        if number in self.plan.updates and self.way(step) is Way.ADD:
            into = step.args[0]
        if into is not None:  # two names would be one array: neither is let go of
            return self.places.setdefault(into, self.name(into))
        return self.room(step.outs[0], self.plan.writes[number][0])

    def room(self, ref: Ref, buffer: int | None) -> str | None:
        """Return the variable of a value's planned memory: one that is lent, or its buffer."""
        if ref in self.owners:
            return self.owners[ref]
        return None if buffer is None else self.form(buffer, self.program.facts[ref])

    def form(self, buffer: int, fact: Fact) -> str:
        """Return the variable of a buffer, as an array of this layout."""
        return self.forms.setdefault((buffer, fact), f"b{len(self.forms)}")

    def compute(self, step: Step, text: str, into: str | None) -> None:
        """Write a call whose result has a name, unless it is written to a buffer."""
        self.lines.append(text if into else f"{self.results(step)} = {text}")

    def elementwise(self, step: Step, into: str | None) -> str:
        """Write a call of a ufunc, or an operator between scalars."""
        ufunc = _steps.ufunc_of(self.program, step)
        texts = [
            self.beside(step, each) or self.cell(each) or self.text(each) for each in step.args
        ]
        if into:
            # NumPy wants to be sure that nobody means a third operand of these two.
            prefix = "out=" if step.op in ("maximum", "minimum") else ""
            texts.append(prefix + into)
        return f"{self.held(ufunc, step.op)}({', '.join(texts)})"

    def cell(self, value: Any) -> str | None:
        """Return the variable of an array without axes that holds a scalar, if there is one."""
        return None

    def beside(self, step: Step, value: Any) -> str | None:
        """Write a number beside an array as an array."""
        exact = declared(step.op).exact
        if not exact or (type(value) is Ref and value not in self.program.constants):
            return None
        others = [self.program.facts[each] for each in step.args if type(each) is Ref]
        key = (repr(value), *others)
        if key not in self._full:
            made = _steps.beside(self.program, step, value, self.most)
            self._full[key] = None if made is None else self.held(made, "full")
        return self._full[key]
