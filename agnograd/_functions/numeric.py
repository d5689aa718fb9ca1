"""Derivatives of raw functions by central differences, where there is no better way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from agnograd._arrays.domains import domain_of

# A function of raw arrays: a list in, a list of arrays out.
Flat = Callable[[Sequence[Any]], Sequence[Any]]
# The distance between 1 and the next number.
_SPACING = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "complex64": 2**-23}


def _largest(x: Any) -> float:
    domain = domain_of(x)
    return float(domain.item(domain.library.max(domain.library.abs(x)))) if domain.size(x) else 0.0


def pushed(f: Flat, inputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Return the tangent of each output by two calls along a line; a tangent of None is 0.

    The step balances the error of the formula with that of rounding: it is the cube root of the
    spacing (Nocedal and Wright, "Numerical optimization", 2006, section 8.1), of the elements that
    it changes, and a power of two, so that it is added to most numbers without an error.
    """
    pairs = [(x, t) for x, t in zip(inputs, tangents, strict=True) if t is not None]
    length = max((_largest(t) for _, t in pairs), default=0.0) or 1.0
    steps = []
    for x, t in pairs:
        domain = domain_of(x)
        spacing = _SPACING.get(domain.name_of(x.dtype) or "", 2**-52)
        size = _largest(domain.library.where(t == 0, 0.0, x))
        steps.append(spacing ** (1 / 3) * max(1.0, size))
    step = 2.0 ** round(math.log2(max(steps, default=1.0) / length))
    ends = [
        f([x if t is None else x + sign * step * t for x, t in zip(inputs, tangents, strict=True)])
        for sign in (1.0, -1.0)
    ]
    return [
        (one - other) / (2 * step) if domain_of(one).is_inexact(one.dtype) else None
        for one, other in zip(*ends, strict=True)
    ]


def pulled(f: Flat, inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Return the gradient of each input by two calls for each element, None for integer ones.

    Of a complex element there are four calls: along the real and the imaginary axis.
    """
    found: list[Any] = []
    for place, x in enumerate(inputs):
        domain = domain_of(x)
        if not domain.is_inexact(x.dtype):
            found.append(None)
            continue
        xp, device = domain.library, domain.device(x)
        count = domain.size(x) or 0
        numbers = []
        for i in range(count):
            unit = xp.astype(xp.arange(count, device=device) == i, x.dtype)
            number: Any = 0.0
            for direction in (1.0, 1.0j) if domain.is_complex(x.dtype) else (1.0,):
                tangents: list[Any] = [None] * len(inputs)
                tangents[place] = xp.reshape(unit * direction, x.shape)
                number += direction * inner(cotangents, pushed(f, inputs, tangents))
            numbers.append(number)
        gradient = xp.asarray(numbers, dtype=x.dtype, device=device)
        found.append(xp.reshape(gradient, x.shape))
    return found


def inner(ones: Sequence[Any], others: Sequence[Any]) -> float:
    """Return the real inner product of two lists of arrays; None is 0."""
    total = 0.0
    for one, other in zip(ones, others, strict=True):
        if one is not None and other is not None:
            domain = domain_of(one)
            xp = domain.library
            conjugate = xp.conj(one) if domain.is_complex(one.dtype) else one
            total += complex(domain.item(xp.sum(conjugate * other))).real
    return total
