"""Buckets: which gradients leave together, and in which order, the same on all ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agnograd_memory import nbytes

__all__ = ["Bucket", "bytes_in", "in_buckets"]

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Bucket(NamedTuple):
    """Leaves whose gradients are one message: their numbers, of one dtype."""

    numbers: tuple[int, ...]
    nbytes: int


def bytes_in(what: str, size: Any) -> int:
    """Return a size such as ``"8 MiB"``, or a number of bytes, as a number of bytes."""
    amount, _, unit = str(size).strip().partition(" ")
    try:
        found = int(float(amount) * _UNITS[unit.strip() or "B"])
    except (KeyError, ValueError):
        found = 0
    if found < 1:
        raise ValueError(f"{what} must be a positive size such as '8 MiB' or 4096, not {size!r}")
    return found


def in_buckets(
    order: Sequence[int], leaves: Sequence[Any], bucket: int, first: int
) -> Iterator[Bucket]:
    """Yield buckets of leaves in an order, none larger than ``bucket`` bytes unless one leaf is.

    The first one has at most ``first`` bytes, so that it leaves early, and the last one has hardly
    more, so that little is left to be sent when the pass is done. A bucket ends where the dtype
    changes.
    """
    sizes = {each: nbytes(leaves[each]) for each in order}
    last, left = len(order), first  # where the last bucket begins
    while last and left > 0:
        last -= 1
        left -= sizes[order[last]]
    numbers: list[int] = []
    total, limit, dtype = 0, first, None
    for place, number in enumerate(order):
        full = total + sizes[number] > limit or place == last
        if numbers and (full or leaves[number].dtype != dtype):
            yield Bucket(tuple(numbers), total)
            numbers, total, limit = [], 0, bucket
        numbers.append(number)
        total += sizes[number]
        dtype = leaves[number].dtype
    if numbers:
        yield Bucket(tuple(numbers), total)
