"""Functions whose bits are the same on every library.

They are made of operations that every library rounds alike, each by itself: sums, products,
quotients, roots and comparisons. Libraries' own logarithms and exponentials differ in their last
bits. No intermediate result is subnormal, since some libraries take those for 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from agnograd.extend import device_of
from agnograd_random._coefficients import DOUBLE, ERF, ERFC, ERFC_FAR, SINGLE, Fraction

__all__ = ["Arithmetic"]

_ROOT_HALF, _ROOT_2 = math.sqrt(0.5), math.sqrt(2.0)
_SPARE = 24


@cache
def _powers(lowest: int) -> tuple[float, ...]:
    """Return all powers of 2 that are normal numbers, from the smallest one on."""
    return tuple(math.ldexp(1.0, each) for each in range(lowest, 2 - lowest))


class Arithmetic:
    """Functions of float64 or float32 arrays that have the same bits on every library.

    A library's own class may compute in another way what has the same bits.

    Parameters
    ----------
    xp : namespace
        A raw namespace.
    bits : int
        64 or 32.
    """

    def __init__(self, xp: Any, bits: int) -> None:
        self.xp = xp
        self.bits = bits
        self.of = DOUBLE if bits == 64 else SINGLE
        self.dtype = xp.float64 if bits == 64 else xp.float32

    def number(self, x: Any) -> Any:
        """Return an array in this precision."""
        return self.xp.astype(x, self.dtype)

    def quotient(self, x1: Any, x2: Any) -> Any:
        """Return a quotient, which a compiler could make a product where x2 is one number."""
        return x1 / x2

    def root(self, x: Any) -> Any:
        """Return a square root, which is rounded before anything is divided by it."""
        return self.xp.sqrt(x)

    def product(self, x1: Any, x2: Any) -> Any:
        """Return a product that is rounded before anything is added to it."""
        return x1 * x2

    def polynomial(self, falling: Sequence[float], x: Any) -> Any:
        """Return a polynomial, whose coefficients are of falling powers."""
        first, second, *rest = falling
        total = (x if first == 1.0 else self.product(x, first)) + second
        for each in rest:
            total = self.product(total, x) + each
        return total

    def fraction(self, fraction: Fraction, x: Any) -> Any:
        """Return the quotient of two polynomials."""
        return self.polynomial(fraction[0], x) / self.polynomial(fraction[1], x)

    def parts(self, x: Any) -> tuple[Any, Any]:
        """Return mantissas, from 1/2 to 1, and exponents of positive normal numbers.

        The standard has no such function: exponents are found among all powers of 2.
        """
        xp = self.xp
        powers = xp.asarray(_powers(self.of.smallest), dtype=self.dtype, device=device_of(x))
        flat = xp.reshape(x, (-1,))
        large = flat >= 1.0
        flat = xp.where(large, 0.25 * flat, flat)  # so that the inverse is a normal number, too
        place = xp.searchsorted(powers, flat, side="right")  # of the power above
        inverse = xp.take(powers, powers.shape[0] - 1 - place, axis=0)
        exponent = place + self.of.smallest
        exponent = xp.where(large, exponent + 2, exponent)
        mantissa = 0.5 * self.product(flat, inverse)
        return xp.reshape(mantissa, x.shape), self.number(xp.reshape(exponent, x.shape))

    def log(self, x: Any) -> Any:
        """Return the logarithm of positive normal numbers; that of 0 is minus infinity."""
        xp = self.xp
        positive = xp.logical_and(x > 0.0, x < math.inf)
        found = self.log_of_normal(xp.where(positive, x, xp.ones_like(x)))
        # That of 0 is minus infinity, of infinity itself, and of the rest NaN.
        rest = xp.where(x == 0.0, -math.inf + xp.zeros_like(x), xp.where(x > 0.0, x, math.nan * x))
        return xp.where(positive, found, rest)

    def log_of_normal(self, x: Any) -> Any:
        """Return the logarithm of positive normal numbers.

        Nothing is selected by masks, which are multiplied instead: where they have no pattern,
        branches on them would take longer than all the rest.
        """
        mantissa, exponent = self.parts(x)
        low = self.number(mantissa < _ROOT_HALF)
        exponent = exponent - low
        f = (mantissa + mantissa * low) - 1.0
        s = f / (f + 2.0)
        half = 0.5 * self.product(f, f)
        z = self.product(s, s)
        series = self.product(z, self.polynomial(self.of.log, z))
        last = self.product(s, half + series) + self.product(exponent, self.of.ln2[1])
        return self.product(exponent, self.of.ln2[0]) - ((half - last) - f)

    def exp(self, x: Any, spare: int = _SPARE) -> Any:
        """Return the exponential; it is 0 if less than 2**-998 (2**-102 for float32).

        So its products with numbers from 2**-spare on are not subnormal.
        """
        xp = self.xp
        smallest = self.of.smallest
        least, most = (smallest + spare) * math.log(2.0), (1 - smallest - 2**-20) * math.log(2.0)
        inside = xp.logical_and(x > least, x < most)
        safe = xp.where(inside, x, xp.zeros_like(x))
        count = xp.floor(self.product(safe, 1.0 / math.log(2.0)) + 0.5)
        high = safe - self.product(count, self.of.ln2[0])
        low = self.product(count, self.of.ln2[1])
        r = high - low
        t = self.product(r, r)
        c = r - self.product(t, self.polynomial(self.of.exp, t))
        found = 1.0 - ((low - self.product(r, c) / (2.0 - c)) - high)
        found = self.product(found, self._power(count))
        zeros = xp.zeros_like(x)
        outside = xp.where(x > 0.0, math.inf + zeros, xp.where(x <= least, zeros, x))
        return xp.where(inside, found, outside)

    def _power(self, exponent: Any) -> Any:
        """Return powers of 2, whose exponents are those of normal numbers."""
        xp = self.xp
        powers = xp.asarray(_powers(self.of.smallest), dtype=self.dtype, device=device_of(exponent))
        place = xp.astype(exponent, xp.int32) - self.of.smallest
        place = xp.clip(xp.reshape(place, (-1,)), 0, powers.shape[0] - 1)
        return xp.reshape(xp.take(powers, place, axis=0), exponent.shape)

    def expit(self, x: Any) -> Any:
        """Return ``1 / (1 + exp(-x))``."""
        xp = self.xp
        small = self.exp(-xp.abs(x))
        return xp.where(x < 0.0, small, xp.ones_like(x)) / (1.0 + small)

    def tail_quantile(self, p: Any) -> Any:
        """Return the number that a normal one exceeds with probability p, at most 1/2."""
        xp = self.xp
        q = 0.5 - p
        inner = q <= 0.425
        near = xp.where(inner, q, xp.zeros_like(q))
        r = 0.180625 - self.product(near, near)
        return xp.where(
            inner, self.product(near, self.fraction(self.of.middle, r)), self.far_quantile(p)
        )

    def far_quantile(self, p: Any) -> Any:
        """Return the quantile of a tail less than 0.075."""
        xp = self.xp
        r = xp.sqrt(-self.log(xp.where(p < 0.25, p, 0.25 * xp.ones_like(p))))
        far, farther = self.fraction(self.of.far, r - 1.6), self.fraction(self.of.farther, r - 5.0)
        return xp.where(r <= 5.0, far, farther)

    def normal(self, x: Any) -> Any:
        """Return x with 0 in place of what is subnormal, and not negative."""
        return self.xp.where(x < 2.0**self.of.smallest, self.xp.zeros_like(x), x)

    def scaled_tail(self, x: Any) -> Any:
        """Return ``tail(x)``, of numbers from 1.5 on, times ``exp(x**2 / 2)``."""
        xp = self.xp
        one = xp.ones_like(x)
        x = self.product(xp.where(x < 1e5, x, 1e5 * one), _ROOT_HALF)
        between = self.fraction(ERFC, xp.where(x < 8.0, x, one))
        outer = self.fraction(ERFC_FAR, xp.where(x > 8.0, x, 8.0 * one))
        return 0.5 * xp.where(x < 8.0, between, outer)

    def tail(self, x: Any) -> Any:
        """Return the probability that a normal number exceeds x, which is not negative.

        It is 0 where it is so small that parts of it might be subnormal.
        """
        xp = self.xp
        x = xp.where(x < 40.0, x, 40.0 * xp.ones_like(x))
        half = self.product(0.5 * x, x)
        near = xp.where(x < _ROOT_2, self.product(x, _ROOT_HALF), xp.zeros_like(x))
        square = self.product(near, near)
        inner = 0.5 - 0.5 * self.product(near, self.fraction(ERF, square))
        front = self.exp(-half)
        front = xp.where(front < self.of.least_tail, xp.zeros_like(x), front)
        outer = self.product(front, self.scaled_tail(xp.where(x < _ROOT_2, _ROOT_2, x)))
        return xp.where(x < _ROOT_2, inner, outer)

    def accepted(
        self,
        propose: Callable[..., tuple[Any, Any]],
        words: Any,
        start: Any,
        *given: Any,
        rounds: int,
    ) -> Any:
        """Return the first proposal that is accepted for each element, or ``start`` if none is.

        Parameters
        ----------
        propose : callable
            ``propose(words, round, *given)`` returns whether proposals are accepted, and these.
        words : Words
        start : array
        given : array
            Of the shape of ``start``, as are proposals.
        rounds : int
            How many proposals there are at most for each element.
        """
        xp = self.xp
        found, done = start, xp.zeros_like(start, dtype=xp.bool)
        for count in range(rounds):
            accept, value = propose(words, count, *given)
            found = xp.where(xp.logical_and(accept, xp.logical_not(done)), value, found)
            done = xp.logical_or(done, accept)
            if self.finished(done):
                break
        return found

    def finished(self, done: Any) -> bool:
        """Return whether all elements are known to be done."""
        return bool(self.xp.all(done))
