"""What rules are made of: parameters as arrays, and formulas that a removable singularity needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from agnograd.extend import device_of, is_python_scalar

__all__ = ["floats", "patched", "patched_even", "polynomial", "times"]

_INEXACT = ("real floating", "complex floating")


def floats(xp: Any, *values: Any) -> list[Any]:
    """Return values as arrays of floating-point or complex dtypes.

    Python scalars and integers get the precision of the first array that has such a dtype, or the
    default one.
    """
    arrays = [value for value in values if not is_python_scalar(value)]
    inexact = [value for value in arrays if _is_inexact(xp, value.dtype)]
    if len(inexact) == len(values):
        return inexact
    dtype = (xp.abs(inexact[0]) if inexact else xp.asarray(1.0)).dtype
    device = device_of(arrays[0]) if arrays else None
    made = []
    for value in values:
        if is_python_scalar(value):
            made.append(xp.asarray(value, dtype=dtype, device=device))
        else:
            made.append(value if _is_inexact(xp, value.dtype) else xp.astype(value, dtype))
    return made


@cache
def _is_inexact(xp: Any, dtype: Any) -> bool:
    return bool(xp.isdtype(dtype, _INEXACT))


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Return the sum of ``coefficients[k] * x**k``, by Horner's rule."""
    *rest, total = coefficients
    for coefficient in reversed(rest):
        total = total * x + coefficient
    return total


def patched(
    x: Any, bound: float, series: Sequence[float], formula: Callable[[Any], Any], xp: Any
) -> Any:
    """Return a function that a formula gives but near 0, where its power series does.

    Each is computed only where it holds, so that derivatives are right to the order of the series.
    """
    near = xp.abs(x) < bound
    inside = polynomial(xp.where(near, x, 0.0), series)
    return xp.where(near, inside, formula(xp.where(near, 1.0, x)))


def patched_even(x: Any, series: Sequence[float], formula: Callable[[Any], Any], xp: Any) -> Any:
    """Return an even function by a formula, but near 0 by a power series in x**2."""
    near = xp.abs(x) < 1.0
    inside = xp.where(near, x, 0.0)
    return xp.where(near, polynomial(inside * inside, series), formula(xp.where(near, 1.0, x)))


def times(x: Any, factor: Any, xp: Any) -> Any:
    """Return ``x * factor``, but 0 where x is 0 and the factor is infinite or undefined.

    The factor is replaced, not the product: where x happens to be 0, its derivative is as before.
    """
    idle = xp.logical_and(x == 0.0, xp.logical_not(xp.isfinite(factor)))
    return x * xp.where(idle, 0.0, factor)
