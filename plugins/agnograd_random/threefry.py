"""Random words: Threefry-2x32 with 20 rounds, of keys and counters.

A counter is enciphered with the key (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3", 2011). Its first word is the place of an element in the result, so that the first
elements do not depend on how many there are. Its second word is a lane, which says what the words
are for: no two uses of one key see the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

__all__ = [
    "FOLD",
    "PARITY",
    "ROTATIONS",
    "SPLIT",
    "WORD",
    "is_of_numbers",
    "key_words",
    "shifted",
    "signed",
    "threefry",
    "words_of_seed",
]

# By how many bits words are rotated in each round, and where the third word of the key comes from.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
WORD = 2**32
# The lanes of keys that are made from others; draws have those from 0 on.
SPLIT, FOLD = -1, -2


def signed(word: int) -> int:
    """Return the number that an int32 with these bits stands for."""
    return (word + WORD // 2) % WORD - WORD // 2


def shifted(x: Any, bits: int, xp: Any) -> Any:
    """Shift the bits of int32 words to the right; the sign's copies are taken away."""
    copied = xp.bitwise_right_shift(x, xp.full_like(x, bits))
    return xp.bitwise_and(copied, xp.full_like(x, 2 ** (32 - bits) - 1))


def _rotated(x: Any, bits: int, xp: Any) -> Any:
    """Rotate the bits of int32 words to the left."""
    high = xp.bitwise_left_shift(x, xp.full_like(x, bits))
    return xp.bitwise_or(high, shifted(x, 32 - bits, xp))


def threefry(key: Sequence[Any], first: Any, second: Any, xp: Any) -> tuple[Any, Any]:
    """Encipher pairs of words by Threefry-2x32 with 20 rounds.

    Words are int32, which every library has, and whose sums leave out what overflows.

    Parameters
    ----------
    key : two arrays, int32
        They are broadcast with the counters.
    first, second : array, int32
        The words of the counters, of which none is 0-d: scalars warn of an overflow.
    """
    parity = xp.bitwise_xor(xp.bitwise_xor(key[0], key[1]), xp.full_like(key[0], PARITY))
    schedule = (*key, parity)
    first, second = first + schedule[0], second + schedule[1]
    for group in range(5):
        for bits in ROTATIONS[group % 2]:
            first = first + second
            second = xp.bitwise_xor(_rotated(second, bits, xp), first)
        first = first + schedule[(group + 1) % 3]
        second = second + schedule[(group + 2) % 3] + (group + 1)
    return first, second


def _enciphered(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Encipher one counter, in Python's integers."""
    schedule = (*key, key[0] ^ key[1] ^ PARITY)
    first, second = (counter[0] + key[0]) % WORD, (counter[1] + key[1]) % WORD
    for group in range(5):
        for bits in ROTATIONS[group % 2]:
            first = (first + second) % WORD
            second = (second << bits | second >> (32 - bits)) % WORD ^ first
        first = (first + schedule[(group + 1) % 3]) % WORD
        second = (second + schedule[(group + 2) % 3] + group + 1) % WORD
    return first, second


def words_of_seed(seed: int) -> tuple[int, int]:
    """Return the words of a key, the high one first: 64 bits of a seed, or what more ones fold to.

    Parameters
    ----------
    seed : int
        If it is not from 0 to 2**64 - 1, its parts of 64 bits are enciphered one after the other.
    """
    if 0 <= seed < WORD**2:
        return divmod(seed, WORD)
    key, rest = (int(seed < 0), seed.bit_length()), abs(seed)
    while rest:
        rest, part = divmod(rest, WORD**2)
        key = _enciphered(key, divmod(part, WORD))
    return key


def is_of_numbers(key: Any) -> bool:
    """Return whether a key is one or two integers, and no array."""
    return isinstance(key, Integral | tuple | list)


def _is_integral(key: Any, xp: Any) -> bool:
    try:
        return bool(xp.isdtype(key.dtype, "integral"))
    except TypeError as error:
        raise TypeError(
            f"a key of type {type(key).__name__} is another library's array; make it by "
            "xp.random.key of the namespace that draws, or move it there by ag.asarray"
        ) from error


def key_words(key: Any, device: Any, xp: Any) -> tuple[Any, Any]:
    """Return the words of a key, or of a stack of keys, as int32 with a last axis of length 1.

    Parameters
    ----------
    key : int, sequence of int, or array, shape (..., 2)
        64 bits: an integer, two of 32 bits, the high word first, or an array of two words.
    device : device
        Where the words of integers are.

    Raises
    ------
    ValueError
        If the key is none of these.
    """
    if isinstance(key, Integral):
        words: Any = divmod(int(key), WORD)
    elif isinstance(key, tuple | list) and len(key) == 2:
        words = key
    elif getattr(key, "shape", ())[-1:] == (2,) and _is_integral(key, xp):
        return xp.astype(key[..., :1], xp.int32), xp.astype(key[..., 1:], xp.int32)
    else:
        raise ValueError(f"a key is an integer, two of them, or an array of two, not {key!r}")
    if not all(isinstance(word, Integral) and 0 <= int(word) < WORD for word in words):
        raise ValueError(f"a key has 64 bits, in two words of 32 bits: not {key!r}")
    first, second = (
        xp.asarray([signed(int(word))], dtype=xp.int32, device=device) for word in words
    )
    return first, second
