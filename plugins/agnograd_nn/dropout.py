"""Dropout, whose mask is a function of a key: the same one on every backend, and never kept.

The mask's random bits are those of Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw,
"Parallel random numbers: as easy as 1, 2, 3", 2011): a counter is enciphered with the key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from agnograd.extend import device_of
from agnograd_nn import ops

__all__ = ["dropout", "random_words", "threefry"]

# By how many bits words are rotated in each round, and where the third word of the key comes from.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = 2**32


def _signed(word: int) -> int:
    """Return the number that an int32 with these bits stands for."""
    return (word + _WORD // 2) % _WORD - _WORD // 2


def _rotated(x: Any, bits: int, xp: Any) -> Any:
    """Rotate the bits of int32 words to the left; a shift to the right copies the sign."""
    high = xp.bitwise_left_shift(x, xp.full_like(x, bits))
    low = xp.bitwise_right_shift(x, xp.full_like(x, 32 - bits))
    return xp.bitwise_or(high, xp.bitwise_and(low, xp.full_like(x, 2**bits - 1)))


def threefry(key: Sequence[Any], first: Any, second: Any, xp: Any) -> tuple[Any, Any]:
    """Encipher pairs of words by Threefry-2x32 with 20 rounds.

    Words are int32, which every library has, and whose sums leave out what overflows.

    Parameters
    ----------
    key : two arrays, shape (1,), int32
    first, second : array, int32
        The words of the counters, of which none is 0-d: scalars warn of an overflow.
    """
    parity = xp.bitwise_xor(xp.bitwise_xor(key[0], key[1]), xp.full_like(key[0], _PARITY))
    schedule = (*key, parity)
    first, second = first + schedule[0], second + schedule[1]
    for group in range(5):
        for bits in _ROTATIONS[group % 2]:
            first = first + second
            second = xp.bitwise_xor(_rotated(second, bits, xp), first)
        first = first + schedule[(group + 1) % 3]
        second = second + schedule[(group + 2) % 3] + (group + 1)
    return first, second


def _key_words(key: Any, device: Any, xp: Any) -> list[Any]:
    """Return the words of a key: an integer, two of them, or an array of two."""
    if isinstance(key, Integral):
        key = int(key)
        words: Any = divmod(key, _WORD)
    elif isinstance(key, tuple | list) and len(key) == 2:
        words = key
    elif getattr(key, "shape", None) == (2,) and xp.isdtype(key.dtype, "integral"):
        return [xp.astype(key[i : i + 1], xp.int32) for i in range(2)]
    else:
        raise ValueError(f"a key is an integer, two of them, or an array of two, not {key!r}")
    if not all(isinstance(word, Integral) and 0 <= int(word) < _WORD for word in words):
        raise ValueError(f"a key has 64 bits, in two words of 32 bits: not {key!r}")
    signed = [_signed(int(word)) for word in words]
    return [xp.asarray([word], dtype=xp.int32, device=device) for word in signed]


def random_words(key: Any, shape: tuple[int, ...], device: Any, xp: Any) -> Any:
    """Return random int32 words: the first word of each counter's pair, then all second ones."""
    count = math.prod(shape)
    pairs = (count + 1) // 2
    counters = xp.arange(pairs, dtype=xp.int32, device=device)
    words = threefry(_key_words(key, device, xp), counters, xp.zeros_like(counters), xp)
    return xp.reshape(xp.concat(words)[:count], shape)


def dropout(xp: Any, x: Any, key: Any, p: float = 0.5, *, training: bool = True) -> Any:
    """Return x with a share of its elements replaced by 0, and the others divided by the rest.

    Srivastava and others, "Dropout: a simple way to prevent neural networks from overfitting",
    2014. The same key gives the same mask, on every backend, and so in ``vmap`` to all members:
    map over keys for masks of their own.

    Parameters
    ----------
    x : array
    key : int, sequence of int, or array
        64 bits: an integer, two of 32 bits, the high word first, or an integer array of shape (2,).
        Use a new one for each call and step.
    p : float
        The probability that an element is replaced.
    training : bool
        Whether to do anything.

    Raises
    ------
    ValueError
        If p is not a probability, or the key none of these.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p is a probability, not {p!r}")
    # Of a random int32 word, the smaller half of the time it is negative.
    threshold = round((1.0 - p) * _WORD) - _WORD // 2
    if not training or threshold == _WORD // 2 or 0 in x.shape:
        return xp.asarray(x, copy=True)
    if p == 1.0:
        return xp.zeros_like(x)
    words = random_words(key, x.shape, device_of(x), xp)
    return xp.where(words < threshold, x * (1.0 / (1.0 - p)), xp.zeros_like(x))


# Elements are multiplied with constants, which makes it its own transpose.
ops.linear(
    "nn.dropout(x, /, key, p=0.5, *, training=True)",
    x=lambda g, key, p, training, xp: xp.nn.dropout(g, key, p, training=training),
    forward=dropout,
)
