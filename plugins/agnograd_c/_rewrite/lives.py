"""What a program keeps in memory while it runs, from one group or other step to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agnograd_c._choose.groups import Group, replaced
from agnograd_compile.lowering import Ref, Step, TracedProgram, nbytes, roots_of

_MEMBERS = "@members"


@dataclass(slots=True)
class Life:
    """Where a value is in memory: from the unit that makes it to the last one that reads it."""

    size: int  # its bytes
    # The unit that makes it, those that read it, and those before which it is made again.
    events: list[int]
    kept: list[bool]  # after each event but the last, whether it is in memory until the next one

    def is_kept(self, unit: int) -> bool:
        """Return whether the value is in memory before a unit, and still there for it."""
        pairs = zip(pairwise(self.events), self.kept, strict=True)
        return any(kept and first < unit <= last for (first, last), kept in pairs)

    def without(self, place: int, until: int) -> Life:
        """Return the life of a value that is not kept after the event at a place, until a unit.

        Before that unit, which is the next event or an earlier one, it is made again.
        """
        events, kept = [*self.events], [*self.kept]
        kept[place] = False
        if until < events[place + 1]:
            events.insert(place + 1, until)
            kept.insert(place + 1, True)
        return Life(self.size, events, kept)

    def until(self, units: Sequence[int]) -> Life:
        """Return the life of a value that units read, too."""
        events = [self.events[0], *sorted({*self.events[1:], *units})]
        return Life(self.size, events, [True] * (len(events) - 1))


class Lives:
    """What is in memory while the units of a program run.

    A unit is a group, whose values between its steps are in no memory, or a step that is in none.
    """

    def __init__(self, program: TracedProgram, groups: Sequence[Group], least: int) -> None:
        # The numbers of the steps of each unit, in an order in which units can run, and the shape
        # of its elements: None unless it is a group of element-wise steps.
        self.units, self.shapes = _units(program, groups)
        self.made: dict[Ref, int] = {}  # the unit that makes a value
        # The other units that read a value's memory, in their order.
        self.readers: dict[Ref, list[int]] = {}
        roots = self._roots = roots_of(program)
        for unit, numbers in enumerate(self.units):
            steps = [program.steps[number] for number in numbers]
            for step in steps:
                self.made.update(dict.fromkeys(step.outs, unit))
            read = {root: None for step in steps for ref in step.uses() for root in roots[ref]}
            for root in read:
                if self.made.get(root) != unit:
                    self.readers.setdefault(root, []).append(unit)
        taken = {root for ref in program.outputs for root in roots[ref]}
        self._given = taken.union(program.inputs, program.constants)
        # The values that are in memory of the program's own, of at least ``least`` bytes.
        self.known: dict[Ref, Life] = {}
        self.use = [0] * len(self.units)  # the bytes in use while each unit runs
        for ref, unit in self.made.items():
            size = nbytes(program.facts[ref]) or 0
            if size >= least and ref in self.readers and ref not in taken and roots[ref] == {ref}:
                events = [unit, *self.readers[ref]]
                self.known[ref] = Life(size, events, [True] * (len(events) - 1))
        self._over = self._written_over()
        for ref, life in self.known.items():
            self._count(ref, life.size)

    def change(self, ref: Ref, life: Life) -> None:
        """Let a value be in memory elsewhere."""
        self._count(ref, -life.size)
        self.known[ref] = life
        self._count(ref, life.size)

    def is_there(self, ref: Ref, unit: int) -> bool:
        """Return whether a value, or what it is a view of, is in memory before a unit.

        If it is after its last reader, whether it is there until that one.
        """
        return all(self._is_kept(root, unit) for root in self._roots[ref])

    def _is_kept(self, ref: Ref, unit: int) -> bool:
        life = self.known.get(ref)
        if life is None:  # a small one, or not the program's own
            return ref in self._given or ref in self.readers
        return life.is_kept(min(unit, life.events[-1]))

    def is_in(self, ref: Ref, unit: int, life: Life) -> bool:
        """Return whether a value is in memory while a unit runs, if it lives so."""
        return any(first <= unit < until for first, until in self._stays(ref, life))

    def _stays(self, ref: Ref, life: Life) -> list[tuple[int, int]]:
        """Return where a value is in memory if it lives so: units, and the ones after them.

        What is made again for one group only is computed in it.
        """
        shape, found = self.shapes[self.made[ref]], list[tuple[int, int]]()
        for place, unit in enumerate(life.events):
            before = place > 0 and life.kept[place - 1]
            if before:
                found[-1] = found[-1][0], unit + 1
            elif any(life.kept[place : place + 1]) or (place and self.shapes[unit] != shape):
                found.append((unit + (not place and ref in self._over), unit + 1))
        return found

    def _written_over(self) -> set[Ref]:
        """Return the values that groups write over others, which nothing else reads any more."""
        ending: dict[tuple[int, int], int] = {}
        for life in self.known.values():
            key = life.events[-1], life.size
            ending[key] = ending.get(key, 0) + 1
        found = set()
        for ref, life in self.known.items():
            key = life.events[0], life.size
            if self.shapes[life.events[0]] is not None and ending.get(key):
                ending[key] -= 1
                found.add(ref)
        return found

    def _count(self, ref: Ref, size: int) -> None:
        """Add bytes to what is in use while a value is in memory."""
        for first, until in self._stays(ref, self.known[ref]):
            self.use[first:until] = [each + size for each in self.use[first:until]]


def _units(
    program: TracedProgram, groups: Sequence[Group]
) -> tuple[list[list[int]], list[tuple[int, ...] | None]]:
    """Return the steps of the groups, and all others one by one, as they run; and their shapes."""
    order = replaced(program, groups, lambda place: Step(_MEMBERS, (place,), {}, ()))
    numbers = {id(step): number for number, step in enumerate(program.steps)}
    units: list[list[int]] = []
    shapes: list[tuple[int, ...] | None] = []
    for step in order.steps:
        group = groups[step.args[0]] if step.op == _MEMBERS else None
        units.append([numbers[id(step)]] if group is None else group.steps)
        shapes.append(None if group is None or group.is_product else group.shape)
    return units, shapes
