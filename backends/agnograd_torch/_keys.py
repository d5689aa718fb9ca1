"""Basic keys without the negative steps that PyTorch refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["forward_steps", "is_backward"]


def forward_steps(key: Any, shape: Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """Return a basic key with only positive steps, and the axes of its result to flip.

    Parameters
    ----------
    key : int, slice, Ellipsis, None, or a tuple of them
        What stands in the square brackets.
    shape : sequence of int
        The shape of the array.

    Examples
    --------
    >>> forward_steps((0, slice(None, None, -2)), (2, 4))
    ((0, slice(1, 5, 2)), (0,))
    """
    parts = key if isinstance(key, tuple) else (key,)
    if not any(map(is_backward, parts)):
        return key, ()
    consumed = sum(part is not None and part is not Ellipsis for part in parts)
    turned: list[int] = []
    made: list[Any] = []
    axis = place = 0  # of the array, and of the result
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - consumed
            place += len(shape) - consumed
        else:
            if is_backward(part):
                turned.append(place)
                at = range(*part.indices(shape[axis]))[::-1]
                part = slice(at.start, at.stop, at.step)
            axis += part is not None
            place += part is None or isinstance(part, slice)
        made.append(part)
    return tuple(made), tuple(turned)


def is_backward(part: Any) -> bool:
    """Return whether a part of a key is a slice with a negative step."""
    return isinstance(part, slice) and (part.step or 1) < 0
