"""Sums of products of arrays whose axes have names, planned once for all arrays of these shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Form", "Plan", "form", "plan", "without_ones"]

Shape = tuple[int, ...]


class Form(NamedTuple):
    """How an array gets the axes that are wanted, in their order, and the sum over all others."""

    diagonals: tuple[tuple[int, ...], ...]  # axes whose last two become one, their diagonal
    summed: tuple[int, ...]
    order: tuple[int, ...] | None
    shape: Shape | None

    def of(self, x: Any, xp: Any) -> Any:
        """Return an array in this form."""
        for axes in self.diagonals:
            x = xp.linalg.diagonal(xp.permute_dims(x, axes))
        if self.summed:
            x = xp.sum(x, axis=self.summed)
        if self.order is not None:
            x = xp.permute_dims(x, self.order)
        return x if self.shape is None else xp.reshape(x, self.shape)


def form(
    names: str, wanted: Iterable[str], lengths: Mapping[str, int], shape: Shape | None = None
) -> Form:
    """Return how an array with these axes gets those that are wanted, and then a shape."""
    diagonals = []
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            rest = [axis for axis in range(len(names)) if axis not in (first, second)]
            diagonals.append((*rest, first, second))
            names = "".join(names[axis] for axis in rest) + name
    wanted = "".join(wanted)
    summed = tuple(axis for axis, name in enumerate(names) if name not in wanted)
    names = "".join(name for name in names if name in wanted)
    order = None if names == wanted else tuple(names.index(name) for name in wanted)
    now = tuple(lengths[name] for name in wanted)
    return Form(tuple(diagonals), summed, order, None if shape == now else shape)


class Product(NamedTuple):
    """A sum of products of two arrays: which two, and how they and the result are formed."""

    places: tuple[int, int]
    left: Form
    right: Form
    matrices: bool
    shape: Shape | None
    order: tuple[int, ...] | None

    def of(self, x1: Any, x2: Any, xp: Any) -> Any:
        """Return the sum of products of two arrays."""
        x1, x2 = self.left.of(x1, xp), self.right.of(x2, xp)
        out = xp.matmul(x1, x2) if self.matrices else x1 * x2
        if self.shape is not None:
            out = xp.reshape(out, self.shape)
        return out if self.order is None else xp.permute_dims(out, self.order)


def _product(
    places: tuple[int, int], names1: str, names2: str, wanted: str, lengths: Mapping[str, int]
) -> Product:
    """Plan the sum of products of two arrays over all axes that are not wanted.

    An axis is one of matrices' stacks (both arrays have it, and it is wanted), one that is summed
    over (both have it), or one of a single array.
    """
    axes1, axes2 = "".join(dict.fromkeys(names1)), "".join(dict.fromkeys(names2))
    stacks = "".join(name for name in axes1 if name in axes2 and name in wanted)
    summed = "".join(name for name in axes1 if name in axes2 and name not in wanted)
    only1 = "".join(name for name in axes1 if name in wanted and name not in axes2)
    only2 = "".join(name for name in axes2 if name in wanted and name not in axes1)
    stack, rows, inner, columns = (
        tuple(lengths[name] for name in names) for names in (stacks, only1, summed, only2)
    )
    product: Shape = (*rows, *columns)
    if summed:
        height, depth, width = math.prod(rows), math.prod(inner), math.prod(columns)
        shape1, shape2, product = (*stack, height, depth), (*stack, depth, width), (height, width)
    else:
        shape1, shape2 = (*stack, *rows, *(1,) * len(only2)), (*stack, *(1,) * len(only1), *columns)
    out = form(stacks + only1 + only2, wanted, lengths)
    shape = (*stack, *rows, *columns)
    return Product(
        places,
        form(names1, stacks + only1 + summed, lengths, shape1),
        form(names2, stacks + summed + only2, lengths, shape2),
        bool(summed),
        None if shape == (*stack, *product) else shape,
        out.order,
    )


class Plan(NamedTuple):
    """Products of two arrays at a time, or how a single array is formed.

    Attributes
    ----------
    shapes : tuple of tuple of int or None
        The arrays' shapes without the axes of length 1 whose name has another length elsewhere;
        None for an array that has none of these.
    products : tuple of Product
        In their order: the result of each takes the next place after the arrays.
    single : Form or None
        If there is only one array: what is done to it.
    """

    shapes: tuple[Shape | None, ...]
    products: tuple[Product, ...]
    single: Form | None

    def of(self, arrays: Sequence[Any], xp: Any) -> Any:
        """Return the sum of products of arrays."""
        values = [
            x if shape is None else xp.reshape(x, shape)
            for x, shape in zip(arrays, self.shapes, strict=True)
        ]
        if self.single is not None:
            return xp.asarray(self.single.of(values[0], xp), copy=True)
        for product in self.products:
            first, second = product.places
            values.append(product.of(values[first], values[second], xp))
            values[first] = values[second] = None  # nobody needs them again
        return values[-1]


def without_ones(names: str, shape: Shape, lengths: Mapping[str, int]) -> tuple[str, Shape | None]:
    """Return the axes that do not have length 1 where others of their name are longer.

    With them comes the shape that they have, or None if these are all axes.
    """
    pairs = [(name, n) for name, n in zip(names, shape, strict=True) if n == lengths[name]]
    if len(pairs) == len(names):
        return names, None
    return "".join(name for name, _ in pairs), tuple(n for _, n in pairs)


def plan(
    names: Sequence[str],
    shapes: Sequence[Shape | None],
    output: str,
    lengths: Mapping[str, int],
    path: Sequence[tuple[int, ...]],
) -> Plan:
    """Plan the contraction of arrays along a path, as opt_einsum returns it.

    Parameters
    ----------
    names : sequence of str
        The names of each array's axes.
    shapes : sequence of tuple of int or None
        The shapes that the arrays are given first, as ``without_ones`` returns them.
    output : str
        The names of the result's axes.
    lengths : mapping
        The length of each name's axes.
    path : sequence of tuple of int
        For each step, the places of the arrays in the list of those that are left.
    """
    if len(names) == 1:
        return Plan(tuple(shapes), (), form(names[0], output, lengths))
    left = list(enumerate(names))
    products: list[Product] = []
    for step in path:
        taken = [left.pop(place) for place in sorted(step, reverse=True)]
        while len(taken) > 1:
            (place1, names1), (place2, names2) = taken.pop(), taken.pop()
            outside = {*output, *(name for _, each in (*left, *taken) for name in each)}
            kept = "".join(name for name in dict.fromkeys(names1 + names2) if name in outside)
            kept = kept if left or taken else output
            taken.append((len(names) + len(products), kept))
            products.append(_product((place1, place2), names1, names2, kept, lengths))
        left += taken
    return Plan(tuple(shapes), tuple(products), None)
