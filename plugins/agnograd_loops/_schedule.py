"""Which states of a loop are kept, where the loop is run backwards and not all fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from typing import TypeVar

from agnograd.errors import ArgumentError

S = TypeVar("S")


def states_backward(
    step: Callable[[S, int], S], state: S, count: int, slots: int | None, first: int = 0
) -> Iterator[tuple[int, S]]:
    """Yield the numbers of iterations, from the last one on, and the states before them.

    With ``slots`` so many states are kept at a time, and others are computed again, by the binomial
    schedule of Griewank and Walther ("Algorithm 799: revolve", 2000); None keeps all.
    """
    if slots is None:
        states = [state]
        for number in range(first, first + count - 1):
            states.append(step(states[-1], number))
        for number in range(first + count - 1, first - 1, -1):
            yield number, states.pop()
    elif count == 1:
        yield first, state
    elif count:
        ahead, later = steps_ahead(count, slots), state
        for number in range(first, first + ahead):
            later = step(later, number)
        yield from states_backward(step, later, count - ahead, slots - 1, first + ahead)
        yield from states_backward(step, state, ahead, slots, first)


def steps_ahead(count: int, slots: int) -> int:
    """Return how many steps to take to the next state that is kept, of the steps that are left.

    With the fewest repetitions t that suffice for s states, those steps have s states and t - 1
    repetitions, which are enough for C(s + t - 1, s). The rest has one state less, and is to have
    at least the C(s + t - 2, s - 1) steps for which t - 1 repetitions would be enough.
    """
    times = repetitions(count, slots)
    return min(comb(slots + times - 1, slots), count - comb(slots + times - 2, slots - 1))


def repetitions(count: int, slots: int) -> int:
    """Return how often a step is repeated at most, where so many states are kept at a time."""
    times = 0
    while comb(slots + times, slots) < count:
        times += 1
    return times


def checked(what: str, checkpoint: object) -> None:
    """Raise an ArgumentError if an option is none of those that ``slots_for`` takes."""
    known = checkpoint is None or (isinstance(checkpoint, str) and checkpoint == "log")
    if not known and not (type(checkpoint) is int and checkpoint > 0):
        raise ArgumentError(
            f"{what}: checkpoint is {checkpoint!r}; it must be a number of carries to keep, from 1 "
            'on, or "log"'
        )


def slots_for(checkpoint: int | str | None, count: int) -> int | None:
    """Return how many states an option keeps: "log" is for as many as there are repetitions."""
    if checkpoint is None:
        return None
    if checkpoint != "log":
        return int(checkpoint)
    slots = 1
    while slots < repetitions(count, slots):
        slots += 1
    return slots
