"""Classic programs that lose digits, each computed in floats, and exactly by mpmath.

A program takes a namespace and numbers. ``Exact`` is the namespace over mpmath, so both run the
same lines. Points are inputs near each other: the error at one of them may be 0 by luck.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath


class Exact:
    """What the programs use of a namespace, with 100 digits more than anything loses here."""

    cos, exp, log, sqrt = mpmath.cos, mpmath.exp, mpmath.log, mpmath.sqrt

    @staticmethod
    def mean(numbers):
        return mpmath.fsum(numbers) / len(numbers)

    @staticmethod
    def square(numbers):
        return [each * each for each in numbers]

    @staticmethod
    def solve(matrix, right):
        return mpmath.lu_solve(mpmath.matrix(matrix), mpmath.matrix(right))


class Classic(NamedTuple):
    """A program, and inputs for each precision: lists of numbers, or of lists of them.

    ``solves`` says whether a library solves equations in it, which rounds as its processor does.
    """

    name: str
    program: Callable[..., Any]
    single: Sequence[Any]
    double: Sequence[Any]
    solves: bool = False


def near(*numbers, by=1e-3, count=10):
    """Return inputs near one: each number a little larger or smaller."""
    drawn = random.Random(0)
    return [[x * (1 + by * drawn.uniform(-1, 1)) for x in numbers] for _ in range(count)]


def quadratic(xp, x):
    """Compute the root that is near 0 by the formula of the textbooks."""
    a, b, c = x[0], x[1], x[2]
    return (xp.sqrt(b * b - 4.0 * a * c) - b) / (2.0 * a)


def cosine(xp, x):
    return (1.0 - xp.cos(x[0])) / (x[0] * x[0])


def variance(xp, x):
    """Compute the mean of squares less the square of the mean."""
    mean = xp.mean(x)
    return xp.mean(xp.square(x)) - mean * mean


def plain_sum(xp, x):
    total = x[0]
    for k in range(1, len(x)):
        total = total + x[k]
    return total


def compensated_sum(xp, x):
    """Add up by Kahan's algorithm."""
    total, lost = x[0], 0.0
    for k in range(1, len(x)):
        term = x[k] - lost
        new = total + term
        lost = (new - total) - term
        total = new
    return total


def _wilkinson(degree):
    coefficients = [1]
    for root in range(1, degree + 1):
        shifted = [*coefficients, 0]
        coefficients = [
            here - root * before for here, before in zip(shifted, [0, *coefficients], strict=True)
        ]
    return [float(each) for each in coefficients]


def wilkinson(xp, x):
    """Evaluate (x - 1)(x - 2)...(x - 20), multiplied out, by Horner's scheme."""
    total = x[0] * 1.0
    for coefficient in _wilkinson(20)[1:-1]:
        total = (total + coefficient) * x[0]
    return total + _wilkinson(20)[-1]


def rump(xp, x):
    a, b = x[0], x[1]
    a2, b2 = a * a, b * b
    b4 = b2 * b2
    b6 = b4 * b2
    return (
        333.75 * b6
        + a2 * (11.0 * a2 * b2 - b6 - 121.0 * b4 - 2.0)
        + 5.5 * (b4 * b4)
        + a / (2.0 * b)
    )


def cramer(xp, x):
    """Solve two equations that are nearly one."""
    a, b, c, d, e, f = (x[k] for k in range(6))
    return (e * d - b * f) / (a * d - b * c)


def hilbert(xp, x):
    """Solve equations with Hilbert's matrix: the first unknown."""
    solved = xp.linalg.solve(x[:, :-1], x[:, -1]) if hasattr(xp, "linalg") else xp.solve(*_split(x))
    return solved[0]


def _split(rows):
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def _hilbert(order, count=10):
    drawn = random.Random(0)
    return [
        [
            [1.0 / (i + j + 1) for j in range(order)] + [drawn.uniform(0.5, 1.5)]
            for i in range(order)
        ]
        for _ in range(count)
    ]


def logarithm(xp, x):
    return xp.log(1.0 + x[0])


def integrals(xp, x):
    """Integrate t**n exp(t - 1) from 0 to 1 for n = 10, each by the one before; x[0] is 1."""
    integral = 1.0 - xp.exp(-x[0])
    for n in range(1, 11):
        integral = 1.0 - n * integral
    return integral


def needle(xp, x):
    """Compute the area of a triangle that is nearly a line, by Heron's formula."""
    a, b, c = x[0], x[1], x[2]
    s = (a + b + c) / 2.0
    return xp.sqrt(s * (s - a) * (s - b) * (s - c))


def muller(xp, x):
    """Take four steps of a recurrence that floats carry to 100 and that tends to 5."""
    before, now = x[0], x[1]
    for _ in range(4):
        before, now = now, 108.0 - (815.0 - 1500.0 / before) / now
    return now


def series(xp, x):
    """Compute exp(-20) by its series, whose terms are up to 4e7 large."""
    term, total = x[0] / x[0], x[0] / x[0]
    for k in range(1, 90):
        term = term * x[0] / k
        total = total + term
    return total


def _random(count, around=0.0):
    drawn = random.Random(1)
    return [[around + drawn.random() for _ in range(count)] for _ in range(6)]


# With these numbers themselves nearly everything cancels.
_RUMP = [[77617.0, 33096.0], *near(77617.0, 33096.0)]

CLASSICS = [
    Classic("quadratic", quadratic, near(1.0, 100.0, 1.0), near(1.0, 1e5, 1.0)),
    Classic("cosine", cosine, near(1e-2), near(1e-5)),
    Classic("variance", variance, _random(50, 40.0), _random(50, 1e5)),
    Classic("plain sum", plain_sum, _random(100), _random(100)),
    Classic("compensated sum", compensated_sum, _random(100), _random(100)),
    Classic("wilkinson", wilkinson, near(5.0, by=0.1), near(5.0, by=0.1)),
    Classic("rump", rump, _RUMP, _RUMP),
    Classic(
        "cramer",
        cramer,
        near(1.0, 0.99, 0.99, 0.98, 1.0, 1.0, by=1e-5),
        near(1.0, 0.9999, 0.9999, 0.9998, 1.0, 1.0, by=1e-9),
    ),
    Classic("hilbert", hilbert, _hilbert(4), _hilbert(8), solves=True),
    Classic("logarithm", logarithm, near(1e-4, by=0.1), near(1e-9, by=0.1)),
    Classic("integrals", integrals, near(1.0, by=1e-4), near(1.0, by=1e-4)),
    Classic("needle", needle, near(9.0, 4.53, 4.53, by=1e-4), near(9.0, 4.5 + 1e-8, 4.5, by=1e-10)),
    Classic("muller", muller, near(4.0, 4.25, by=1e-5), near(4.0, 4.25, by=1e-8)),
    Classic("series", series, near(-20.0), near(-20.0)),
]


def exactly(classic, numbers):
    """Return the exact result for inputs as floats hold them."""
    with mpmath.workdps(120):
        return classic.program(Exact, _as_mpf(numbers))


def _as_mpf(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_as_mpf(each) for each in value] if isinstance(value, list) else mpmath.mpf(value)
