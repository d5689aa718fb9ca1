"""Derivatives of derivatives in plain NumPy: dual numbers of several levels, nothing of agnograd.

A derivative seeds dual numbers of a level of its own. What computes with them is in this module;
``twin.py`` has the transformations, and the functions that nestings call.
"""

import functools
import itertools
from contextlib import contextmanager

import numpy as np

LEVELS = itertools.count(1)


class TooLargeError(Exception):
    """A program has more slopes than ``limited`` allows."""


class Dual:
    """A value, and its slopes along K directions: along the first axis, before those of the value.

    Both are arrays, or duals of lower levels.
    """

    __slots__ = ("level", "shape", "slopes", "value")
    left = 0  # how many more slopes may be made

    def __init__(self, level, value, slopes):
        if not isinstance(slopes, Dual):
            Dual.left -= slopes.size
            if Dual.left < 0:
                raise TooLargeError
        self.level, self.value, self.slopes, self.shape = level, value, slopes, value.shape


def level(a):
    return a.level if isinstance(a, Dual) else 0


def highest(*arrays):
    return max(map(level, arrays))


def plain(a):
    """Return the value without derivatives of any level."""
    while isinstance(a, Dual):
        a = a.value
    return a


def parts(a, at):
    """Return the value and the slopes of one level; None stands for slopes that are zero."""
    return (a.value, a.slopes) if isinstance(a, Dual) and a.level == at else (a, None)


def directions(*slopes):
    """Return along how many directions there are slopes."""
    return next(each.shape[0] for each in slopes if each is not None)


@contextmanager
def limited(count=20_000_000):
    """Fail where a program needs more slopes than so many, by which it would take long."""
    Dual.left = count
    try:
        yield
    finally:
        Dual.left = 0


# -- what moves elements, or adds them up ---------------------------------------------------------


def moved(f, a, lead=0):
    """Apply ``f(array, lead)``, which is linear, to all axes but the ``lead`` first."""
    if isinstance(a, Dual):
        return Dual(a.level, moved(f, a.value, lead), moved(f, a.slopes, lead + 1))
    return f(a, lead)


def reshaped(a, shape, lead=0):
    return moved(lambda x, lead: x.reshape(x.shape[:lead] + shape), a, lead)


def broadcast(a, shape, lead=0):
    """Return an array in another shape; as in NumPy, axes are added in front of its own."""
    own = a.shape[lead:]
    if own == shape:
        return a
    if len(own) < len(shape):
        a = reshaped(a, (1,) * (len(shape) - len(own)) + own, lead)
    return moved(lambda x, lead: np.broadcast_to(x, x.shape[:lead] + shape), a, lead)


def item(a, key, lead=0):
    return moved(lambda x, lead: x[(slice(None),) * lead + key], a, lead)


def total(a, axis=None, lead=0):
    axes = tuple(range(len(a.shape) - lead)) if axis is None else (axis,)
    return moved(lambda x, lead: x.sum(axis=tuple(lead + each for each in axes)), a, lead)


def moveaxis(a, source, to):
    return moved(lambda x, lead: np.moveaxis(x, lead + source, lead + to), a)


def joined(f, arrays, axis):
    """Return ``f(arrays, axis)``, which is ``np.stack`` or ``np.concatenate``."""
    at = highest(*arrays)
    if at == 0:
        return f(arrays, axis)
    values, slopes = zip(*(parts(a, at) for a in arrays), strict=True)
    count = directions(*slopes)
    filled = [
        np.zeros((count, *value.shape)) if each is None else each
        for value, each in zip(values, slopes, strict=True)
    ]
    return Dual(at, joined(f, values, axis), joined(f, filled, axis + 1))


def written(a, key, v, lead=0):
    """Return a copy of ``a`` with ``v``, of the shape of what it replaces, at a key."""
    at = highest(a, v)
    if at == 0:
        copy = np.array(a)
        copy[(slice(None),) * lead + key] = v
        return copy
    (a, da), (v, dv) = parts(a, at), parts(v, at)
    count = directions(da, dv)
    # Slopes have their directions in front of all other axes.
    da = np.zeros((count, *a.shape)) if da is None else da
    dv = np.zeros((count, *v.shape)) if dv is None else dv
    return Dual(at, written(a, key, v, lead), written(da, key, dv, lead + 1))


def where(mask, a, b):
    """Choose between arrays of one shape by a mask without derivatives."""
    at = highest(a, b)
    if at == 0:
        return np.where(mask, a, b)
    (a, da), (b, db) = parts(a, at), parts(b, at)
    slopes = where(
        mask,
        np.zeros((1,) * (mask.ndim + 1)) if da is None else da,
        np.zeros((1,) * (mask.ndim + 1)) if db is None else db,
    )
    return Dual(at, where(mask, a, b), slopes)


# -- arithmetic -----------------------------------------------------------------------------------


def aligned(slopes, rank):
    """Return slopes with new axes behind the directions, as broadcasting their value adds."""
    own = slopes.shape[1:]
    return slopes if len(own) == rank else reshaped(slopes, (1,) * (rank - len(own)) + own, 1)


def add(a, b):
    at = highest(a, b)
    if at == 0:
        return a + b
    (a, da), (b, db) = parts(a, at), parts(b, at)
    value = add(a, b)
    terms = [broadcast(each, value.shape, 1) for each in (da, db) if each is not None]
    return Dual(at, value, functools.reduce(add, terms))


def multiply(a, b):
    at = highest(a, b)
    if at == 0:
        return a * b
    (a, da), (b, db) = parts(a, at), parts(b, at)
    value = multiply(a, b)
    pairs = [(d, other) for d, other in ((da, b), (db, a)) if d is not None]
    terms = [multiply(aligned(d, len(value.shape)), other) for d, other in pairs]
    return Dual(at, value, functools.reduce(add, terms))


def applied(name, a):
    """Apply an element-wise function by its name in ``ELEMENTWISE``."""
    function, slope = ELEMENTWISE[name]
    if not isinstance(a, Dual):
        return function(a)
    value = applied(name, a.value)
    return Dual(a.level, value, multiply(a.slopes, slope(a.value, value)))


def negative(a):
    return multiply(a, -1.0)


def reciprocal(a):
    return applied("reciprocal", a)


ELEMENTWISE = {
    "cos": (np.cos, lambda x, out: negative(applied("sin", x))),
    "exp": (np.exp, lambda x, out: out),
    "log": (np.log, lambda x, out: reciprocal(x)),
    "reciprocal": (np.reciprocal, lambda x, out: negative(multiply(out, out))),
    "sin": (np.sin, lambda x, out: applied("cos", x)),
    "sqrt": (np.sqrt, lambda x, out: multiply(reciprocal(out), 0.5)),
    "square": (np.square, lambda x, out: multiply(x, 2.0)),
    "tanh": (np.tanh, lambda x, out: add(negative(multiply(out, out)), 1.0)),
}


def product(a, b):
    """Return the product of a matrix, or a vector, with another one."""
    if len(a.shape) == 1 and len(b.shape) == 1:
        return total(multiply(a, b))
    if len(a.shape) == 1:
        return product(transposed(b), a)
    if len(b.shape) == 1:
        return total(multiply(a, b), 1)
    return total(multiply(reshaped(a, (*a.shape, 1)), b), 1)


def transposed(a):
    return moveaxis(a, 0, 1)


def solved(a, b):
    """Return the solution of a linear system, whose right hand side is a matrix."""
    at = highest(a, b)
    if at == 0:
        return np.linalg.solve(a, b)
    (a, da), (b, db) = parts(a, at), parts(b, at)
    x, (n, m) = solved(a, b), b.shape
    terms = [] if db is None else [db]
    if da is not None:  # a's directions, rows, and the columns of x
        change = total(multiply(reshaped(da, (*da.shape, 1)), x), 2)
        terms.append(negative(change))
    change = functools.reduce(add, terms)
    flat = reshaped(moveaxis(change, 0, 1), (n, change.shape[0] * m))
    slopes = moveaxis(reshaped(solved(a, flat), (n, change.shape[0], m)), 1, 0)
    return Dual(at, x, slopes)


def own(forward, push, *arrays):
    """Apply a function with a derivative of its own: ``push(*slopes, out, *arrays)``.

    ``push`` gets slopes, or None, for each array, and computes with duals; it is applied where
    there are slopes of a level, and ``forward`` only to plain arrays.
    """
    at = highest(*arrays)
    if at == 0:
        return forward(*arrays)
    values, slopes = zip(*(parts(a, at) for a in arrays), strict=True)
    out = own(forward, push, *values)
    return Dual(at, out, push(*slopes, out, *values))
