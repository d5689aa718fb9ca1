"""Dropout, whose mask is a function of a key: the same one on every backend, and never kept."""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import device_of
from agnograd_nn import ops
from agnograd_random.threefry import WORD, key_words, threefry

__all__ = ["dropout", "random_words"]


def random_words(key: Any, shape: tuple[int, ...], device: Any, xp: Any) -> Any:
    """Return random int32 words: the first word of each counter's pair, then all second ones."""
    count = math.prod(shape)
    pairs = (count + 1) // 2
    counters = xp.arange(pairs, dtype=xp.int32, device=device)
    of_key = key_words(key, device, xp)
    if of_key[0].ndim != 1:
        raise ValueError(f"a mask has one key, not a stack of shape {key.shape}: map over it")
    words = threefry(of_key, counters, xp.zeros_like(counters), xp)
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
        64 bits: an integer, two of 32 bits, the high word first, or an integer array of shape (2,)
        such as ``xp.random.key`` returns. Use a new one for each call and step.
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
    threshold = round((1.0 - p) * WORD) - WORD // 2
    if not training or threshold == WORD // 2 or 0 in x.shape:
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
