"""Steps that read one element of an array, or add a scalar to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnograd_c._code import code_of, is_complex, type_of
from agnograd_compile.lowering import Fact, Ref, Step

__all__ = ["is_in_rows", "is_read", "is_scatter", "place_of"]


def is_read(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a step reads one element at a place that is known."""
    if step.op != "__getitem__" or step.kwargs or type(step.args[0]) is not Ref:
        return False
    x = facts[step.args[0]]
    return code_of(x) is not None and place_of(x, step.args[1]) is not None


def is_scatter(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a step adds a scalar to one element, at a place that is known, of an array."""
    if step.op != "@scatter_add" or step.kwargs:
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
    if not fact.shape or len(keys) != len(fact.shape) or any(type_of(k) is not int for k in keys):
        return None
    if fact.strides is None or is_complex(fact):
        return None
    offset = 0
    for k, length, stride in zip(keys, fact.shape, fact.strides, strict=True):
        if not -length <= k < length:
            return None
        offset += k % length * stride
    return offset


def is_in_rows(fact: Fact) -> bool:
    """Return whether the elements lie in memory one after the other, in C's order."""
    expected = fact.dtype.itemsize
    for length, stride in zip(reversed(fact.shape), reversed(fact.strides or ()), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True
