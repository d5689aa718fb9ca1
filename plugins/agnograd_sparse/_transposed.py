"""The pattern of a user's function, by what gives its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from agnograd_sparse._sets import Sets, host


def first_free(inputs: Sequence[Any]) -> int:
    """Return the least number that is greater than all members of the sets of inputs."""
    known = [x.sets.members for x in inputs if getattr(x, "sets", None) is not None]
    return 1 + max([int(host().max(each)) for each in known if each.shape[0]], default=-1)


def transposed(
    backward: Callable[..., Any],
    xp: Any,
    inputs: Sequence[Any],
    results: Sequence[Any],
    first: int,
) -> list[Sets | None]:
    """Return the sets of results by what gives gradients: which cotangents these depend on.

    ``first`` is the first member that stands for one.
    """
    kind = type(results[0])
    grads, total = [], first
    for each in results:
        size = prod(each.shape)
        grads.append(kind(each.payload, each.run, Sets.own(size, total)))
        total += size
    found = backward(xp, *grads)
    gradients = [*found] if isinstance(found, tuple | list) else [found]
    elements, members = [host().zeros(0, dtype=host().int64)] * 2
    for x, gradient in zip(inputs, gradients, strict=True):
        if getattr(x, "sets", None) is None or getattr(gradient, "sets", None) is None:
            continue
        there = gradient.sets.members >= first
        places = gradient.sets.elements[there]  # in x, of what the result depends on
        sets = x.sets.taken(places)
        of_results = gradient.sets.members[there] - first
        elements = host().concat([elements, host().repeat(of_results, sets.lengths)])
        members = host().concat([members, sets.members])
    every = Sets.of_pairs(elements, members, total - first)
    parts, start = [], 0
    for each in results:
        size = prod(each.shape)
        parts.append(every.taken(host().arange(start, start + size)))
        start += size
    return [*parts]
