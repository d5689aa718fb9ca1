"""Sums of products of two arrays whose axes have names, by products of matrices."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["contracted", "ordered"]


def ordered(x: Any, names: str, wanted: str, xp: Any) -> Any:
    """Return an array with the axes that are wanted, in their order, and the sum over all others.

    A name that several axes have stands for their diagonal.
    """
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            x, names = _diagonal(x, names, name, xp)
    others = tuple(axis for axis, name in enumerate(names) if name not in wanted)
    if others:
        x = xp.sum(x, axis=others)
        names = "".join(name for name in names if name in wanted)
    order = tuple(names.index(name) for name in wanted)
    return x if order == tuple(range(len(order))) else xp.permute_dims(x, order)


def _diagonal(x: Any, names: str, name: str, xp: Any) -> tuple[Any, str]:
    """Replace the first two axes of a name by one."""
    first = names.index(name)
    second = names.index(name, first + 1)
    rest = [axis for axis in range(len(names)) if axis not in (first, second)]
    x = xp.linalg.diagonal(xp.permute_dims(x, (*rest, first, second)))
    return x, "".join(names[axis] for axis in rest) + name


def contracted(x1: Any, names1: str, x2: Any, names2: str, wanted: str, xp: Any) -> Any:
    """Return the sum of products of two arrays over all axes that are not wanted.

    An axis is one of matrices' stacks (both arrays have it, and it is wanted), one that is summed
    over (both have it), or one of a single array.
    """
    in1, in2, kept = set(names1), set(names2), set(wanted)
    stacks = [name for name in dict.fromkeys(names1) if name in in2 and name in kept]
    summed = [name for name in dict.fromkeys(names1) if name in in2 and name not in kept]
    only1 = [name for name in dict.fromkeys(names1) if name in kept and name not in in2]
    only2 = [name for name in dict.fromkeys(names2) if name in kept and name not in in1]
    x1 = ordered(x1, names1, "".join(stacks + only1 + summed), xp)
    x2 = ordered(x2, names2, "".join(stacks + summed + only2), xp)
    count = len(stacks)
    shape = (*x1.shape[: count + len(only1)], *x2.shape[count + len(summed) :])
    if not summed:
        wide = (*x1.shape, *(1,) * len(only2))
        tall = (*x2.shape[:count], *(1,) * len(only1), *x2.shape[count:])
        out = xp.reshape(x1, wide) * xp.reshape(x2, tall)
    else:
        stack, rows = x1.shape[:count], math.prod(x1.shape[count : count + len(only1)])
        columns = math.prod(x2.shape[count + len(summed) :])
        inner = math.prod(x1.shape[count + len(only1) :])
        out = xp.matmul(
            xp.reshape(x1, (*stack, rows, inner)), xp.reshape(x2, (*stack, inner, columns))
        )
        out = xp.reshape(out, shape)
    return ordered(out, "".join(stacks + only1 + only2), wanted, xp)
