"""A call on plain NumPy arrays: its values, and its derivatives by central differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from agnograd.extend import is_array
from agnograd_certify._calls import Call, plain_numpy

__all__ = ["ATOL", "RTOL", "Probe", "bends", "is_inexact", "tolerance"]

STEP = 1e-3  # of the five-point formula
RTOL, ATOL = 1e-5, 1e-7
STENCIL = ((-2, 1), (-1, -8), (1, 8), (2, -1))  # Abramowitz and Stegun, 25.3.6


def _leaves(result: Any) -> Iterator[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, tuple | list):
        for each in result:
            yield from _leaves(each)
    elif isinstance(result, float | complex | plain_numpy().number) or is_array(result):
        yield result


def is_inexact(leaf: Any) -> bool:
    """Return whether a value is floating-point or complex."""
    kind = str(getattr(leaf, "dtype", type(leaf).__name__))
    return "float" in kind or "complex" in kind


def tolerance(reference: Any) -> float:
    """Return the absolute tolerance for elements of an array."""
    np = plain_numpy()
    largest = np.max(np.abs(reference), initial=0, where=np.isfinite(reference))
    return ATOL * max(1.0, float(largest))


class Probe:
    """A call with arrays in double precision, and weights that its results are contracted with."""

    def __init__(self, call: Call) -> None:
        self.subject, self.names = call, call.names
        self.arrays = [_double(each) for each in call.arrays]
        self.inexact = [place for place, each in enumerate(self.arrays) if is_inexact(each)]

    def run(self, xp: Any, arrays: Sequence[Any]) -> list[Any]:
        """Return the floating-point leaves of the call's result."""
        return [leaf for leaf in _leaves(self.subject.call(xp, arrays)) if is_inexact(leaf)]

    def on_numpy(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the leaves on plain NumPy; the call may change what it gets."""
        np = plain_numpy()
        return [np.asarray(leaf) for leaf in self.run(np, [np.array(each) for each in arrays])]

    @cached_property
    def values(self) -> list[Any]:
        """The leaves on plain NumPy."""
        found, np = self.on_numpy(self.arrays), plain_numpy()
        if not found:
            raise TypeError("no output is of floating-point dtype")
        for what, arrays in (("argument", filter(is_inexact, self.arrays)), ("result", found)):
            if not any(np.any(np.isfinite(each)) for each in arrays):
                raise ValueError(f"no {what} has a finite element: there is nothing to check")
        return found

    @cached_property
    def weights(self) -> list[Any]:
        """Fixed weights of the leaves, away from zero."""
        rng = plain_numpy().random.default_rng(0)
        shapes = [out.shape for out in self.values]
        drawn = [rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape) for shape in shapes]
        return [
            weight + 1j * rng.uniform(0.5, 1.5, out.shape) if out.dtype.kind == "c" else weight
            for weight, out in zip(drawn, self.values, strict=True)
        ]

    @cached_property
    def differences(self) -> tuple[list[Any], Any]:
        """The gradient by differences for each inexact array, and how far each leaf moved."""
        found = [self._difference(place) for place in self.inexact]
        moved = [each for _, each in found]
        return [each for each, _ in found], plain_numpy().max(moved, axis=0)

    def _difference(self, index: int) -> tuple[Any, Any]:
        np, array = plain_numpy(), self.arrays[index]
        gradient, moved = np.zeros(array.shape, array.dtype), np.zeros(len(self.weights))
        for place in np.ndindex(array.shape):
            for direction in _directions(array):
                slopes = self._slopes(index, place, direction, _step(array[place]))
                gradient[place] += direction * slopes.sum()
                moved = np.fmax(moved, abs(slopes))
        return gradient, moved

    def _slopes(self, index: int, place: Any, direction: complex, step: float) -> Any:
        """Return the slope of each leaf along an element, contracted with its weights."""
        total = plain_numpy().zeros(len(self.weights))
        for multiple, factor in STENCIL:
            total += factor * self._at(index, place, multiple * step * direction)
        return total / (12 * step)

    def _at(self, index: int, place: Any, by: complex) -> Any:
        """Return each leaf, contracted with its weights, where one element has moved."""
        np, arrays = plain_numpy(), list(self.arrays)
        arrays[index] = arrays[index].copy()
        arrays[index][place] += by
        pairs = zip(self.weights, self.on_numpy(arrays), strict=True)
        return np.asarray([float(np.sum(np.real(np.conj(w) * leaf))) for w, leaf in pairs])

    def refined(self, index: int, place: Any) -> tuple[complex, float]:
        """Return the derivative by finer and finer differences, and how far it may be off.

        It is infinitely far off where the function is not smooth: where differences do not settle,
        or where it bends by as much for a smaller step, as it does at a kink.
        """
        np, array = plain_numpy(), self.arrays[index]
        steps = [_step(array[place]) / 4**k for k in range(5)]
        found = []
        for step in steps:
            pairs = ((d, self._slopes(index, place, d, step).sum()) for d in _directions(array))
            found.append(complex(sum(direction * slope for direction, slope in pairs)))
        off = [abs(fine - coarse) for coarse, fine in itertools.pairwise(found)]
        off = [each if np.isfinite(each) else np.inf for each in off]
        best = int(np.argmin(off))
        # Where steps are long, of large numbers, slopes are small for any function that is bounded.
        value, scale = found[best + 1], max(STEP / steps[0], abs(found[best + 1]))
        if off[best] > 1e-3 * scale:
            return value, np.inf
        for direction in _directions(array):
            at = partial(self._along, index, place, direction)
            if bends(at, steps[0], 1e-5 * scale):
                return value, np.inf
        return value, off[best]

    def _along(self, index: int, place: Any, direction: complex, distance: float) -> Any:
        return self._at(index, place, distance * direction)


def bends(at: Callable[[float], Any], step: float, close: float) -> bool:
    """Return whether slopes from both sides differ by as much for a smaller step: a kink."""
    np, here, found = plain_numpy(), at(0.0), []
    for width in (step, step / 16):
        found.append(float(np.max(np.abs(at(-width) - 2 * here + at(width)))) / width)
    coarse, fine = found
    return not fine <= max(0.5 * coarse, close)


def _step(value: complex) -> float:
    """Return the width of a step: that of large numbers grows with them, as their rounding does."""
    return STEP * max(1.0, abs(complex(value)) / 100)


def _directions(array: Any) -> tuple[complex, ...]:
    return (1.0, 1j) if array.dtype.kind == "c" else (1.0,)


def _double(array: Any) -> Any:
    """Return an array in double precision, or as it is if it is neither real nor complex."""
    wide = {"f": "float64", "c": "complex128"}.get(array.dtype.kind)
    return array if wide is None else plain_numpy().asarray(array, dtype=wide)
