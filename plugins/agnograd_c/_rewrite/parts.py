"""Products of arrays put together, as sums of the products of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agnograd.extend import switch
from agnograd_c._choose.layout import across
from agnograd_c._choose.products import PRODUCTS, TRANSPOSED, is_product
from agnograd_c._choose.steps import looked_at
from agnograd_compile.lowering import Editor, Ref, Step, TracedProgram, dead

# The shortest common axis of a part: to add a product takes as long as some rows of it.
PART_AXIS = switch("PART_AXIS", 8, least=1, most=2**62, module=__name__)


def in_parts(program: TracedProgram) -> TracedProgram:
    """Return the program that adds small products up, and puts no factors together for them.

    A pass gathers the factors of a weight's gradient: ``concat(x1, x2, ...).T @ concat(g1, g2,
    ...)`` takes NumPy less time than ``x1.T @ g1 + x2.T @ g2 + ...``. C adds a small product to
    what is there before; so each is computed as soon as its factors are there, which need not be
    kept or copied.
    """
    if "concat" not in {step.op for step in program.steps}:
        return program
    return _Parting(program).split()


class _Parting(Editor):
    """A walk through a program that says what comes after each of its steps."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.used = program.used()
        self.makers = {ref: step for step in program.steps for ref in step.outs}
        # The number of the step after which each value is there.
        self.places = {ref: n for n, step in enumerate(program.steps) for ref in step.outs}
        self.after: dict[int, list[Step]] = {}
        self.gone: set[int] = set()  # steps, by their identity, that others are in place of

    def split(self) -> TracedProgram:
        readers = {ref: step for step in self.program.steps for ref in step.uses()}
        exact = looked_at(self.program)
        for step in self.program.steps:
            known = step.op in PRODUCTS and not step.kwargs and len(step.args) == 2
            pairs = self._pairs(step) if known and exact.isdisjoint(step.outs) else []
            if pairs:
                self._write(step, readers.get(step.outs[0]), pairs)
        if not self.gone:
            return self.program
        steps = self.after.get(-1, [])
        for number, step in enumerate(self.program.steps):
            steps += [step] * (id(step) not in self.gone) + self.after.get(number, [])
        return dead(self.finished(steps))

    def _pairs(self, step: Step) -> list[tuple[Ref, Ref]]:
        """Return factors whose products add up to a product; none if it is not put together."""
        if not all(type(each) is Ref and len(self.facts[each].shape) == 2 for each in step.args):
            return []
        one, other = (self._parts(ref, 1 - axis) for axis, ref in enumerate(step.args))
        lengths = [self.facts[ref].shape[1] for ref in one] or [
            self.facts[ref].shape[0] for ref in other
        ]
        if min(lengths, default=0) < PART_AXIS:
            return []
        left, right = (
            parts or self._cut(ref, 1 - axis, lengths)
            for axis, (ref, parts) in enumerate(zip(step.args, (one, other), strict=True))
        )
        pairs = list(zip(left, right, strict=False))
        alike = len(left) == len(right) and all(
            self.facts[a].shape[1] == self.facts[b].shape[0]
            and is_product(self.facts, replace(step, args=(a, b)))
            for a, b in pairs
        )
        return pairs if alike else []

    def _parts(self, ref: Ref, axis: int) -> list[Ref]:
        """Return the parts that a matrix is put together of along an axis; none of another."""
        step = self.makers.get(ref)
        if step is None:
            return []
        if step.op in TRANSPOSED:
            return [self._transposed(each) for each in self._parts(step.args[0], 1 - axis)]
        known = step.op == "concat" and len(step.args) == 1 and set(step.kwargs) <= {"axis"}
        if not known or step.kwargs.get("axis", 0) not in (axis, axis - 2):
            return []
        parts = list(step.args[0])
        alike = all(self.facts[part].dtype == self.facts[ref].dtype for part in parts)
        return parts if alike else []

    def _transposed(self, ref: Ref) -> Ref:
        new = self.value(across(self.facts[ref]))
        self._emit(Step(TRANSPOSED[0], (ref,), {}, (new,), views=(ref,)))
        return new

    def _cut(self, ref: Ref, axis: int, lengths: Sequence[int]) -> list[Ref]:
        """Return parts of a constant, which are views of it; none of another value."""
        value = self.constants.get(ref)
        if value is None:
            return []
        found, first = [], 0
        for length in lengths:
            key: Any = (slice(None),) * axis + (slice(first, first + length),)
            shape = tuple(length if k == axis else n for k, n in enumerate(self.facts[ref].shape))
            found.append(self.value(self.facts[ref]._replace(shape=shape)))
            self.constants[found[-1]] = value[key]
            first += length
        return found

    def _write(self, step: Step, reader: Step | None, pairs: Sequence[tuple[Ref, Ref]]) -> None:
        """Write the products of parts, each as early as it can be, and added to the ones before.

        If all that reads the product is a sum, what it is added to comes first.
        """
        ordered = sorted(pairs, key=lambda pair: max(map(self._place, pair)))
        total, out = self._start(step, reader, max(map(self._place, ordered[0]))), step.outs[0]
        if total is not None and reader is not None:
            out = reader.outs[0]
            self.gone.add(id(reader))
        self.gone.add(id(step))
        last = len(ordered) - 1
        for number, pair in enumerate(ordered):
            new = out if number == last else self.value(self.facts[out])
            part = new if total is None else self.value(self.facts[out])
            self._emit(replace(step, args=pair, outs=(part,)))
            if total is not None:
                self._emit(Step("add", (total, part), {}, (new,), location=step.location))
            total = new

    def _start(self, step: Step, reader: Step | None, first: int) -> Ref | None:
        """Return what a product is added to, if that is there before the first of its parts."""
        out = step.outs[0]
        if reader is None or reader.op != "add" or self.used[out] > 1:
            return None
        others = [ref for ref in reader.args if ref is not out]
        if (
            len(others) != 1
            or others[0] not in self.places
            or self.facts[others[0]] != self.facts[out]
        ):
            return None
        return others[0] if self.places[others[0]] <= first else None

    def _place(self, ref: Ref) -> int:
        return self.places.get(ref, -1)

    def _emit(self, step: Step) -> None:
        """Add a step once all that it reads is there."""
        place = max(map(self._place, step.uses()))
        self.after.setdefault(place, []).append(step)
        self.places[step.outs[0]] = place
