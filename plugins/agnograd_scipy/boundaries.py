"""What arrays have beyond their ends, in the modes of ``scipy.ndimage``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd.extend import device_of
from agnograd_scipy._arrays import filled

__all__ = ["extended", "inside", "modes_of", "wrapped"]

# Each mode of filters, with the symmetry that it is, "nearest" or "constant".
_KINDS = {
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "mirror": "mirror",
    "nearest": "nearest",
    "wrap": "grid-wrap",
    "grid-wrap": "grid-wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


def modes_of(mode: str | Sequence[str], rank: int) -> list[str]:
    """Return a mode for each axis.

    Raises
    ------
    ValueError
        If there is no such mode, or not one for each axis.
    """
    modes = [mode] * rank if isinstance(mode, str) else list(mode)
    if len(modes) != rank or any(each not in _KINDS for each in modes):
        raise ValueError(f"mode must be one of {', '.join(_KINDS)}, or {rank} of them: {mode!r}")
    return modes


def extended(x: Any, axis: int, before: int, after: int, mode: str, cval: Any, xp: Any) -> Any:
    """Return an array with so many elements more at both ends of an axis; less, if negative."""
    length, kind = x.shape[axis], _KINDS[mode]
    if kind == "constant":
        parts = [filled(x, axis, max(n, 0), cval, xp) for n in (before, after)]
        x = xp.concat([parts[0], x, parts[1]], axis=axis)
        stop = x.shape[axis] + min(after, 0)
        return x[(*(slice(None),) * axis, slice(max(-before, 0), stop), ...)]
    if not before and not after:
        return x
    places = xp.arange(-before, length + after, dtype=xp.int64, device=device_of(x))
    return xp.take(x, wrapped(places, length, kind, xp), axis=axis)


# -- interpolation ---------------------------------------------------------------------------------


def inside(x: Any, length: int, mode: str, xp: Any) -> Any:
    """Return coordinates with those beyond the ends where the mode has them, as SciPy does it."""
    last = length - 1
    beyond = (x < 0) | (x > last)
    if mode in ("constant", "grid-constant", "nearest"):
        return x
    if mode == "grid-wrap":
        return xp.where(beyond, xp.remainder(x, length), x)
    if length == 1 and mode in ("mirror", "wrap"):
        return x * 0
    if mode == "wrap":
        turns = xp.where(x < 0, xp.floor(-x / last) + 1, -xp.floor(x / last))
        return xp.where(beyond, x + turns * last, x)
    period = 2 * last if mode == "mirror" else 2 * length
    folded = xp.remainder(x, period)
    back = (period if mode == "mirror" else period - 1) - folded
    over = folded >= length
    if mode == "mirror":  # between the last element and the next, SciPy folds what comes from below
        over = over | ((x < 0) & (folded > last))
    return xp.where(beyond, xp.where(over, back, folded), x)


def wrapped(index: Any, length: int, kind: str, xp: Any) -> Any:
    """Return the element that stands for each integer; ``kind`` is a symmetry, or "nearest"."""
    if kind == "nearest":
        return xp.clip(index, 0, length - 1)
    if kind == "grid-wrap":
        return xp.remainder(index, length)
    if length == 1:
        return index * 0
    period = 2 * length - 2 if kind == "mirror" else 2 * length
    index = xp.remainder(index, period)
    last = period if kind == "mirror" else period - 1
    return xp.where(index >= length, last - index, index)
