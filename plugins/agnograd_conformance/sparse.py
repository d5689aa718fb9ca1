"""Patterns: what ``ag.sparsity`` says of an op against its dense Jacobian."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from agnograd import Variable, sparsity, vjp
from agnograd.errors import NoGradientError, SparsityError
from agnograd.extend import domain_named
from agnograd.testing.differences import is_inexact
from agnograd.testing.host import on_host
from agnograd_conformance._calls import Calls, units
from agnograd_conformance._needs import shape_needs_values
from agnograd_conformance._trial import NotApplicable, Trial

__all__ = ["sparse"]

# What three transforms of 16 elements may be off by, as a share of the largest element: each by
# 4 (1 + 4 sqrt(2)) units of roundoff (Higham, "Accuracy and stability of numerical algorithms",
# 2nd edition, 2002, theorem 24.2).
_NOISE = 1e-14


def sparse(trial: Trial) -> None:
    """The pattern of the Jacobian has every element that is not zero, here and at other values."""
    if trial.single:
        raise NotApplicable("patterns do not depend on the precision")
    calls = Calls(trial)
    if not calls.differentiated:
        raise NotApplicable("no input has a gradient")
    places = tuple(calls.differentiated)
    found = sparsity(calls.results, *calls.first, argnums=places, mode="local")
    noise = _NOISE if trial.sample.noisy_zeros else 0.0
    _compare(calls, calls.first, found, noise, "the local pattern")
    needs_values = shape_needs_values(trial.sample, [calls.names[place] for place in places])
    try:
        found = sparsity(calls.results, *calls.first, argnums=places)
    except SparsityError:
        if needs_values or calls.composed:  # a program may branch on values
            return
        raise
    if needs_values:
        raise AssertionError("the result's shape depends on values: it should be a SparsityError")
    # Integers and booleans stay as they are: a pattern may depend on them.
    pairs = zip(calls.first, calls.second, strict=True)
    others = [second if is_inexact(first) else first for first, second in pairs]
    for arrays in (calls.first, others):
        _compare(calls, arrays, found, noise, "the global pattern")


def _compare(
    calls: Calls, arrays: Sequence[Variable], pattern: Any, noise: float, what: str
) -> None:
    """Raise if an element of the Jacobian is not zero, or noise, and not in the pattern."""
    np, may = domain_named("numpy").library, pattern.toarray()
    row = 0
    for part in _rows(calls, arrays):
        largest = np.max(part, initial=0.0)
        missing = (part > noise * largest) & ~may[row, :]
        if np.any(missing):
            column = int(np.argmax(missing))
            message = (
                f"{what} lacks row {row}, column {column}: the derivative of element {row} of the "
                f"results by element {column} of the inputs is {part[column]}"
            )
            if part[column] <= _NOISE * largest:
                message += "; if it is the rounding error of a zero, say Sample(noisy_zeros=True)"
            raise AssertionError(message)
        row += 1
    if (row, may.shape[1]) != may.shape and row:
        raise AssertionError(f"{what} has {may.shape[0]} rows, and the Jacobian {row}")


def _rows(calls: Calls, arrays: Sequence[Variable]) -> Iterator[Any]:
    """Yield the derivatives of each element of the results by all elements of the inputs."""
    np = domain_named("numpy").library
    try:
        function, given = calls.in_part(calls.results, arrays)
        results, pull = vjp(function, *given)
    except NoGradientError:  # of integers
        return
    for place, result in enumerate(results):
        if not is_inexact(result):
            for _ in range(math.prod(result.shape)):
                yield np.zeros(sum(math.prod(x.shape) for x in given))
            continue
        xp = result.__array_namespace__()
        cotangents = [xp.zeros_like(each) for each in results]
        for unit in units(calls.domain, result):
            row = 0.0
            for factor in (1.0, 1j) if calls.domain.is_complex(result.dtype) else (1.0,):
                cotangents[place] = factor * unit
                parts = [np.reshape(np.abs(on_host(g)), (-1,)) for g in pull(cotangents)]
                row = row + np.concat(parts)
            yield row
