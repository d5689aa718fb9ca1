"""Rooms: memory of results that is lent to other values, before the results are there.

A run allocates its results whatever its plan is. Those that are large, and come late, such as the
gradients of weights, can be allocated at the beginning, and hold what is computed before them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agnograd.extend import switch
from agnograd_compile._programs.plan import MemoryPlan, Room, Way, nbytes, shared
from agnograd_compile._programs.program import Ref, Step, TracedProgram, freed_after

__all__ = ["lent"]

# Smaller values are not worth an array that each run makes.
ROOM_BYTES = switch("ROOM_BYTES", 2**14, least=1, most=2**62, module=__name__)
# How many values are tried, and results that they may be in: each with each takes long.
ROOMS_TRIED = switch("ROOMS_TRIED", 256, least=1, most=2**16, module=__name__)
_ALIGNED = 64


@dataclass(slots=True)
class _Stay:
    """What is in one place, in the steps from the first to the last: values in place of another."""

    first: int
    last: int
    size: int = 0
    values: list[tuple[int, int]] = field(default_factory=list)  # steps, and which of their results
    buffer: int = -1

    def meets(self, other: _Stay) -> bool:
        """Return whether both are there in some step."""
        return self.first <= other.last and other.first <= self.last


def lent(program: TracedProgram, plan: MemoryPlan, way: Callable[[Step], Way]) -> MemoryPlan:
    """Return a plan with less memory in buffers, and some values in the memory of results."""
    owners = _owners(program, plan, way)
    if not owners:
        return plan
    stays = _stays(program, plan)
    rooms: list[Room] = []
    inside: dict[Ref, list[tuple[int, _Stay]]] = {ref: [] for ref in owners}
    largest = sorted((s for s in stays if s.size >= ROOM_BYTES), key=lambda s: (-s.size, s.first))
    moved = []
    for stay in largest[:ROOMS_TRIED]:
        for ref, (made, size) in owners.items():
            offset = _offset(inside[ref], stay, size) if stay.last < made else None
            if offset is not None:
                inside[ref].append((offset, stay))
                rooms.append(Room(ref, offset, stay.size))
                moved.append(stay)
                break
    sizes = _packed([stay for stay in stays if not any(stay is each for each in moved)])
    if sum(sizes) >= sum(plan.sizes):
        return plan
    for number, stay in enumerate(moved):
        stay.buffer = len(sizes) + number
    writes: list[list[int | None]] = [[None] * len(each) for each in plan.writes]
    for stay in stays:
        for step, place in stay.values:
            writes[step][place] = stay.buffer
    return replace(plan, sizes=tuple(sizes), writes=tuple(map(tuple, writes)), rooms=tuple(rooms))


def _owners(
    program: TracedProgram, plan: MemoryPlan, way: Callable[[Step], Way]
) -> dict[Ref, tuple[int, int]]:
    """Return what is large and in memory of its own: the step that makes it, and its bytes.

    The earliest ones come first, as they are of use to the fewest.
    """
    found: dict[Ref, tuple[int, int]] = {}
    for number, (step, writes) in enumerate(zip(program.steps, plan.writes, strict=True)):
        taken = number in plan.over or number in plan.updates or step.views
        if taken or all(each is not None for each in writes):
            continue
        if way(step) not in (Way.INTO, Way.ELEMENTWISE, Way.ADD):
            continue
        for ref, buffer in zip(step.outs, writes, strict=True):
            fact = program.facts[ref]
            size = nbytes(fact) or 0
            in_rows = sorted(fact.strides or (), reverse=True) == [*(fact.strides or ())]
            if buffer is None and fact.shape and size >= ROOM_BYTES and in_rows:
                found[ref] = number, size
    return dict([*found.items()][-ROOMS_TRIED:])


def _stays(program: TracedProgram, plan: MemoryPlan) -> list[_Stay]:
    """Return what is in buffers; a value that is written over another one goes on with its stay."""
    ends = {ref: n for n, refs in freed_after(program).items() for ref in refs}
    found: list[_Stay] = []
    latest: dict[int, _Stay] = {}
    for number, (step, writes) in enumerate(zip(program.steps, plan.writes, strict=True)):
        for place, (ref, buffer) in enumerate(zip(step.outs, writes, strict=True)):
            if buffer is None:
                continue
            stay = latest.get(buffer)
            if stay is None or stay.last < number:
                stay = latest[buffer] = _Stay(number, number)
                found.append(stay)
            stay.last = max(stay.last, ends.get(ref, len(program.steps)))
            stay.size = max(stay.size, nbytes(program.facts[ref]) or 0)
            stay.values.append((number, place))
    return found


def _offset(inside: Sequence[tuple[int, _Stay]], stay: _Stay, size: int) -> int | None:
    """Return where in so many bytes there is room for a stay, beside others; None if nowhere."""
    offset = 0
    for at, other in sorted(inside, key=lambda each: each[0]):
        if not stay.meets(other):
            continue
        if offset + stay.size <= at:
            break
        offset = max(offset, -(-(at + other.size) // _ALIGNED) * _ALIGNED)
    return offset if offset + stay.size <= size else None


def _packed(stays: Sequence[_Stay]) -> list[int]:
    """Put stays into buffers, and return the bytes of these."""
    sizes: list[int] = []
    busy: list[int] = []
    free: dict[int, list[int]] = {}
    ends: list[tuple[int, int]] = []
    for stay in stays:  # in the order in which they begin
        while ends and ends[0][0] < stay.first:
            buffer = heapq.heappop(ends)[1]
            free.setdefault(sizes[buffer], []).append(buffer)
        known = free.get(stay.size)
        if known:
            stay.buffer = known.pop()  # the last one, which is still in the cache
        else:
            stay.buffer = len(sizes)
            sizes.append(stay.size)
            busy.append(0)
        busy[stay.buffer] |= ((1 << (stay.last - stay.first + 1)) - 1) << stay.first
        heapq.heappush(ends, (stay.last, stay.buffer))
    sizes, places = shared(sizes, busy)
    for stay in stays:
        stay.buffer = places[stay.buffer]
    return sizes
