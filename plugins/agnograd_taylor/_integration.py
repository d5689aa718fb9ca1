"""Coefficients by integration: those of y, from its derivative y' = J(x) x' by t.

What gives y' of x and x', such as ``ag.jvp`` of an op, runs on series of one order less. It may
come to ops that are integrated themselves, of yet one order less, until there are only values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnograd import Variable

# For each order from 1 on the coefficients of several arrays; None where all are zero.
Orders = list[list[Any] | None]


def integrated(
    taylor: Any,
    run: Any,
    order: int,
    push: Callable[..., list[Any]],
    primals: Sequence[Sequence[Any]],
    points: Sequence[Any],
    tangents: Sequence[Sequence[Any]],
) -> Orders:
    """Return the coefficients of results.

    Parameters
    ----------
    taylor : Taylor
        The interpretation.
    run : Expansion
        What the results belong to.
    order : int
        The highest order that is asked for.
    push : callable
        Takes primals and tangents, and returns the tangents of the results: linear in tangents.
    primals : sequence of sequences
        Series that it takes, from order 0 on.
    points : sequence of arrays
        The values of the series whose derivatives are the tangents.
    tangents : sequence of sequences
        The coefficients of these, from order 1 on.
    """
    sums = order == run.order and run.direction is not None
    found: Orders = [None] * order
    zeros = [taylor.functions(x).zeros_like(x) for x in points]
    inner = [_derivative(each[: order - sums], z) for each, z in zip(tangents, zeros, strict=True)]
    if any(each is not None for several in tangents for each in several[: order - sums]):
        series = [*(each[:order] for each in primals), *inner]
        for k, each in enumerate(_pushed(taylor, run, order - 1, push, series), 1):
            found[k - 1] = [None if c is None else c * (1.0 / k) for c in each]
    if sums:  # along the directions, and along the sum of coefficients over them
        of_sum = [each[order - 1] if len(each) >= order else None for each in tangents]
        linear: list[Any] | None = None
        if any(each is not None for each in of_sum):
            pairs = zip(of_sum, zeros, strict=True)
            along = [z if c is None else c for c, z in pairs]
            linear = push(*(each[0] for each in primals), *along)
        below = found[-1]
        totals = below and [None if c is None else run.total(c) for c in below]
        parts = [each for each in (totals, linear) if each is not None]
        found[-1] = list(map(summed, zip(*parts, strict=True))) if parts else None
    return found


def _pushed(
    taylor: Any, run: Any, order: int, push: Callable[..., list[Any]], series: Sequence[Any]
) -> list[list[Any]]:
    """Return what a push gives for series, order by order."""
    if order == 0:
        return [push(*(each[0] for each in series))]
    found = taylor.expand(push, type(run)(order), series)
    return [[bare(each) for each in of_order] for of_order in found]


def _derivative(higher: Sequence[Any], zeros: Any) -> list[Any]:
    """Return the derivative by t of a series whose coefficients from order 1 on are these."""
    first, *rest = [None if c is None else c * float(k) for k, c in enumerate(higher, 1)] or [None]
    return [zeros if first is None else first, *rest]


def bare(x: Any) -> Any:
    """Return an array as a payload: a Variable only if it is tracked."""
    return x.data if isinstance(x, Variable) and not x.requires_grad else x


def summed(terms: Iterable[Any]) -> Any:
    """Return the sum of those terms that are not None; None if there are none."""
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else _variable_first(total, term, operator.add)
    return total


def multiplied(a: Any, b: Any) -> Any:
    """Return the product of two payloads."""
    return _variable_first(a, b, operator.mul)


def _variable_first(a: Any, b: Any, f: Callable[[Any, Any], Any]) -> Any:
    """Apply a symmetric operator: raw arrays of some libraries take no Variable on their right."""
    return f(b, a) if isinstance(b, Variable) else f(a, b)
