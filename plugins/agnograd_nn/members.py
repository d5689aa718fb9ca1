"""Arrays of many members as those of one: the members lie along one of its own axes.

So one call computes what ``vmap`` asks for. Mapped arrays have the members along their first axis.
"""

from __future__ import annotations

from typing import Any

__all__ = ["folded", "merged", "parted", "unfolded"]


def folded(x: Any, xp: Any) -> Any:
    """Return mapped batches as one batch."""
    size, count, *shape = x.shape
    return xp.reshape(x, (size * count, *shape))


def unfolded(x: Any, size: int, count: int, xp: Any) -> Any:
    """Return one batch as ``size`` batches of ``count`` samples."""
    return xp.reshape(x, (size, count, *x.shape[1:]))


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
