"""Derivatives of raw functions by central differences, where there is no better way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnograd._arrays.domains import domain_of

# A function of raw arrays: a list in, a list of arrays out.
Flat = Callable[[Sequence[Any]], Sequence[Any]]
# The distance between 1 and the next number.
_SPACING = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "complex64": 2**-23}


def _step(x: Any, size: float) -> float:
    """Return the step that balances the error of the formula with that of rounding.

    Nocedal and Wright, "Numerical optimization" (2006), section 8.1: the cube root of the spacing.
    """
    name = domain_of(x).name_of(x.dtype) or ""
    return float(_SPACING.get(name, 2**-52) ** (1 / 3) * max(1.0, size))


def _largest(x: Any) -> float:
    domain = domain_of(x)
    return float(domain.item(domain.library.max(domain.library.abs(x)))) if domain.size(x) else 0.0


def _inner(ones: Sequence[Any], others: Sequence[Any]) -> float:
    """Return the real inner product of two lists of arrays; None is 0."""
    total = 0.0
    for one, other in zip(ones, others, strict=True):
        if one is not None:
            domain = domain_of(one)
            xp = domain.library
            conjugate = xp.conj(one) if domain.is_complex(one.dtype) else one
            total += complex(domain.item(xp.sum(conjugate * other))).real
    return total


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
        rest = list(inputs[:place]), list(inputs[place + 1 :])

        def along(x: Any, rest: Any = rest) -> Sequence[Any]:
            return f([*rest[0], x, *rest[1]])

        found.append(_gradient(along, x, cotangents))
    return found


def _gradient(f: Callable[[Any], Sequence[Any]], x: Any, cotangents: Sequence[Any]) -> Any:
    domain = domain_of(x)
    xp, count = domain.library, domain.size(x) or 0
    flat, places = xp.reshape(x, (-1,)), xp.arange(count, device=domain.device(x))
    directions = (1.0, 1.0j) if domain.is_complex(x.dtype) else (1.0,)
    numbers: list[Any] = []
    for i in range(count):
        step = _step(x, abs(domain.item(flat[i])))
        number: Any = 0.0
        for direction in directions:
            ends, outputs = [], []
            for sign in (1.0, -1.0):
                moved = xp.where(places == i, flat + sign * step * direction, flat)
                ends.append(domain.item(moved[i]))
                outputs.append(f(xp.reshape(moved, x.shape)))
            length = abs(ends[0] - ends[1])  # as it was rounded
            change = _inner(cotangents, outputs[0]) - _inner(cotangents, outputs[1])
            number += direction * (change / length)
        numbers.append(number)
    gradient = xp.asarray(numbers, dtype=x.dtype, device=domain.device(x))
    return xp.reshape(gradient, x.shape)


def pushed(f: Flat, inputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Return the tangent of each output by two calls along a line; a tangent of None is 0."""
    pairs = [(x, t) for x, t in zip(inputs, tangents, strict=True) if t is not None]
    length = max((_largest(t) for _, t in pairs), default=0.0) or 1.0
    step = max((_step(x, _largest(x)) for x, _ in pairs), default=1.0) / length
    ends = [
        f([x if t is None else x + sign * step * t for x, t in zip(inputs, tangents, strict=True)])
        for sign in (1.0, -1.0)
    ]
    return [
        (one - other) / (2 * step) if domain_of(one).is_inexact(one.dtype) else None
        for one, other in zip(*ends, strict=True)
    ]
