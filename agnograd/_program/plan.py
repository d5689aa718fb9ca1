"""Buffers: which memory each step of a program writes to, so that a run allocates no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache

from agnograd._program.program import Fact, Ref, Step, TracedProgram, freed_after, roots_of


class Way(Enum):
    """How a lowering can compute a step.

    ``NEW`` means that the library makes the results itself. ``INTO`` means that they can be written
    to given memory which none of the arguments shares, and ``ELEMENTWISE`` that this may also be
    the memory of an argument with the same layout. ``UPDATE`` means that the result can be made of
    the first argument, in its memory.
    """

    NEW = 0
    INTO = 1
    ELEMENTWISE = 2
    UPDATE = 3


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
    """

    sizes: tuple[int, ...]
    writes: tuple[tuple[int | None, ...], ...]
    updates: frozenset[int]


def planned(program: TracedProgram, way: Callable[[Step], Way]) -> MemoryPlan:
    """Return a plan that needs little memory; ``way`` says what can be done with each step.

    A buffer is used again once nothing reads its value, or a view of it, any more. What an output
    may share memory with is in none, and neither is what has no axes.
    """
    return _Planner(program, way).plan()


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


class _Planner:
    """A walk through a program that hands buffers out, and takes them back."""

    def __init__(self, program: TracedProgram, way: Callable[[Step], Way]) -> None:
        self.program = program
        self.ways = [way(step) for step in program.steps]
        self.freed = freed_after(program)
        self.roots = roots_of(program)
        self.updates = frozenset(
            number
            for number, way in enumerate(self.ways)
            if way is Way.UPDATE and self._is_update(number, program.steps[number])
        )
        self.kept = self._kept()
        self.sizes: list[int] = []
        self.free: dict[int, list[int]] = {}  # buffers by their size
        self._size = cache(nbytes)  # few facts are the same as no other value's
        self.held: dict[Ref, int] = {}

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
                    self._give_back(held.pop(ref))
        return MemoryPlan(tuple(self.sizes), tuple(writes), self.updates)

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
            return free.pop()  # the last one, which is still in the cache
        self.sizes.append(size)
        return len(self.sizes) - 1

    def _give_back(self, buffer: int) -> None:
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
        for number in sorted(self.updates, reverse=True):
            step = self.program.steps[number]
            if kept.intersection(step.outs):
                kept.add(step.args[0])
        return kept

    def _of(self, ref: Ref) -> frozenset[Ref]:
        return self.roots.get(ref, frozenset((ref,)))
