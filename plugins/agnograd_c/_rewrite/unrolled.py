"""Short arrays as the scalars that they are made of: states of a few numbers in long loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd.extend import switch
from agnograd_c._choose.groups import FREE, groups_of
from agnograd_c._choose.places import is_read, is_scatter, place_of
from agnograd_c._choose.steps import Fitting, is_inexact, looked_at
from agnograd_c._choose.types import FLOATS, code_of, type_of
from agnograd_compile.lowering import Editor, Fact, Ref, Step, TracedProgram

# How many elements a short array has, which has one axis.
SHORT_ARRAY = switch("SHORT_ARRAY", 8, least=1, most=64, module=__name__)
# How many steps of short arrays are worth it to look at what comes of them.
SHORT_STEPS = switch("SHORT_STEPS", 48, least=0, most=2**62, module=__name__)


def unrolled(program: TracedProgram) -> TracedProgram:
    """Return the program with scalars in place of short arrays, if C computes more of it then.

    An array is put together again where a step needs it that is not of single elements.
    """
    facts = program.facts
    short = [ref for step in program.steps for ref in step.outs if _is_short(facts[ref])]
    if len(short) < SHORT_STEPS:
        return program
    found = _Unrolling(program).unrolled()
    left = _left(found)
    # No group has these, so that the others need not be made to count what they leave.
    apart = sum(step.op in ("stack", "unstack") for step in program.steps)
    return found if left < apart or left < _left(program) else program


def _is_short(fact: Fact) -> bool:
    one = len(fact.shape) == 1 and 0 < fact.size <= SHORT_ARRAY
    return one and _is_known(fact) and fact.kind.__name__ == "ndarray"


def _is_known(fact: Fact) -> bool:
    return code_of(fact) in (*FLOATS, "b1")


def _left(program: TracedProgram) -> int:
    """Return how many steps NumPy computes."""
    grouped = {number for group in groups_of(program) for number in group.steps}
    return sum(
        number not in grouped and step.op not in FREE for number, step in enumerate(program.steps)
    )


class _Unrolling(Editor):
    """A walk through a program that knows arrays by their elements."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.fitting, self.exact = Fitting(program.facts), looked_at(program)
        self.elements: dict[Ref, list[Ref]] = {}  # of arrays
        self.new: dict[Ref, Ref] = {}  # what takes the place of scalars
        self.whole: set[Ref] = set()  # the arrays that are there, as such

    def unrolled(self) -> TracedProgram:
        self.whole.update(self.program.inputs, self.program.constants)
        for step in self.program.steps:
            if not self._is_unrolled(step):
                self._need(step.uses(), step.location)
                self.steps.append(step.renamed(self.new))
                self.whole.update(step.outs)
        self._need(self.program.outputs, None)
        outputs = tuple(self.new.get(ref, ref) for ref in self.program.outputs)
        return self.finished(outputs=outputs)

    def _is_unrolled(self, step: Step) -> bool:
        """Write a step of short arrays as steps of scalars; return whether it is one."""
        facts, out = self.facts, step.outs[0] if step.outs else None
        if out is None or (is_inexact(step) and out in self.exact):
            return False
        scalar = all(facts[ref].kind is facts[ref].dtype.type for ref in step.outs)
        if step.op == "unstack" and scalar and _is_short(facts[step.args[0]]):
            self.new.update(zip(step.outs, self._of(step.args[0], step), strict=True))
            return True
        if scalar and is_read(facts, step) and step.args[0] in self.elements:
            self.new[out] = self._of(step.args[0], step)[self._place(step.args[0], step.args[1])]
            return True
        if step.op == "sum" and scalar and self._is_whole_sum(step, out):
            first, *rest = self._of(step.args[0], step)
            # NumPy adds the sum of all others to the first one.
            self.new[out] = self._sum([first, self._sum(rest, step)] if rest else [first], step)
            return True
        if len(step.outs) != 1 or not _is_short(facts[out]):
            return False
        if step.op == "stack":
            parts, dtype = step.args[0], facts[out].dtype
            if any(facts[ref].shape != () or facts[ref].dtype != dtype for ref in parts):
                return False
            self.elements[out] = [self.new.get(ref, ref) for ref in parts]
            return True
        if is_scatter(facts, step):
            into, key, value = step.args
            place, parts = self._place(out, key), list(self._of(into, step))
            given = (parts[place], self.new.get(value, value))
            parts[place] = self._scalar("add", given, out, step)
            self.elements[out] = parts
            return True
        return self._is_elementwise(step, out)

    def _is_whole_sum(self, step: Step, out: Ref) -> bool:
        """Return whether a step adds up the elements of a short array whose dtype it keeps."""
        x, kwargs = step.args[0], step.kwargs
        axis = kwargs.get("axis") in (None, 0, -1, (0,), (-1,))
        plain = len(step.args) == 1 and axis and kwargs.keys() <= {"axis"}
        alike = _is_short(self.facts[x]) and self.facts[x].dtype == self.facts[out].dtype
        return plain and alike and self.facts[out].shape == ()

    def _sum(self, refs: Sequence[Ref], step: Step) -> Ref:
        """Add scalars in their order."""
        total, *others = refs
        for ref in others:
            total = self._scalar("add", (total, ref), step.args[0], step)
        return total

    def _is_elementwise(self, step: Step, out: Ref) -> bool:
        shape = self.facts[out].shape
        refs = [x for x in step.args if type(x) is Ref]
        plain = not step.kwargs and all(type(x) is Ref or type_of(x) for x in step.args)
        alike = all(self.facts[x].shape in (shape, ()) and _is_known(self.facts[x]) for x in refs)
        if not (plain and alike and self.fitting.fits(step)):
            return False
        if step.op == "pow" and type(step.args[1]) is Ref:  # NumPy does more for one exponent
            return False
        given = [
            self._of(x, step)
            if x in refs and self.facts[x].shape
            else [self.new.get(x, x) if x in refs else x] * shape[0]
            for x in step.args
        ]
        self.elements[out] = [
            self._scalar(step.op, args, out, step) for args in zip(*given, strict=True)
        ]
        return True

    def _scalar(self, op: str, args: tuple[Any, ...], like: Ref, step: Step) -> Ref:
        """Add a step of scalars of an array's dtype, where another step is; return its result."""
        of = self.facts[like]
        fact = Fact((), of.dtype, (), of.dtype.type, of.device)
        return self.emit(op, args, {}, fact, location=step.location)

    def _of(self, array: Ref, step: Step) -> Sequence[Ref]:
        """Return the elements of a short array; they are read if only the array is there."""
        if array not in self.elements:
            self.elements[array] = [
                self._scalar("__getitem__", (array, k), array, step)
                for k in range(self.facts[array].size)
            ]
        return self.elements[array]

    def _place(self, array: Ref, key: Any) -> int:
        fact = self.facts[array]
        one = fact._replace(strides=(1,))
        return place_of(one, key) or 0

    def _need(self, refs: Sequence[Ref], location: str | None) -> None:
        """Put arrays together that are known by their elements only."""
        for ref in refs:
            if ref in self.elements and ref not in self.whole:
                parts = tuple(self.elements[ref])
                self.steps.append(Step("stack", (parts,), {"axis": 0}, (ref,), location=location))
                self.whole.add(ref)
