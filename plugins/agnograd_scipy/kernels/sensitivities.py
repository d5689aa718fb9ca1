"""The derivative of a solution in one direction, by which its steps are chosen, too.

An explicit method whose steps are at the limit of its stability keeps a solution, since its error
is controlled, and lets the derivative grow without bounds: nothing controls that. So the
variational equation is solved with the equation (Hairer, Norsett and Wanner, "Solving ordinary
differential equations I", 1993, section I.14), in one direction that has a part of everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnograd.extend import is_tracked
from agnograd.extend.arguments import flatten, unflatten
from agnograd_scipy._host import from_host, on_host, to_host

__all__ = ["Sensitivity", "change", "controlled"]


def controlled(y0: Any, rtol: Any = 1e-3, atol: Any = 1e-6, **options: Any) -> dict[str, Any]:
    """Return SciPy's options for a solution and its sensitivity, one after the other.

    The sensitivity is a difference: it is not asked for more digits than that has.
    """
    numbers = to_host(y0)
    floor = 30 * float(np.finfo(numbers.dtype).eps) ** 0.5
    size = floor * float(np.max(np.abs(numbers), initial=0.0))

    def both(given: Any, low: float) -> Any:
        given = np.broadcast_to(given, numbers.shape)
        return np.concatenate([given, np.maximum(given, low)])

    return {"rtol": both(rtol, floor), "atol": both(atol, size), **options}


class Sensitivity:
    """An equation and its variational equation, as one function of NumPy's arrays.

    Each tracked argument and initial value changes in proportion to itself, and so does the
    function, for what it uses that is not an argument of it.
    """

    def __init__(self, slope: Callable[..., Any], y0: Any, args: Any) -> None:
        leaves, self._tree = flatten(args)
        self._slope, self._y0 = slope, y0
        start = to_host(y0)
        self._steps = [
            change(each, k) if is_tracked(each) else None for k, each in enumerate(leaves)
        ]
        self._args = leaves
        self._weights = _weights(start.shape, len(leaves))
        direction = change(y0, len(leaves)) if is_tracked(y0) else np.zeros_like(start)
        self.start = np.concatenate([start, direction])
        self._began = False
        self._epsilon = float(np.finfo(start.dtype).eps) ** 0.5
        self._size = float(np.max(np.abs(start), initial=0.0)) or 1.0

    def __call__(self, t: float, both: Any) -> Any:
        """Return the derivative by time of a solution and its sensitivity."""
        y, s = np.split(both, 2)
        size = np.max(np.abs(s) / (np.abs(y) + 1e-3 * self._size), initial=0.0)
        by = self._epsilon / max(float(size), 1.0)
        value = self._at(t, y, 0.0)
        moved = self._at(t, y + by * s, by)
        if not self._began and not np.all(np.isfinite(moved)):  # SciPy would search a step for ever
            raise RuntimeError("solve_ivp: fun is not finite beside the initial values.")
        self._began = True
        return np.concatenate([value, (moved - value) / by + self._weights * value])

    def _at(self, t: float, y: Any, by: float) -> Any:
        args = [
            each if step is None or not by else from_host(to_host(each) + by * step, each)
            for each, step in zip(self._args, self._steps, strict=True)
        ]
        filled = unflatten(self._tree, args)
        return on_host(lambda y: self._slope(t, y, filled), self._y0)(y)


def _weights(shape: tuple[int, ...], first: int) -> Any:
    """Return numbers between 1/2 and 3/2 of both signs, so that nothing cancels by symmetry."""
    k = first + np.arange(1, math.prod(shape) + 1).reshape(shape)
    return (-1.0) ** k * (0.5 + k * 0.6180339887498949 % 1)


def change(x: Any, first: int) -> Any:
    """Return a change of each element of an array that is as large as it.

    It is positive where an element is 0, which may be the end of a domain.
    """
    numbers = to_host(x)
    weights = _weights(numbers.shape, first)
    return np.where(numbers == 0, np.abs(weights), weights * np.abs(numbers))
