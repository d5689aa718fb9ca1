"""Whether a call is of the same kind as an earlier one, without a key of it.

What is compared is what keys have. It is written as one function, since keys of many small arrays
take as long to make, hash and compare as a small program takes to run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._surroundings.elements import Sample
from agnograd._surroundings.keys import attributes_of, has_layout, key_of
from agnograd._util.deferred import function_from

Fits = Callable[[Sequence[Any], Sequence[Any]], bool]


def fitting(
    leaves: Sequence[Any],
    outside: Sequence[Any],
    samples: Mapping[int, Sample] = MappingProxyType({}),
) -> Fits:
    """Return what decides whether as many leaves, and arrays from outside, have the keys of these.

    Those at the places of ``samples`` have to be the same arrays, with the same elements there.
    It may say no where the keys are the same, but not the other way round.
    """
    held: list[Any] = []
    conditions: list[str] = []
    for letter, values in (("x", leaves), ("y", outside)):
        for place, value in enumerate(values):
            conditions += _conditions(f"{letter}{place}", value, held)
    for place, sample in samples.items():
        name = f"y{place}._raw" if isinstance(outside[place], Variable) else f"y{place}"
        at = len(held)
        conditions.append(f"{name} is k{at}")
        if sample.data is not None:
            part = name if sample.key is None else f"{name}[k{at + 2}]"
            part = part if has_layout(sample.array) else f"k{at + 3}({part})"
            conditions.append(f"{part}.tobytes() == k{at + 1}")
        held += [sample.array, sample.data, sample.key, sample.to_host]
    xs, ys = (
        "".join(f"{letter}{place}, " for place in range(len(values))) + f"= {name}"
        for letter, values, name in (("x", leaves, "leaves"), ("y", outside, "outside"))
    )
    lines = [xs] * bool(leaves) + [ys] * bool(outside)
    lines += [f"if not ({each}): return False" for each in conditions] + ["return True"]
    parameters = ", ".join(f"k{place}" for place in range(len(held)))
    head = [f"def make({parameters}):", " def fits(leaves, outside):"]
    text = "\n".join([*head, *(f"  {line}" for line in lines), " return fits"])
    fits: Fits = _maker(text)(*held)
    return fits


def _conditions(name: str, value: Any, held: list[Any]) -> list[str]:
    """Return what has to be true for a variable of the text to have a value's key."""

    def hold(thing: Any) -> str:
        held.append(thing)
        return f"k{len(held) - 1}"

    kind = f"type({name}) is {hold(type(value))}"
    if isinstance(value, Variable):
        node = "is" if value._node is None else "is not"
        return [kind, f"{name}._node {node} None", *_conditions(f"{name}._raw", value._raw, held)]
    attributes = attributes_of(value)
    if not attributes:
        key = key_of([value], None)
        return [kind, f"{hold(key_of)}([{name}], None) == {hold(key)}"]
    dtype = hold(value.dtype)  # most often the same object
    equal = (f"{name}.{text} == {hold(each)}" for text, each in attributes.items())
    return [kind, *equal, f"({name}.dtype is {dtype} or {name}.dtype == {dtype})"]


@lru_cache(256)
def _maker(text: str) -> Callable[..., Any]:
    """Return the function that a text defines: many calls differ in no more than what is held."""
    return function_from(text, {}, keep=False)
