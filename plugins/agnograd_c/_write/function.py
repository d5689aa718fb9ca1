"""What C computes of a group, and what it is called with."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import NamedTuple

from agnograd.extend import switch
from agnograd_c._choose.groups import Group
from agnograd_c._choose.steps import FUNCTIONS, FUNCTIONS2
from agnograd_c._write.code import Code, Operand
from agnograd_compile.lowering import Fact, Ref, Step, TracedProgram

# With more statements, and more inputs and outputs, the C compiler takes too long.
C_STATEMENTS = switch("C_STATEMENTS", 3000, least=40, most=6000, module=__name__)
C_ARRAYS = switch("C_ARRAYS", 4000, least=8, most=8000, module=__name__)


@dataclass(slots=True)
class Function:
    """What C computes of a group.

    Attributes
    ----------
    text : str
        Its definition, with ``@`` in place of the function's name.
    lanes : int
        How many elements are computed at once.
    inputs, outputs : tuple of Ref
        The values that it is given, and that it makes.
    results : tuple of Fact
        What those are.
    work : int
        About how many elements and steps there are to compute.
    functions : set of tuple of str
        The functions of the C library that it calls, with their types.
    header : str
        The name of the file that has what its text names.
    adds : bool
        Whether it adds to its first input, in whose memory its only output may be.
    is_serial : bool
        Whether one thread has to compute all of it.
    """

    text: str
    lanes: int
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]
    results: tuple[Fact, ...]
    work: int
    functions: set[tuple[str, str]]
    header: str = "lanes.h"
    adds: bool = False
    is_serial: bool = False


class Added(NamedTuple):
    """A sum, or mean, of a group's values."""

    step: Step
    operand: Operand
    type: str  # of what is added up
    result: str


class GroupWriter:
    """What the functions of all groups have in common: see the classes derived from it."""

    def __init__(
        self, program: TracedProgram, group: Group, needed: frozenset[Ref], serial: bool = True
    ) -> None:
        self.is_serial = serial  # whether the function may be one for a single thread
        self.program, self.group, self.facts = program, group, program.facts
        self.steps = [(number, program.steps[number]) for number in group.steps]
        self.needed = needed
        self.left: list[int] = []
        self.code = Code(program.facts)
        self._scalars: Set[int] | None = None

    def wanted(self) -> list[Ref]:
        """Return the values of the group that are used outside."""
        left = {*self.left}
        made = [ref for n, step in self.steps if n not in left for ref in step.outs]
        inside = {ref for n in left for ref in self.program.steps[n].uses()}
        return [ref for ref in made if ref in self.needed or ref in inside]

    def scalars(self) -> Set[int]:
        """Return the numbers of the inputs that are scalars, once all are known."""
        if self._scalars is None:
            inputs = self.code.inputs.items()
            self._scalars = frozenset(n for ref, n in inputs if self.facts[ref].shape == ())
        return self._scalars

    def functions(self) -> set[tuple[str, str]]:
        """Return the functions of the C library that are called."""
        found = set()
        for each in self.code.instructions:
            name, _, type = each.name.rpartition("_")
            if name in FUNCTIONS or name in FUNCTIONS2:
                found.add((name, type))
        return found
