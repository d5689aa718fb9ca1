"""Draws of NumPy's arrays, of blocks that stay in the nearest cache.

Words are made in place, and what only a few elements need is computed for these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from agnograd.extend import switch
from agnograd_random._draws import DRAWS, Draws
from agnograd_random._exact import Arithmetic
from agnograd_random.standard import check_count, precision, shape_of
from agnograd_random.threefry import PARITY, ROTATIONS, key_words

__all__ = ["Words", "draw", "drawn", "elements", "exp", "expit", "order"]

# How many numbers are drawn at a time: so many stay in a cache.
DRAWN_ELEMENTS = switch("DRAWN_ELEMENTS", 2**14, least=2**4, most=2**62, module=__name__)
_ROOT_HALF = math.sqrt(0.5)


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in DRAWS:
        raise AttributeError(name)
    return partial(draw, name)


_SHIFTS = [[(np.uint32(bits), np.uint32(32 - bits)) for bits in each] for each in ROTATIONS]


class Words:
    """The random words of a key for some elements; arrays are uint32."""

    def __init__(self, key: tuple[Any, Any], index: Any) -> None:
        self.key = key
        self.index = index

    def at(self, places: Any) -> Words:
        """Return the words of some of the elements."""
        key = self.key if self.key[0].shape == (1,) else tuple(word[places] for word in self.key)
        return Words(key, self.index[places])

    def __call__(self, lane: int = 0) -> tuple[Any, Any]:
        """Encipher the counters, as ``threefry`` does, in place."""
        parity = self.key[0] ^ self.key[1] ^ np.uint32(PARITY)
        schedule = (*self.key, parity)
        first = self.index + schedule[0]
        second = np.empty_like(first)
        np.add(schedule[1], np.uint32(lane), out=second)
        high = np.empty_like(first)
        for group in range(5):
            for left, right in _SHIFTS[group % 2]:
                first += second
                np.left_shift(second, left, out=high)
                second >>= right
                second |= high
                second ^= first
            first += schedule[(group + 1) % 3]
            second += schedule[(group + 2) % 3] + np.uint32(group + 1)
        return first.view(np.int32), second.view(np.int32)


class InBlocks(Arithmetic):
    """What has the same bits as ``Arithmetic``, in fewer passes over a block."""

    def polynomial(self, falling: Any, x: Any) -> Any:
        """Return a polynomial, in place."""
        first, second, *rest = falling
        total = x + second if first == 1.0 else x * first
        if first != 1.0:
            total += second
        for each in rest:
            total *= x
            total += each
        return total

    def parts(self, x: Any) -> tuple[Any, Any]:
        """Return NumPy's ``frexp``."""
        mantissa, exponent = np.frexp(x)
        return mantissa, exponent.astype(x.dtype)

    def log_of_normal(self, x: Any) -> Any:
        """Return the logarithm of positive normal numbers, in place."""
        f, exponent = self.parts(x)
        low = (f < _ROOT_HALF).astype(x.dtype)
        exponent -= low
        low += 1.0
        f *= low
        f -= 1.0
        s = np.add(f, 2.0, out=low)
        np.divide(f, s, out=s)
        z = s * s
        last = self.polynomial(self.of.log, z)
        last *= z
        half = np.multiply(f, f, out=z)
        half *= 0.5
        last += half
        last *= s
        last += np.multiply(exponent, self.of.ln2[1], out=s)
        half -= last
        half -= f
        exponent *= self.of.ln2[0]
        exponent -= half
        return exponent

    def tail_quantile(self, p: Any) -> Any:
        """Return the normal quantile; that of tails is computed for these only."""
        q = 0.5 - p
        r = q * q
        np.subtract(0.180625, r, out=r)
        found = self.polynomial(self.of.middle[0], r)
        found /= self.polynomial(self.of.middle[1], r)
        found *= q
        far = np.flatnonzero(q > 0.425)
        found[far] = self.far_quantile(p[far])
        return found

    def far_quantile(self, p: Any) -> Any:
        """Return the quantile of tails, most of which are not among the farthest ones."""
        r = np.sqrt(-self.log_of_normal(p))
        found = self.fraction(self.of.far, r - 1.6)
        beyond = np.flatnonzero(~(r <= 5.0))
        if beyond.size:
            found[beyond] = self.fraction(self.of.farther, r[beyond] - 5.0)
        return found

    def accepted(
        self, propose: Callable[..., Any], words: Any, start: Any, *given: Any, rounds: int
    ) -> Any:
        """Return the first proposals that are accepted; others are only made where none was."""
        found = start.copy()
        left = np.arange(start.size)
        for count in range(rounds):
            accept, value = propose(words, count, *given)
            found[left[accept]] = value[accept]
            again = np.flatnonzero(~accept)
            if not again.size:
                break
            left, words = left[again], words.at(again)
            given = tuple(each[again] for each in given)
        return found


class DrawsInBlocks(Draws):
    """What has the same bits as ``Draws``, in fewer passes over a block."""

    def tails(self, words: Any, lane: Any = 0) -> tuple[Any, Any]:
        """Return the halves in which uniform numbers are, and distances: 64 bits are one number."""
        first, second = words(lane)
        low = first >= 0
        if not self.double:
            first ^= first >> 31
            distance = first.astype(np.float32)
            distance += np.float32(0.5)
            distance *= np.float32(2.0**-32)
            return low, distance
        number = first.astype(np.int64)
        number <<= 32
        number |= second.view(np.uint32)
        number ^= number >> 63
        found = number.astype(np.float64)
        found += 0.5
        found *= 2.0**-64
        return low, found

    def standard_normal(self, words: Any, lane: Any = 0) -> Any:
        """Return normal numbers, whose signs are factors."""
        low, distance = self.tails(words, lane)
        found = self.exact.tail_quantile(distance)
        sign = low.astype(found.dtype)
        sign *= -2.0
        sign += 1.0
        found *= sign
        return found


_DRAWS = {bits: DrawsInBlocks(InBlocks(np, bits)) for bits in (32, 64)}


def _blocks(key: tuple[Any, Any], keys: int, count: int) -> Iterator[tuple[slice, Words]]:
    """Yield words of so many elements of each key, in blocks; keys have shape (keys,)."""
    for start in range(0, keys * count, DRAWN_ELEMENTS):
        stop = min(start + DRAWN_ELEMENTS, keys * count)
        places = np.arange(start, stop)
        if keys == 1:
            yield slice(start, stop), Words(key, places.astype(np.uint32))
        else:
            which = places // count
            index = (places - which * count).astype(np.uint32)
            yield slice(start, stop), Words((key[0][which], key[1][which]), index)


def draw(name: str, key: Any, *args: Any, dtype: Any = None, device: Any = None) -> Any:
    """Return what a draw of ``DRAWS`` makes of a key: see ``standard.draw``."""
    *given, shape = (*args, ()) if len(args) == DRAWS[name] else args
    return drawn(name, key, given, shape, precision(name, dtype, given, np))


def drawn(name: str, key: Any, given: Sequence[Any], shape: Any, bits: int) -> Any:
    """Return a draw of so many bits; of other libraries' arrays that share memory with NumPy's."""
    key = np.asarray(key) if hasattr(key, "dtype") else key
    given = [np.asarray(each) for each in given]
    words = tuple(word.view(np.uint32)[..., 0] for word in key_words(key, None, np))
    stack = words[0].shape if getattr(key, "ndim", 1) > 1 else ()
    shape = given[0].shape if given else (*stack, *shape_of(shape))
    check_count(name, math.prod(shape[len(stack) :]))
    draws = _DRAWS[bits]
    out = np.empty(shape, np.uint32 if name == "bits" else draws.exact.dtype)
    function = getattr(draws, name)
    parameters = [np.ravel(each) for each in given]
    flat = out.reshape(-1)
    pair = tuple(word.reshape(-1) for word in words)
    keys = math.prod(stack)
    with np.errstate(all="ignore"):
        for block, of_block in _blocks(pair, keys, flat.size // max(keys, 1)):
            found = function(of_block, *(each[block] for each in parameters))
            flat[block] = found.view(np.uint32) if name == "bits" else found
    return out


def elements(name: str, first: Any, second: Any, index: Any, *given: Any, bits: int) -> Any:
    """Return the draws of some elements, by the words of their keys, as int32, and their places."""
    arrays = np.broadcast_arrays(first, second, index, *given)
    shape = arrays[0].shape
    first, second, index, *given_ = (np.ravel(each) for each in arrays)
    key = first.astype(np.int32).view(np.uint32), second.astype(np.int32).view(np.uint32)
    index = index.astype(np.uint32)
    function = getattr(_DRAWS[bits], name)
    with np.errstate(all="ignore"):
        found = function(Words(key, index), *given_)
    return np.reshape(found.view(np.uint32) if name == "bits" else found, shape)


def _elementwise(name: str, *args: Any) -> Any:
    """Compute a function of ``Arithmetic`` block by block."""
    x = np.asarray(args[0])
    if x.dtype not in (np.float32, np.float64):
        return NotImplemented
    function = getattr(_DRAWS[8 * x.dtype.itemsize].exact, name)
    out = np.empty_like(x, order="C")
    flat, given = out.reshape(-1), x.reshape(-1)
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, DRAWN_ELEMENTS):
            flat[start : start + DRAWN_ELEMENTS] = function(given[start : start + DRAWN_ELEMENTS])
    return out


exp = partial(_elementwise, "exp")
expit = partial(_elementwise, "expit")


def order(key: Any, count: int) -> Any:
    """Return a random order of numbers: both words of each are one number to sort by."""
    if np.ndim(key) > 1 or count == 0:
        return NotImplemented
    words = tuple(word.view(np.uint32)[..., 0] for word in key_words(key, None, np))
    numbers = np.empty(count, np.int64)
    pair = tuple(word.reshape(-1) for word in words)
    for block, of_block in _blocks(pair, 1, count):
        first, second = of_block()
        # Words are compared as int32.
        numbers[block] = (first.astype(np.int64) << 32) + (second.astype(np.int64) + 2**31)
    return np.argsort(numbers, kind="stable")
