"""Arrays of many members as those of one: the members lie along one of its own axes.

So one call computes what ``vmap`` asks for. Mapped arrays have the members along their first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from agnograd.extend import in_full

__all__ = ["all_mapped", "merged", "of_one_batch", "parted"]


def all_mapped(xp: Any, size: int, mapped: Set[str], **arrays: Any) -> list[Any]:
    """Return arrays as mapped ones: those that all members share are broadcast."""
    return [x if name in mapped else in_full(xp, size, x) for name, x in arrays.items()]


def of_one_batch(
    xp: Any, op: Callable[..., Any], size: int, arrays: Sequence[Any], **options: Any
) -> Any:
    """Return what an op gives for mapped batches, from one call with one batch of all members."""
    out = op(*(merged(x, 0, xp) for x in arrays), **options)
    return parted(out, 0, size, arrays[0].shape[1], xp)


def merged(x: Any, axis: int, xp: Any, groups: int = 1) -> Any:
    """Return mapped arrays as one that is as many times as long along an axis.

    If the axis has groups, the members lie within each of them.
    """
    size, *shape = x.shape
    before, length, after = shape[:axis], shape[axis], shape[axis + 1 :]
    if groups > 1:
        x = xp.reshape(x, (size, *before, groups, length // groups, *after))
        axis += 1
    return xp.reshape(xp.moveaxis(x, 0, axis), (*before, size * length, *after))


def parted(x: Any, axis: int, size: int, length: int, xp: Any, groups: int = 1) -> Any:
    """Return what ``merged`` was given, if the axis has this length: members along the first."""
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if groups == 1:
        return xp.moveaxis(xp.reshape(x, (*before, size, length, *after)), axis, 0)
    x = xp.reshape(x, (*before, groups, size, length // groups, *after))
    return xp.reshape(xp.moveaxis(x, axis + 1, 0), (size, *before, length, *after))
