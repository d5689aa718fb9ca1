"""Draws of integers: orders, permutations and categories."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from agnograd.extend import Backend, is_python_scalar
from agnograd_random import ops
from agnograd_random.standard import shape_of
from agnograd_random.threefry import key_words, threefry

__all__ = ["categorical", "order", "permutation"]


def order(xp: Any, backend: Backend, key: Any, count: int) -> Any:
    """Return the numbers from 0 to ``count - 1`` in a random order.

    They are sorted by the random words of their places: by the first one, by the second one where
    those are equal, and as they were where both are.

    Parameters
    ----------
    key : key
        Or a stack of keys: an array, of shape (keys..., 2).
    count : int

    Returns
    -------
    array, shape (keys..., count), of the dtype of indices
    """
    first, second = key_words(key, None, xp)
    stack = first.shape[:-1]
    index = xp.broadcast_to(xp.arange(count, dtype=xp.int32), (*stack, count))
    if not count or 0 in stack:
        return xp.argsort(xp.zeros((*stack, count), dtype=xp.int32), axis=-1)
    words = threefry((first, second), index, xp.zeros_like(index), xp)
    by_second = xp.argsort(words[1], axis=-1, stable=True)
    first_words = xp.take_along_axis(words[0], by_second, axis=-1)
    by_first = xp.argsort(first_words, axis=-1, stable=True)
    return xp.take_along_axis(by_second, by_first, axis=-1)


def permutation(xp: Any, key: Any, x: Any, *, axis: int = 0) -> Any:
    """Return an array in a random order along an axis, of which all orders are equally likely.

    Parameters
    ----------
    key : key
    x : int or array
        A number stands for those from 0 to it, without itself.
    axis : int
        What is permuted along it stays together. Gradients go back to where elements came from.
    """
    if is_python_scalar(x):
        if not isinstance(x, Integral) or x < 0:
            raise ValueError(f"random.permutation: {x!r} is not a number of elements")
        return xp.random.order(key, int(x))
    if not x.ndim:
        raise ValueError("random.permutation: an array without axes has no order; pass int(x)")
    return xp.take(x, xp.random.order(key, x.shape[axis]), axis=axis)


def categorical(xp: Any, key: Any, logits: Any, shape: Any = None, *, axis: int = -1) -> Any:
    """Return numbers of categories, by the largest of their logits plus Gumbel numbers.

    There is no gradient with respect to the logits, since small changes of them change nothing, or
    jump. For gradients use ``xp.nn.softmax((logits + xp.random.gumbel(key, logits.shape)) / t)``,
    which comes near to one-hot vectors as t goes to 0.

    Parameters
    ----------
    key : key
    logits : array
        Logarithms of probabilities along an axis, up to a constant; minus infinity is never drawn.
    shape : tuple of int, optional
        The shape of the result, which ends with the shape of ``logits`` without the axis; that is
        the default.
    axis : int

    Returns
    -------
    array, of the dtype of indices
        Where a logit is NaN, or all are minus infinity, it is the number of categories, which is
        the index of none.
    """
    if not xp.isdtype(logits.dtype, "real floating"):
        logits = xp.astype(logits, xp.empty((0,)).dtype)
    logits = xp.moveaxis(logits, axis, -1)
    own = tuple(logits.shape[:-1])
    shape = own if shape is None else shape_of(shape)
    if shape[len(shape) - len(own) :] != own:
        raise ValueError(f"random.categorical: the shape {shape} does not end with {own}")
    full = (*shape, logits.shape[-1])
    noisy = logits + xp.random.gumbel(key, full, dtype=logits.dtype)
    found = xp.argmax(noisy, axis=-1)
    some = xp.max(noisy, axis=-1) > -math.inf  # which is not so of NaN
    return xp.where(some, found, xp.full_like(found, logits.shape[-1]))


ops.constant(
    "random.order(key, count, /)",
    forward=order,
    options=("count",),
    outputs="one",
    batch=lambda xp, key, count: xp.random.order(key, count),
)
ops.composed("random.permutation(key, x, /, *, axis=0)", permutation)
ops.constant(
    "random.categorical(key, logits, /, shape=None, *, axis=-1)", forward=categorical, outputs="one"
)
