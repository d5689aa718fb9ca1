"""The order of steps: what lets go of memory comes as early as it can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, count

from agnograd.extend import switch
from agnograd_compile._programs.plan import nbytes
from agnograd_compile._programs.program import CALLS, GUARD, PULLBACK, Ref, TracedProgram, roots_of

# Nothing goes past these, nor past steps with effects: what a guard does not let through may raise,
# and users see their calls.
_BARRIERS = CALLS - {PULLBACK} | {GUARD}
# Smaller values are not worth an order: programs have many of them.
ORDERED_BYTES = switch("ORDERED_BYTES", 2**15, least=1, most=2**62, module=__name__)
# The share of the bytes before to which an order has to come down in the mean.
ORDER_GAIN = switch("ORDER_GAIN", 0.95, least=0.0, most=1.0, module=__name__)
_DONE = -1


def order(program: TracedProgram) -> TracedProgram:
    """Return the program in an order in which fewer bytes are in use at a time.

    Steps stay in their order, but for those after which less memory is in use than before, such as
    a product that is the last to read a layer's activations, and whose own result the program
    returns: each comes as soon as all that it reads is there. Unless fewer bytes are in use by that
    in the mean over the steps, and no more at most, the program stays as it is.
    """
    sizes = _sizes(program)
    if not sizes:
        return program
    ordering = _Ordering(program, sizes)
    steps = ordering.ordered()
    if not ordering.moved:
        return program
    most, total = ordering.in_use(range(len(steps)))
    other, fewer = ordering.in_use(steps)
    if other > most or fewer > ORDER_GAIN * total:
        return program
    return program.with_(steps=tuple(map(program.steps.__getitem__, steps)))


def _sizes(program: TracedProgram) -> dict[Ref, int]:
    """Return the bytes of the values that own memory, and are not there whatever the order is."""
    known: dict[int, int] = {}  # by the identity of the fact: most values have one of a few
    sizes: dict[Ref, int] = {}
    for ref, fact in program.facts.items():
        size = known.get(id(fact))
        if size is None:
            size = known[id(fact)] = nbytes(fact) or 0
        if size >= ORDERED_BYTES:
            sizes[ref] = size
    if sizes:
        roots = roots_of(program)
        kept = {*program.inputs, *program.constants}.union(*(roots[ref] for ref in program.outputs))
        for ref in [ref for ref in sizes if ref in kept or roots.get(ref, kept) != {ref}]:
            del sizes[ref]
    return sizes


class _Ordering:
    """A walk through the steps, known by their numbers, that takes some of them earlier.

    A view costs nothing: it is made where it stood, or for the first step that reads it.
    """

    def __init__(self, program: TracedProgram, sizes: Mapping[Ref, int]) -> None:
        self.steps, self.sizes = program.steps, sizes
        self.moved = False
        roots, alone = roots_of(program), frozenset[Ref]()
        self.stays = [step.op in _BARRIERS or step.effects for step in self.steps]
        pairs = zip(self.steps, self.stays, strict=True)
        self.views = [bool(step.views) and not stays for step, stays in pairs]
        # The values that each step reads, itself or by a view, and the bytes that it makes.
        self.reads: list[list[Ref]] = []
        self.makes = [sum(sizes.get(ref, 0) for ref in step.outs) for step in self.steps]
        for step, is_view in zip(self.steps, self.views, strict=True):
            used = () if is_view else (*step.uses(), *step.outs)
            owners = {root: None for ref in used for root in roots.get(ref, alone) if root in sizes}
            self.reads.append(list(owners))

    def ordered(self) -> list[int]:
        """Return the steps in the new order."""
        self._prepare()
        ends = compress(count(), self.stays)
        self.end = next(ends, len(self.steps))
        found: list[int] = []
        for number in range(len(self.steps)):
            ready = [number]
            if number == self.end:
                self.end = next(ends, len(self.steps))
            while ready:
                at = ready.pop()
                if self.waits[at] == _DONE:
                    continue
                self.moved |= at != number
                found += self._take(at)
                ready += self._freeing(at)
        return found

    def _prepare(self) -> None:
        """Find out how many steps each one waits for, and how many are yet to read each value."""
        length = len(self.steps)
        maker = {ref: number for number, step in enumerate(self.steps) for ref in step.outs}
        self.waits = [0] * length
        self.users: list[list[int]] = [[] for _ in range(length)]
        self.before: list[list[int]] = [[] for _ in range(length)]  # views that each step reads
        self.left = dict.fromkeys(self.sizes, 0)
        # The sum of the numbers of these steps, which is the last one's number in the end.
        self.sums = dict.fromkeys(self.sizes, 0)
        needs: list[set[int]] = []
        for number, step in enumerate(self.steps):
            needed: set[int] = set()
            for each in sorted({maker[ref] for ref in step.uses() if ref in maker}):
                if self.views[each]:
                    needed |= needs[each]
                    self.before[number] += [*self.before[each], each]
                else:
                    needed.add(each)
            needs.append(needed)
            self.waits[number] = len(needed)
            for each in needed:
                self.users[each].append(number)
            for ref in self.reads[number]:
                self.left[ref] += 1
                self.sums[ref] += number

    def _take(self, number: int) -> list[int]:
        """Take a step, after the views that it reads; return them all."""
        taken = [each for each in self.before[number] if self.waits[each] != _DONE]
        taken = [*dict.fromkeys(taken), number]
        for each in taken:
            self.waits[each] = _DONE
        return taken

    def _freeing(self, number: int) -> Iterable[int]:
        """Return the steps that can let go of memory now that a step has been taken."""
        found = set()
        for other in self.users[number]:
            if self.waits[other] != _DONE:
                self.waits[other] -= 1
                found.add(other)
        for ref in self.reads[number]:
            self.left[ref] -= 1
            self.sums[ref] -= number
            if self.left[ref] == 1:
                found.add(self.sums[ref])
        return sorted(filter(self._shrinks, found), reverse=True)

    def _shrinks(self, number: int) -> bool:
        """Return whether a step frees more than it makes, and stands before the next barrier."""
        if self.waits[number] != 0 or number >= self.end or self.views[number]:
            return False
        freed = sum(self.sizes[ref] for ref in self.reads[number] if self.left[ref] == 1)
        return freed > self.makes[number]

    def in_use(self, steps: Sequence[int]) -> tuple[int, int]:
        """Return the most bytes that are in use in a step, and the sum over all steps."""
        left = dict.fromkeys(self.sizes, 0)
        for refs in self.reads:
            for ref in refs:
                left[ref] += 1
        most = total = used = 0
        for number in steps:
            used += self.makes[number]
            most, total = max(most, used), total + used
            for ref in self.reads[number]:
                left[ref] -= 1
                if not left[ref]:
                    used -= self.sizes[ref]
        return most, total
