"""Places in arrays: elements that steps read, or add to, and parts that they add to."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from agnograd_c._choose.layout import is_in_rows
from agnograd_c._choose.types import FLOATS, code_of, is_complex, type_of
from agnograd_compile.lowering import Fact, Ref, Step, TracedProgram

ADDS = "@scatter_add"


def is_read(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a step reads one element at a place that is known."""
    if step.op != "__getitem__" or step.kwargs or type(step.args[0]) is not Ref:
        return False
    x = facts[step.args[0]]
    return code_of(x) is not None and place_of(x, step.args[1]) is not None


def is_scatter(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a step adds a scalar to one element, at a place that is known, of an array."""
    if step.op != ADDS or step.kwargs:
        return False
    into, key, value = step.args
    (out,) = step.outs
    if type(into) is not Ref or type(value) is not Ref or facts[value].shape != ():
        return False
    array = facts[out]
    return (
        place_of(array, key) is not None
        and array.dtype.kind == "f"
        and code_of(array) == code_of(facts[into]) == code_of(facts[value])
        and is_in_rows(array)
        and (is_in_rows(facts[into]) or not any(facts[into].strides or (1,)))
    )


def place_of(fact: Fact, key: Any) -> int | None:
    """Return the offset in bytes of the element that a key names; None if it is not one."""
    keys = key if type(key) is tuple else (key,)
    if not fact.shape or is_complex(fact) or any(type_of(k) is not int for k in keys):
        return None
    region = region_of(fact, keys)
    return region.offset if region is not None and not region.shape else None


class Additions:
    """Says which steps add an element-wise value to a part of an array that a group makes.

    The first one adds to zeros, and each other one to what only the one before it made, so that
    nothing has to be there when the group begins. A group that adds a value up while it is in a
    cache needs no memory for all of it.
    """

    def __init__(self, program: TracedProgram) -> None:
        self.facts, self.constants = program.facts, program.constants
        adds = ADDS in {step.op for step in program.steps}
        self._used = program.used() if adds else dict[Ref, int]()
        self._zeros: dict[Ref, bool] = {}
        self._made: set[Ref] = set()

    def fits(self, step: Step, made: Mapping[Ref, tuple[Any, int, bool]]) -> bool:
        """Return whether a group can compute a step.

        ``made`` has the levels of the values before it, as ``levels_of`` finds them: the first is
        the shape of the elements of a value's group.
        """
        if step.op != ADDS or step.kwargs or step.views or len(step.args) != 3:
            return False
        into, key, value = step.args
        (out,) = step.outs
        if not (type(into) is type(value) is Ref):
            return False
        array, added = self.facts[out], self.facts[value]
        shape, level, _ = made.get(value, (None, 0, False))
        if not added.shape or shape != added.shape or added.dtype != array.dtype:
            return False
        if code_of(array) not in FLOATS or is_complex(array) or not is_in_rows(array):
            return False
        region = region_of(array, key)
        # If it were all of the array, the group could be told to write over what it reads.
        if region is None or region.shape != added.shape or prod(region.shape) == array.size:
            return False
        if into in self._made:  # by a group that this step, too, can be in
            found = self._used[into] == 1 and made[into][0] == shape and level <= made[into][1]
            found = found and self.facts[into] == array
        else:
            found = self._is_zero(into, array)
        if found:
            self._made.add(out)
        return found

    def _is_zero(self, ref: Ref, array: Fact) -> bool:
        """Return whether a value is a constant like an array, all of whose bits are zeros."""
        value, fact = self.constants.get(ref), self.facts[ref]
        if value is None or fact.shape != array.shape or fact.dtype != array.dtype:
            return False
        if ref not in self._zeros:
            spread = fact.strides is not None and not any(fact.strides) and fact.size
            least = value[(slice(1),) * len(fact.shape)] if spread else value
            self._zeros[ref] = not any(least.tobytes())
        return self._zeros[ref]


class Region(NamedTuple):
    """A part of an array: its first byte, its shape, and its strides."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def region_of(fact: Fact, key: Any) -> Region | None:
    """Return the part of an array that a key of integers and slices names; None for another key."""
    keys = key if type(key) is tuple else (key,)
    whole = (slice(None),) * (len(fact.shape) - sum(each is not ... for each in keys))
    if any(each is ... for each in keys):
        place = next(n for n, each in enumerate(keys) if each is ...)
        keys = (*keys[:place], *whole, *keys[place + 1 :])
    else:
        keys = (*keys, *whole)
    if len(keys) != len(fact.shape) or fact.strides is None:
        return None
    offset, shape, strides = 0, list[int](), list[int]()
    for each, length, stride in zip(keys, fact.shape, fact.strides, strict=True):
        if type(each) is slice and all(type(n) in (int, type(None)) for n in _bounds(each)):
            numbers = range(*each.indices(length))
            offset += numbers.start * stride if numbers else 0
            shape.append(len(numbers))
            strides.append(numbers.step * stride)
        elif type_of(each) is int and -length <= each < length:
            offset += each % length * stride
        else:
            return None
    return Region(offset, tuple(shape), tuple(strides))


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step
