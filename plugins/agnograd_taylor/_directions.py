"""Directions and weights: linear operators from derivatives along straight lines.

For a multi-index a of order k, central differences of the k-th power of ``s . x`` give
``k! x^a = sum over b <= a of (-1)^|b| C(a, b) ((a / 2 - b) . x)^k`` with the product of binomial
coefficients C(a, b), and so the partial derivative of orders a as a sum of k-th derivatives along
the directions ``a / 2 - b`` (as in Griewank, Utke and Walther, "Evaluating higher derivative
tensors by forward propagation of univariate Taylor series", 2000).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, product
from math import comb, gcd, prod

Index = tuple[int, ...]


def lines(index: Index) -> Iterator[tuple[Index, float]]:
    """Yield directions and factors: the partial derivative is their sum of Taylor coefficients.

    The factors are of the coefficients of order ``sum(index)`` along the directions. No direction
    is a multiple of another one.
    """
    order = sum(index)
    found: defaultdict[Index, float] = defaultdict(float)
    for below in product(*(range(each + 1) for each in index)):
        direction = tuple(a - 2 * b for a, b in zip(index, below, strict=True))
        scale = gcd(*direction)
        if not scale:
            continue
        if next(each for each in direction if each) < 0:
            scale = -scale
        factor = (-1) ** sum(below) * prod(map(comb, index, below)) * (scale / 2) ** order
        found[tuple(each // scale for each in direction)] += factor
    yield from ((direction, factor) for direction, factor in found.items() if factor)


def plan(
    coefficients: Mapping[Index, complex],
) -> tuple[list[Index], dict[int, list[complex]]]:
    """Return all directions of an operator, and by order the factor of each of them."""
    factors: defaultdict[int, defaultdict[Index, complex]] = defaultdict(lambda: defaultdict(int))
    for index, coefficient in coefficients.items():
        for direction, factor in lines(index):
            factors[sum(index)][direction] += coefficient * factor
    directions = list(dict.fromkeys(each for of_order in factors.values() for each in of_order))
    return directions, {
        order: [of_order[each] for each in directions] for order, of_order in factors.items()
    }


def coloured(pairs: Iterable[tuple[int, int]], size: int) -> list[int]:
    """Return a colour for each element, from 0 on: the elements of a pair have different ones.

    Each element in turn gets the first colour that none of its neighbours has.
    """
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for one, other in pairs:
        if one != other:
            neighbours[one].add(other)
            neighbours[other].add(one)
    colours: list[int] = []
    for element, near in enumerate(neighbours):
        taken = {colours[other] for other in near if other < element}
        colours.append(next(colour for colour in count() if colour not in taken))
    return colours
