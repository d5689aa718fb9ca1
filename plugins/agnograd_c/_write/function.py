"""What C computes of a group, and what it is called with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agnograd.extend import switch
from agnograd_c._choose.groups import Group
from agnograd_c._choose.steps import FUNCTIONS, FUNCTIONS2
from agnograd_c._choose.types import FLOATS
from agnograd_c._write.body import Body
from agnograd_c._write.code import Code, Element, Operand
from agnograd_compile.lowering import Fact, Ref, TracedProgram

# With more statements, and more inputs and outputs, the C compiler takes too long.
C_STATEMENTS = switch("C_STATEMENTS", 3000, least=40, most=6000, module=__name__)
C_ARRAYS = switch("C_ARRAYS", 4000, least=8, most=8000, module=__name__)


@dataclass(slots=True)
class Function:
    """What C computes of a group, or of a product of matrices."""

    text: str  # its definition, with ``@`` in place of its name
    lanes: int  # how many elements it computes at once
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]
    results: tuple[Fact, ...]  # those of the outputs
    work: int  # about how many elements and steps there are
    functions: set[tuple[str, str]]  # of the C library, with their types
    header: str = "lanes.h"  # the file that has what the text names
    adds: bool = False  # to its first input, in whose memory its only output may be
    is_serial: bool = False  # whether one thread has to compute all of it


class Added(NamedTuple):
    """A sum, or mean, of a group's values: the value that it is, and what is added up."""

    out: Ref
    operand: Operand
    type: str
    is_mean: bool

    @property
    def kind(self) -> str:
        """What C adds up chunks in."""
        return "double" if self.type in FLOATS else "int64_t"


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

    def wanted(self) -> list[Ref]:
        """Return the values of the group that are used outside."""
        left = {*self.left}
        made = [ref for n, step in self.steps if n not in left for ref in step.outs]
        inside = {ref for n in left for ref in self.program.steps[n].uses()}
        return [ref for ref in made if ref in self.needed or ref in inside]

    def body(self, element: Callable[[Element], str]) -> Body:
        """Return what writes the instructions."""
        inputs = self.code.inputs.items()
        self.scalars = {number for ref, number in inputs if self.facts[ref].shape == ()}
        return Body(self.code.instructions, element, self.scalars)

    def is_long(self, body: Body, outputs: Sequence[Ref]) -> bool:
        """Return whether the C compiler would take too long."""
        return body.length() > C_STATEMENTS or len(self.code.inputs) + len(outputs) > C_ARRAYS

    def functions(self) -> set[tuple[str, str]]:
        """Return the functions of the C library that are called."""
        found = set()
        for each in self.code.instructions:
            name, _, type = each.name.rpartition("_")
            if name in FUNCTIONS or name in FUNCTIONS2:
                found.add((name, type))
        return found
