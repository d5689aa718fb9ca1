"""Buffers: which memory each step of a program writes to, so that a run allocates no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import NamedTuple

from agnograd.extend import switch
from agnograd_compile._programs.program import Fact, Ref, Step, TracedProgram, freed_after, roots_of

# How many larger buffers are tried for the place of a smaller one: more of them take long.
BUFFERS_TRIED = switch("BUFFERS_TRIED", 32, least=0, most=2**20, module=__name__)


class Way(Enum):
    """How a lowering can compute a step.

    ``NEW`` means that the library makes the results itself. ``INTO`` means that they can be written
    to given memory which none of the arguments shares, and ``ELEMENTWISE`` that this may also be
    the memory of an argument with the same layout. ``UPDATE`` means that the result can be made of
    the first argument, in its memory, and ``ADD`` that it can also be written to other memory.
    """

    NEW = 0
    INTO = 1
    ELEMENTWISE = 2
    UPDATE = 3
    ADD = 4


_UPDATES = (Way.UPDATE, Way.ADD)
# Ways whose results are the program's own, in whatever memory they are.
_OWN = (Way.INTO, Way.ELEMENTWISE, Way.ADD)


class Room(NamedTuple):
    """A part of a result's memory that holds other values before: its first byte, and its bytes."""

    owner: Ref
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where the results of a program's steps are written to.

    Attributes
    ----------
    sizes : tuple of int
        The bytes of each buffer.
    writes : tuple of tuple
        For each step, the number of the buffer that each of its results is written to; None for
        results in memory of their own.
    updates : frozenset of int
        The steps that change their first argument, which nothing else reads any more: their result
        is in its memory.
    over : mapping of int to Ref
        The steps whose only result is written over one of their arguments, which is in memory of
        its own, and which argument that is.
    rooms : tuple of Room
        Parts of results. They have numbers, too, which follow those of the buffers.
    """

    sizes: tuple[int, ...]
    writes: tuple[tuple[int | None, ...], ...]
    updates: frozenset[int]
    over: Mapping[int, Ref] = field(default_factory=dict)
    rooms: tuple[Room, ...] = ()


def planned(program: TracedProgram, way: Callable[[Step], Way], over: bool = False) -> MemoryPlan:
    """Return a plan that needs little memory; ``way`` says what can be done with each step.

    A buffer is used again once nothing reads its value, or a view of it, any more: by values of the
    same size, and then by smaller ones. What an output may share memory with is in none, and
    neither is what has no axes. If a lowering can write results ``over`` arguments without a
    buffer, what only becomes an output is in the output's memory.
    """
    return _Planner(program, way, over).plan()


def nbytes(fact: Fact) -> int | None:
    """Return the bytes of a value whose elements leave no gaps; None if they do, or are unknown.

    The axes may be in any order. Nothing is known of values without strides, such as those of
    immutable arrays.
    """
    expected = getattr(fact.dtype, "itemsize", None)
    if fact.strides is None or expected is None:
        return None
    axes = zip(fact.strides, fact.shape, strict=True)
    for stride, length in sorted(each for each in axes if each[1] != 1):
        if stride != expected:
            return None
        expected *= length
    return expected or None


def shared(sizes: Sequence[int], busy: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the sizes of fewer buffers, and which of them is used in place of each.

    One takes the place of a smaller one that is in use only while it is not itself. ``busy`` has a
    bit for each step, set where a buffer is in use.
    """
    kept: list[tuple[int, int]] = []  # the larger ones come first
    places = [0] * len(sizes)
    larger = 0
    for buffer in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
        size, used = sizes[buffer], busy[buffer]
        if not kept or kept[-1][0] != size:  # of one size there are as many as are needed at once
            larger = len(kept)
        tried = range(
            larger - 1, max(larger - 1 - BUFFERS_TRIED, -1), -1
        )  # from the smallest one on
        place = next((place for place in tried if not kept[place][1] & used), None)
        if place is None:
            place = len(kept)
            kept.append((size, used))
        else:
            kept[place] = kept[place][0], kept[place][1] | used
        places[buffer] = place
    return [size for size, _ in kept], places


class _Planner:
    """A walk through a program that hands buffers out, and takes them back."""

    def __init__(self, program: TracedProgram, way: Callable[[Step], Way], over: bool) -> None:
        self.program, self.goes_over = program, over
        self.ways = [way(step) for step in program.steps]
        self.freed = freed_after(program)
        self.roots = roots_of(program)
        self.updates = frozenset(
            number
            for number, way in enumerate(self.ways)
            if way in _UPDATES and self._is_update(number, program.steps[number])
        )
        self.over: dict[int, Ref] = {}
        self.kept = self._kept()
        self.sizes: list[int] = []
        self.free: dict[int, list[int]] = {}  # buffers by their size
        self._size = cache(nbytes)  # few facts are the same as no other value's
        self.held: dict[Ref, int] = {}
        self.since: dict[int, int] = {}  # the step from which each buffer that is held is in use
        self.busy: list[int] = []  # the steps in which each buffer was in use, a bit for each

    def plan(self) -> MemoryPlan:
        """Walk through all steps."""
        writes: list[tuple[int | None, ...]] = []
        held = self.held
        for number, step in enumerate(self.program.steps):
            if number in self.updates:
                buffers = [held.pop(step.args[0], None)]
            else:
                buffers = [self._buffer(number, step, ref) for ref in step.outs]
            writes.append(tuple(buffers))
            for ref, buffer in zip(step.outs, buffers, strict=True):
                if buffer is not None:
                    held[ref] = buffer
            for ref in self.freed.get(number, ()):
                if ref in held:
                    self._give_back(number, held.pop(ref))
        for buffer in held.values():  # what nothing frees is in use up to the end
            self._give_back(len(self.program.steps), buffer)
        sizes, places = shared(self.sizes, self.busy)
        if len(sizes) == len(self.sizes):
            return MemoryPlan(tuple(self.sizes), tuple(writes), self.updates, self.over)
        writes = [tuple([None if b is None else places[b] for b in each]) for each in writes]
        return MemoryPlan(tuple(sizes), tuple(writes), self.updates, self.over)

    def _buffer(self, number: int, step: Step, out: Ref) -> int | None:
        way, fact = self.ways[number], self.program.facts[out]
        if way is Way.NEW or way is Way.UPDATE or out in self.kept or fact.shape == ():
            return None  # without axes it may be a scalar, which nobody can write to
        size = self._size(fact)
        if size is None:
            return None
        if way is Way.ELEMENTWISE:
            for ref in step.uses():
                if ref in self.held and self._is_dying(number, step, ref, fact):
                    return self.held.pop(ref)
        free = self.free.setdefault(size, [])
        if free:
            buffer = free.pop()  # the last one, which is still in the cache
        else:
            buffer = len(self.sizes)
            self.sizes.append(size)
            self.busy.append(0)
        self.since[buffer] = number
        return buffer

    def _give_back(self, number: int, buffer: int) -> None:
        first = self.since[buffer]
        self.busy[buffer] |= ((1 << (number - first + 1)) - 1) << first
        self.free.setdefault(self.sizes[buffer], []).append(buffer)

    def _is_dying(self, number: int, step: Step, ref: Ref, fact: Fact) -> bool:
        """Return whether a step may write a result of this layout over an argument."""
        facts = self.program.facts
        return facts[ref] == fact and self._is_last(number, step, ref)

    def _is_last(self, number: int, step: Step, ref: Ref) -> bool:
        """Return whether nothing but this argument of the step still needs a value's memory."""
        if ref not in self.freed.get(number, ()):
            return False
        return all(ref not in self._of(each) for each in step.uses() if each != ref)

    def _is_update(self, number: int, step: Step) -> bool:
        into, facts = step.args[0], self.program.facts
        if type(into) is not Ref:
            return False
        if facts[into] != facts[step.outs[0]] or step.views:
            return False
        # Freed values are the program's own, and with other roots it would be a view.
        alone = self._of(into) == frozenset((into,)) and list(step.uses()).count(into) == 1
        return alone and self._is_last(number, step, into)

    def _kept(self) -> set[Ref]:
        """Return what an output may share memory with, also by way of updates."""
        kept = {root for ref in self.program.outputs for root in (*self._of(ref), ref)}
        steps = self.program.steps
        own = {
            ref
            for step, way in zip(steps, self.ways, strict=True)
            if way in _OWN
            for ref in step.outs
        }
        for number in range(len(steps) - 1, -1, -1):
            step = steps[number]
            if kept.isdisjoint(step.outs):
                continue
            if number in self.updates:
                kept.add(step.args[0])
            elif self.goes_over and self.ways[number] is Way.ELEMENTWISE and not step.views:
                into = self._overwritten(number, step, own, kept)
                if into is not None:
                    self.over[number] = into
                    kept.add(into)
        return kept

    def _overwritten(self, number: int, step: Step, own: Set[Ref], kept: Set[Ref]) -> Ref | None:
        """Return an argument that a step's only result may be written over, if there is one."""
        fact = self.program.facts[step.outs[0]]
        if len(step.outs) != 1 or not fact.shape or nbytes(fact) is None:
            return None
        for ref in step.uses():
            if ref in own and ref not in kept and self._is_dying(number, step, ref, fact):
                return ref
        return None

    def _of(self, ref: Ref) -> frozenset[Ref]:
        return self.roots.get(ref, frozenset((ref,)))
