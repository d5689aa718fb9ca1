"""Standard draws: what each makes of the words of its elements."""

from __future__ import annotations

import math
from typing import Any

from agnograd_random._exact import Arithmetic
from agnograd_random.threefry import shifted, signed, threefry

__all__ = ["DRAWS", "ROUNDS", "Draws", "Words"]

# The names of draws, and how many arrays of parameters each has.
DRAWS = {
    "bits": 0,
    "standard_uniform": 0,
    "standard_normal": 0,
    "standard_exponential": 0,
    "standard_gumbel": 0,
    "standard_gamma": 1,
    "loggamma": 1,
    "standard_truncated_normal": 2,
}
# The lanes of words: proposals of gamma have two each, from 0 on.
ROUNDS, _BOOST = 16, 64
_STEPS = 5
_SIGN = signed(2**31)


class Words:
    """The random words of a key for some elements.

    Parameters
    ----------
    xp : namespace
    key : two arrays, int32
    index : array, int32
        The places of the elements; it is broadcast with the key.
    """

    def __init__(self, xp: Any, key: tuple[Any, Any], index: Any) -> None:
        self.xp = xp
        self.key = key
        self.index = index

    def __call__(self, lane: Any = 0) -> tuple[Any, Any]:
        """Return two int32 words for each element."""
        second = self.xp.zeros_like(self.index) + lane
        return threefry(self.key, self.index, second, self.xp)


class Draws:
    """Numbers of distributions, made of words; the methods are named as in ``DRAWS``.

    Each of a single word pair is the quantile of its distribution at the same uniform number.
    """

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.exact = arithmetic
        self.xp = arithmetic.xp
        self.double = arithmetic.bits == 64

    def bits(self, words: Words) -> Any:
        """Return the first word of each element."""
        return words()[0]

    def standard_uniform(self, words: Words) -> Any:
        """Return multiples of 2**-53, or 2**-24 for float32, from 0 to 1, without 1."""
        exact = self.exact
        first, second = words()
        if not self.double:
            return exact.number(shifted(first, 8, self.xp)) * 2.0**-24
        high = exact.number(shifted(first, 5, self.xp)) * 2.0**26
        return (high + exact.number(shifted(second, 6, self.xp))) * 2.0**-53

    def tails(self, words: Words, lane: Any = 0) -> tuple[Any, Any]:
        """Return whether uniform numbers are less than 1/2, and how far from 0 or 1 they are.

        The distance is from 2**-65 (2**-33 for float32) to 1/2, and keeps its precision at 0.
        """
        xp, exact = self.xp, self.exact
        first, second = words(lane)
        upper = xp.bitwise_right_shift(first, xp.full_like(first, 31))
        distance = exact.number(xp.bitwise_xor(first, upper))
        if self.double:
            low = xp.bitwise_xor(xp.bitwise_xor(second, upper), xp.full_like(second, _SIGN))
            distance = distance * 2.0**32 + (exact.number(low) + 2.0**31)
        return first >= 0, (distance + 0.5) * (2.0**-64 if self.double else 2.0**-32)

    def standard_normal(self, words: Words, lane: Any = 0) -> Any:
        """Return normal numbers of mean 0 and variance 1."""
        low, distance = self.tails(words, lane)
        found = self.exact.tail_quantile(distance)
        return found * (1.0 - 2.0 * self.exact.number(low))

    def standard_exponential(self, words: Words, lane: Any = 0) -> Any:
        """Return exponential numbers of mean 1: minus the logarithms of uniform ones."""
        return self._minus_log(*self.tails(words, lane))

    def _minus_log(self, low: Any, distance: Any) -> Any:
        below = self.exact.number(low)
        above = 1.0 - below
        high = 1.0 - distance
        x = below * distance + above * high  # one of them, exactly
        lost = above * (distance - (1.0 - high))
        return lost / x - self.exact.log_of_normal(x)

    def standard_gumbel(self, words: Words) -> Any:
        """Return numbers of the standard Gumbel distribution."""
        return -self.exact.log_of_normal(self.standard_exponential(words))

    def _gamma(self, words: Words, alpha: Any) -> tuple[Any, Any]:
        """Return numbers of shape alpha, or of alpha + 1 where that is less than 1, and a rest.

        What a number is to be multiplied by is ``exp(-rest)``, which might be 0. Marsaglia and
        Tsang, "A simple method for generating gamma variables", 2000, sections 2 and 6.
        """
        xp, exact = self.xp, self.exact
        valid = alpha >= 0.0
        one = xp.ones_like(alpha)
        small = xp.logical_and(valid, alpha < 1.0)
        shape = xp.where(valid, xp.where(small, alpha + 1.0, alpha), one)
        d = shape - (1.0 / 3.0)
        c = 1.0 / exact.root(9.0 * d)
        found = exact.accepted(self._propose, words, d, d, c, rounds=ROUNDS)
        one_each = self.standard_exponential(words, _BOOST)
        rest = exact.quotient(one_each, xp.where(small, alpha, one))
        rest = xp.where(small, rest, xp.zeros_like(rest))
        return xp.where(valid, found, math.nan * one), rest

    def _propose(self, words: Words, count: Any, d: Any, c: Any) -> tuple[Any, Any]:
        """Return whether proposals are accepted, and the proposals."""
        xp, exact = self.xp, self.exact
        x = self.standard_normal(words, 2 * count)
        low, distance = self.tails(words, 2 * count + 1)
        root = 1.0 + exact.product(c, x)
        positive = root > 0.0
        root = xp.where(positive, root, xp.ones_like(root))
        cube = exact.product(exact.product(root, root), root)
        square = exact.product(x, x)
        # The first condition, which needs no logarithm, implies the second one. It holds where the
        # second one is lost to rounding, as alpha is large.
        left = xp.where(low, 1.0 - distance, distance)  # from the uniform number to 1
        surely = left > exact.product(0.0331 * square, square)
        logs = exact.product(3.0 * xp.ones_like(root), exact.log(root))
        bound = exact.product(d, (1.0 - cube) + logs)
        maybe = self._minus_log(low, distance) > -(0.5 * square + bound)
        accept = xp.logical_and(positive, xp.logical_or(surely, maybe))
        return accept, exact.product(d, cube)

    def standard_gamma(self, words: Words, alpha: Any) -> Any:
        """Return numbers of the gamma distribution with shape alpha and scale 1."""
        found, rest = self._gamma(words, alpha)
        return self.exact.normal(self.exact.product(found, self.exact.exp(-rest, spare=1)))

    def loggamma(self, words: Words, alpha: Any) -> Any:
        """Return the logarithms of the numbers of ``standard_gamma``, which may themselves be 0."""
        found, rest = self._gamma(words, alpha)
        return self.exact.log(found) - rest

    def standard_truncated_normal(self, words: Words, lower: Any, upper: Any) -> Any:
        """Return normal numbers between bounds: quantiles, of the tail that is nearer."""
        xp, exact = self.xp, self.exact
        infinite = xp.logical_and(lower == -math.inf, upper == math.inf)
        flip = xp.logical_and(xp.logical_not(infinite), lower + upper < 0.0)
        a, b = xp.where(flip, -upper, lower), xp.where(flip, -lower, upper)
        low, distance = self.tails(words)
        low = low != flip
        below = xp.where(low, distance, 1.0 - distance)  # the part of the mass below
        above = xp.where(low, 1.0 - distance, distance)
        tail_a, tail_b = exact.tail(xp.abs(a)), exact.tail(b)
        left = a < 0.0
        mass = xp.where(left, (1.0 - tail_a) - tail_b, tail_a - tail_b)
        upper_tail = tail_b + exact.product(above, mass)
        lower_tail = xp.where(left, tail_a + exact.product(below, mass), xp.ones_like(a))
        nearer = lower_tail < upper_tail
        p = xp.where(nearer, lower_tail, upper_tail)
        found = exact.tail_quantile(xp.where(p < 0.5, p, 0.5 * xp.ones_like(p)))
        found = xp.where(nearer, -found, found)
        found = xp.where(mass > 0.0, found, self._far(a, b, below))
        found = xp.where(found < a, a, xp.where(found > b, b, found))
        found = xp.where(flip, -found, found)
        return xp.where(lower <= upper, found, math.nan * xp.ones_like(found))

    def _far(self, a: Any, b: Any, below: Any) -> Any:
        """Return numbers from a to b, where the tails of both are too small for a number.

        The logarithm of a tail is that of its scaled form, m, minus half a square. Its inverse is
        a fixed point, which each step brings nearer by a factor of the square.
        """
        xp, exact = self.xp, self.exact
        a = xp.where(a > 1.0, a, xp.ones_like(a))
        m_a, m_b = exact.scaled_tail(a), exact.scaled_tail(b)
        ratio = exact.product(
            exact.exp(exact.product(0.5 * (a - b), a + b)), exact.quotient(m_b, m_a)
        )
        ratio = xp.where(b < math.inf, ratio, xp.zeros_like(ratio))
        fall = exact.log(1.0 - exact.product(below, 1.0 - ratio))
        square = exact.product(a, a) - (fall + fall)
        found = xp.sqrt(square)
        for _ in range(_STEPS):
            more = exact.log(exact.quotient(exact.scaled_tail(found), m_a))
            found = xp.sqrt(square + (more + more))
        return xp.where(found < math.inf, found, a)
