"""Taylor polynomials of functions of one array, for speed: all others follow from their rules.

``SLOPES`` has, by the names of an op and of an input, a function of the namespace, of the op's
differentiable inputs, of its result and of an order. It returns the derivatives of orders 1, 2, ...
by that input, divided by factorials; None in the list stands for zeros, and None in its place says
that it does not know them.
"""

from __future__ import annotations

import math
from typing import Any

Slopes = list[Any]


def _exp(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    return [out if m == 1 else out * (1.0 / math.factorial(m)) for m in range(1, order + 1)]


def _log(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    r = 1.0 / inputs[0]
    return [power * ((-1.0) ** m / (m + 1)) for m, power in enumerate(_powers(r, order))]


def _reciprocal(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    return [power * out * (-1.0) ** m for m, power in enumerate(_powers(out, order), 1)]


def _divisor(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    r = 1.0 / inputs[1]
    return [out * power * (-1.0) ** m for m, power in enumerate(_powers(r, order), 1)]


def _dividend(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    return [xp.ones_like(out) / inputs[1], *[None] * (order - 1)]


def _sin(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    return _turning((xp.cos(inputs[0]), -1.0 * out), order)


def _cos(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    return _turning((-xp.sin(inputs[0]), -1.0 * out), order)


def _turning(first: tuple[Any, Any], order: int) -> Slopes:
    """Return slopes of which the third and fourth are the negatives of the first two, and so on."""
    factors = ((-1.0) ** ((m - 1) // 2) / math.factorial(m) for m in range(1, order + 1))
    return [first[k % 2] * factor for k, factor in enumerate(factors)]


def _tanh(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    y = [out, 1.0 - out * out]
    for k in range(2, order + 1):  # y' = 1 - y^2
        total = y[0] * y[k - 1]
        for j in range(1, k):
            total = total + y[j] * y[k - 1 - j]
        y.append(total * (-1.0 / k))
    return y[1 : order + 1]


def _square(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    return [2.0 * inputs[0], xp.ones_like(out), *[None] * order][:order]


def _sqrt(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes:
    return _power(0.5, inputs[0], order)


def _base(xp: Any, inputs: list[Any], out: Any, order: int) -> Slopes | None:
    return _power(inputs[1], inputs[0], order) if isinstance(inputs[1], int | float) else None


def _power(p: float, x: Any, order: int) -> Slopes:
    found, factor = [], 1.0
    for m in range(1, order + 1):
        factor *= (p - m + 1) / m
        found.append(factor * x ** (p - m) if factor else None)
    return found


def _powers(x: Any, count: int) -> list[Any]:
    found = [x]
    for _ in range(count - 1):
        found.append(found[-1] * x)
    return found[:count]


SLOPES = {
    ("exp", "x"): _exp,
    ("log", "x"): _log,
    ("reciprocal", "x"): _reciprocal,
    ("divide", "x1"): _dividend,
    ("divide", "x2"): _divisor,
    ("sin", "x"): _sin,
    ("cos", "x"): _cos,
    ("tanh", "x"): _tanh,
    ("square", "x"): _square,
    ("sqrt", "x"): _sqrt,
    ("pow", "x1"): _base,
}
