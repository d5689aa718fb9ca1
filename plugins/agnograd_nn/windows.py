"""Windows that slide over the spatial axes of arrays: those after the batch and the channels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from typing import Any

from agnograd.extend import device_of

__all__ = ["Window", "combined", "cropped", "padded", "per_axis", "window_of"]

Sizes = int | Sequence[int]
Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """The form of a window and its way; each has an entry for each spatial axis.

    Attributes
    ----------
    kernel : tuple of int
        How many elements a window has.
    stride : tuple of int
        How far apart windows are.
    padding : tuple of (int, int)
        How many elements are added before and after those of the array.
    dilation : tuple of int
        How far apart the elements of a window are.
    """

    kernel: Lengths
    stride: Lengths
    padding: tuple[tuple[int, int], ...]
    dilation: Lengths

    @property
    def extent(self) -> Lengths:
        """The length of the window, from its first to its last element."""
        pairs = zip(self.kernel, self.dilation, strict=True)
        return tuple((size - 1) * step + 1 for size, step in pairs)

    def padded(self, lengths: Sequence[int]) -> Lengths:
        """Return the lengths of the axes with their padding."""
        pairs = zip(lengths, self.padding, strict=True)
        return tuple(before + length + after for length, (before, after) in pairs)

    def counts(self, lengths: Sequence[int]) -> Lengths:
        """Return how many windows there are along each axis of these lengths."""
        triples = zip(self.padded(lengths), self.extent, self.stride, strict=True)
        counts = tuple((full - extent) // step + 1 for full, extent, step in triples)
        if any(count < 1 for count in counts):
            raise ValueError(
                f"no window of kernel size {self.kernel} and dilation {self.dilation} fits into "
                f"spatial axes of lengths {tuple(lengths)} with padding {self.padding}"
            )
        return counts

    def taps(self) -> Iterator[Lengths]:
        """Yield the place of each element of a window, in row-major order."""
        return itertools.product(*map(range, self.kernel))

    def key(self, tap: Sequence[int], counts: Sequence[int]) -> tuple[Any, ...]:
        """Return what reads, in a padded array, the element ``tap`` of every window."""
        places = enumerate(zip(tap, counts, strict=True))
        return (slice(None), slice(None), *(self._slice(axis, *each) for axis, each in places))

    def keys_along(self, counts: Sequence[int]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield, for each spatial axis, what reads each element of windows only along it."""
        for axis, (size, count) in enumerate(zip(self.kernel, counts, strict=True)):
            along = [self._slice(axis, place, count) for place in range(size)]
            yield [((slice(None),) * (axis + 2) + (each, ...)) for each in along]

    def _slice(self, axis: int, place: int, count: int) -> slice:
        """Return what reads, along one spatial axis, one element of as many windows."""
        start, step = place * self.dilation[axis], self.stride[axis]
        return slice(start, start + (count - 1) * step + 1, step)


def per_axis(value: Sizes, rank: int, what: str) -> Lengths:
    """Return an option as a tuple with a whole number for each spatial axis."""
    sizes = (value,) * rank if isinstance(value, Integral) else tuple(value)  # type: ignore[arg-type]
    if len(sizes) != rank or not all(isinstance(each, Integral) for each in sizes):
        raise ValueError(f"{what} must be an integer, or {rank} of them, not {value!r}")
    return tuple(map(int, sizes))


def window_of(
    kernel: Sequence[int], stride: Sizes, padding: Sizes | str, dilation: Sizes
) -> Window:
    """Return the window that the options of PyTorch's functions describe.

    Raises
    ------
    ValueError
        If an option is none of an integer, one integer for each spatial axis, and, for the
        padding, ``"same"`` (with stride 1) or ``"valid"``; or is too small.
    """
    kernel = tuple(kernel)
    rank = len(kernel)
    steps, spaces = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    if min((*kernel, *steps, *spaces), default=1) < 1:
        raise ValueError(
            f"kernel size {kernel}, stride {steps} and dilation {spaces} must be positive"
        )
    if padding == "same":
        if any(step != 1 for step in steps):
            raise ValueError(f"padding='same' needs stride 1, not {stride!r}")
        totals = [space * (size - 1) for size, space in zip(kernel, spaces, strict=True)]
        pairs = tuple((total // 2, total - total // 2) for total in totals)
    elif isinstance(padding, str):
        if padding != "valid":
            raise ValueError(f"padding must be 'same', 'valid' or integers, not {padding!r}")
        pairs = ((0, 0),) * rank
    else:
        pairs = tuple((each, each) for each in per_axis(padding, rank, "padding"))
        if any(before < 0 for before, _ in pairs):
            raise ValueError(f"padding must not be negative: {padding!r}")
    return Window(kernel, steps, pairs, spaces)


def padded(x: Any, window: Window, xp: Any, value: float = 0) -> Any:
    """Return an array with a window's padding, filled with ``value``."""
    for axis, around in enumerate(window.padding, 2):
        if any(around):
            parts = [_filled(x, axis, length, value, xp) for length in around]
            x = xp.concat([parts[0], x, parts[1]], axis=axis)
    return x


def combined(
    x: Any, window: Window, combine: Callable[[Any, Any], Any], xp: Any, value: float = 0
) -> Any:
    """Return all elements of each window combined, along one axis after the other."""
    counts = window.counts(x.shape[2:])
    x = padded(x, window, xp, value)
    for keys in window.keys_along(counts):
        x = reduce(combine, (x[key] for key in keys))
    return x


def _filled(x: Any, axis: int, length: int, value: float, xp: Any) -> Any:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return xp.full(shape, value, dtype=x.dtype, device=device_of(x))


def cropped(x: Any, window: Window) -> Any:
    """Return an array without its window's padding."""
    if not any(map(any, window.padding)):
        return x
    lengths = zip(x.shape[2:], window.padding, strict=True)
    inside = (slice(before, length - after) for length, (before, after) in lengths)
    return x[(slice(None), slice(None), *inside)]
