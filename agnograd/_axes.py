"""Axes: which ones a reduction names, how they are kept, and permutations of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["inverse_permutation", "keep_axes", "reduced_axes"]

Shape = tuple[int, ...]


def reduced_axes(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return the axes that a reduction's ``axis`` names, counted from the front.

    Examples
    --------
    >>> reduced_axes((-1, 0), rank=3)
    (2, 0)
    >>> reduced_axes(None, rank=3)
    (0, 1, 2)
    """
    if axis is None:
        return tuple(range(rank))
    return tuple(each % rank for each in ((axis,) if isinstance(axis, int) else axis))


def keep_axes(reduced: Any, x_shape: Shape, axis: int | Sequence[int] | None, xp: Any) -> Any:
    """Return a reduction's result with the axes that it reduced as axes of length one.

    So a cotangent of ``sum(x, axis=axis)`` broadcasts to ``x_shape``, whether the axes were kept
    or not.
    """
    axes = reduced_axes(axis, len(x_shape))
    shape = tuple(1 if i in axes else length for i, length in enumerate(x_shape))
    return reduced if reduced.shape == shape else xp.reshape(reduced, shape)


def inverse_permutation(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation of axes that undoes another one.

    Examples
    --------
    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    count = len(axes)
    return tuple(sorted(range(count), key=lambda axis: axes[axis] % count))
