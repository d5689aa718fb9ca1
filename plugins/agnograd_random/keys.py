"""Keys: made from a seed, and from other keys."""

from __future__ import annotations

import math
from collections.abc import Set
from numbers import Integral
from typing import Any

from agnograd.extend import Backend, device_of, is_python_scalar
from agnograd_random import ops
from agnograd_random.standard import shape_of
from agnograd_random.threefry import (
    FOLD,
    SPLIT,
    WORD,
    key_words,
    signed,
    threefry,
    words_of_seed,
)

__all__ = ["fold_in", "key", "split"]


def key(xp: Any, backend: Backend, seed: int, /, *, device: Any = None) -> Any:
    """Return the key of a seed.

    Parameters
    ----------
    seed : int
        Any integer. Those from 0 to 2**64 - 1 have different keys; others are folded to 64 bits.

    Returns
    -------
    array, shape (2,), uint32
    """
    if not isinstance(seed, Integral):
        raise TypeError(
            f"random.key: a seed is an integer, not {type(seed).__name__}; for an array of them, "
            "such as the number of a step, use fold_in(key, data)"
        )
    words = [signed(word) for word in words_of_seed(int(seed))]
    return xp.astype(xp.asarray(words, dtype=xp.int32, device=device), xp.uint32)


def _joined(words: tuple[Any, Any], xp: Any) -> Any:
    """Return pairs of int32 words as keys."""
    return xp.astype(xp.stack(words, axis=-1), xp.uint32)


def split(xp: Any, backend: Backend, key: Any, num: Any = 2) -> Any:
    """Return new keys, whose numbers are independent of each other, and of those of the key.

    Parameters
    ----------
    key : key
        Or a stack of keys: an array, of shape (..., 2).
    num : int or tuple of int
        How many, or the shape of an array of keys. The first keys do not depend on their number.

    Returns
    -------
    array, shape (..., num, 2), uint32
    """
    first, second = key_words(key, None, xp)
    stack, own = first.shape[:-1], shape_of(num)
    count = math.prod(own)
    if not count or not math.prod(stack):
        return xp.zeros((*stack, *own, 2), dtype=xp.uint32, device=device_of(first))
    index = xp.arange(count, dtype=xp.int32, device=device_of(first))
    index = xp.broadcast_to(index, (*stack, count))
    words = threefry((first, second), index, xp.full_like(index, SPLIT), xp)
    return xp.reshape(_joined(words, xp), (*stack, *own, 2))


def fold_in(xp: Any, backend: Backend, key: Any, data: Any) -> Any:
    """Return a new key for a number, such as that of a step, an epoch or a rank.

    Parameters
    ----------
    key : key
        Or a stack of keys: an array, of shape (..., 2).
    data : int or array
        Integers from 0 to 2**32 - 1. An array is broadcast with the stack of keys, if it is one.

    Returns
    -------
    array, shape (..., 2), uint32
    """
    first, second = key_words(key, None, xp)
    stack = getattr(key, "shape", (2,))[:-1]
    first, second = xp.reshape(first, stack), xp.reshape(second, stack)
    if is_python_scalar(data):
        if not isinstance(data, Integral) or not 0 <= int(data) < WORD:
            raise ValueError(
                f"random.fold_in: data is an integer from 0 to 2**32 - 1, not {data!r}"
            )
        data = xp.full(stack, signed(int(data)), dtype=xp.int32, device=device_of(first))
    elif not (hasattr(data, "dtype") and xp.isdtype(data.dtype, "integral")):
        kind = f"of {data.dtype}" if hasattr(data, "dtype") else repr(data)
        raise ValueError(f"random.fold_in: data is an array of integers, not {kind}")
    words = xp.broadcast_arrays(first, second, xp.astype(data, xp.int32))
    shape = words[0].shape
    if 0 in shape:
        return xp.zeros((*shape, 2), dtype=xp.uint32, device=device_of(first))
    first, second, place = (xp.reshape(word, (-1,)) for word in words)
    found = threefry((first, second), place, xp.full_like(place, FOLD), xp)
    return xp.reshape(_joined(found, xp), (*shape, 2))


def _fold_in_batch(xp: Any, size: int, mapped: Set[str], key: Any, data: Any) -> Any:
    """Align the axes of members: those of keys are in front of what data is broadcast with."""
    if len(mapped) == 2:
        stack, axes = key.shape[1:-1], data.ndim - 1
        key = xp.reshape(key, (size, *(1,) * (axes - len(stack)), *key.shape[1:]))
        data = xp.reshape(data, (size, *(1,) * (len(stack) - axes), *data.shape[1:]))
    elif "data" in mapped and getattr(key, "ndim", 1) > data.ndim:
        data = xp.reshape(data, (size, *(1,) * (key.ndim - data.ndim), *data.shape[1:]))
    elif "key" in mapped and getattr(data, "ndim", 0) > key.ndim - 2:
        missing = data.ndim - (key.ndim - 2)
        key = xp.reshape(key, (size, *(1,) * missing, *key.shape[1:]))
    return xp.random.fold_in(key, data)


ops.constant(
    "random.key(seed, /, *, device=None)",
    forward=key,
    options=("seed",),
    outputs="one",
)
ops.constant(
    "random.split(key, /, num=2)",
    forward=split,
    outputs="one",
    batch=lambda xp, key, num: xp.random.split(key, num),
)
ops.constant(
    "random.fold_in(key, data, /)",
    forward=fold_in,
    outputs="one",
    batch=_fold_in_batch,
)
