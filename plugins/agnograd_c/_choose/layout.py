"""How the elements of a group's arrays lie in memory, and in which order a loop visits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from agnograd.extend import switch
from agnograd_compile.lowering import Fact

# Loops of fewer iterations are too short for vectors.
VECTOR_LOOP = switch("VECTOR_LOOP", 16, least=1, most=2**62, module=__name__)
# As many elements stay in a cache, so that it takes little longer to visit them in an order that is
# not that of memory.
CACHED_ELEMENTS = switch("CACHED_ELEMENTS", 2**15, least=1, most=2**62, module=__name__)
# Up to how many iterations of the innermost loop the lanes of vectors are those of the loop before.
LANES_LOOP = switch("LANES_LOOP", 8, least=1, most=2**62, module=__name__)
# From how many iterations of all loops on short ones take most of the time.
LOOPS = switch("LOOPS", 2**12, least=1, most=2**62, module=__name__)


@dataclass(slots=True)
class Layout:
    """A loop over the elements of arrays of one shape."""

    dims: list[int]  # how often each loop runs, from the outermost on; axes in a row are one
    strides: list[list[int]]  # of each array, the bytes from one iteration of a loop to the next
    kept: int  # how many of the loops are over axes that sums leave
    # Whether the loop before the innermost one adds up, each lane of a vector for itself.
    is_across: bool = False

    @property
    def is_short(self) -> bool:
        """Whether the innermost loop is too short for vectors, and the others take most time."""
        return self.dims[-1] < VECTOR_LOOP and prod(self.dims) > LOOPS

    def lengthen(self) -> None:
        """If the innermost loop is short, make a longer one the innermost."""
        if self.dims[-1] >= VECTOR_LOOP:
            return
        last = len(self.dims) - 1
        if self.kept == last and last and self.dims[-1] <= LANES_LOOP:
            if self.dims[-2] >= VECTOR_LOOP:
                self._move(last - 1)
                self.kept, self.is_across = last - 1, True
            return
        for axis in reversed(range(self.kept, last)):
            if self.dims[axis] >= VECTOR_LOOP:
                if prod(self.dims[axis:]) <= CACHED_ELEMENTS:
                    self._move(axis)
                return

    def _move(self, axis: int) -> None:
        """Make the loop over an axis the innermost."""
        for each in (self.dims, *self.strides):
            each.append(each.pop(axis))


def layout_of(
    shape: Sequence[int], arrays: Sequence[Fact], results: Sequence[Fact], kept: Sequence[int]
) -> Layout:
    """Return the loop over elements that results are written by; their axes may be in any order.

    ``kept`` are the axes that sums leave; those come first, in their order.
    """
    spread = [broadcast_strides(fact, shape) for fact in (*arrays, *results)]
    order = [*kept, *(axis for axis in range(len(shape)) if axis not in kept)]
    if not kept and spread:  # a sum of what is one number everywhere reads no array
        leading = spread[-1] if results else max(spread, key=lambda each: sum(map(bool, each)))
        order.sort(key=lambda axis: -abs(leading[axis]) if leading[axis] else -1)
        if not all(leading):
            order = list(range(len(shape)))
    loops: list[tuple[int, list[int]]] = []  # how often each runs, and the strides of all arrays
    outer = 0
    for axis in order:
        length, own = shape[axis], [each[axis] for each in spread]
        if length == 1:
            continue
        first = bool(kept) and axis not in kept and len(loops) == outer
        if loops and not first and loops[-1][1] == [stride * length for stride in own]:
            loops[-1] = loops[-1][0] * length, own
        else:
            loops.append((length, own))
        if axis in kept:
            outer = len(loops)
    if len(loops) == outer:  # what is added up is one element, or there is nothing to loop over
        loops.append((1, [0] * len(spread)))
    strides = [list(each) for each in zip(*[own for _, own in loops], strict=True)]
    layout = Layout([length for length, _ in loops], strides, outer)
    layout.lengthen()
    return layout


def broadcast_strides(fact: Fact, shape: Sequence[int]) -> list[int]:
    """Return the strides of an array, as one of another shape that it is broadcast to."""
    missing = len(shape) - len(fact.shape)
    own = zip(fact.shape, fact.strides or (), strict=True)
    return [0] * missing + [0 if length == 1 else stride for length, stride in own]


def rows(fact: Fact) -> Fact:
    """Return the fact of a new array of the same elements in C's order."""
    strides, size = [], fact.dtype.itemsize
    for length in reversed(fact.shape):
        strides.append(size)
        size *= max(length, 1)
    return fact._replace(strides=tuple(reversed(strides)))


def is_in_rows(fact: Fact) -> bool:
    """Return whether the elements lie in memory one after the other, in C's order."""
    own = zip(fact.shape, fact.strides or (), rows(fact).strides or (), strict=True)
    return all(length == 1 or stride == expected for length, stride, expected in own)


def across(fact: Fact) -> Fact:
    """Return the fact of the transposed view of a matrix."""
    strides = None if fact.strides is None else fact.strides[::-1]
    return fact._replace(shape=fact.shape[::-1], strides=strides)
