"""The call of a trial as a function of all arrays among its arguments, with its gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import optree

from agnograd import Variable, vjp
from agnograd.extend import ArraySpec
from agnograd.testing.differences import constant, cotangents, is_inexact
from agnograd.testing.host import on_host
from agnograd_conformance._case import Case, arrays_in
from agnograd_conformance._trial import Trial

__all__ = ["Calls", "Outcome", "stack", "units"]

Outcome = dict[str, Any]  # NumPy's arrays, by what they are


class Calls:
    """Calls of a trial's op, as functions of all arrays among the arguments.

    Attributes
    ----------
    names : list of str
        The parameter that each array is given for.
    first, second : list of Variable
        The arrays of two calls, of the same shapes and dtypes.
    differentiated : list of int
        Which arrays have a gradient.
    composed : bool
        Whether the op is a program of others.
    domain : Domain
        The backend's domain.
    weights : list of Variable
        The cotangents of the results, once ``outcome`` has run.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial, self._case = trial, trial.case()
        case = self._case
        self.composed, self.domain = case.op.composed, case.domain
        given: Any = (case.args, case.kwargs)
        self._leaves, self._tree = optree.tree_flatten(given, none_is_leaf=True)
        types: Any = case.domain.array_types
        self._at = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, types)]
        paths = optree.tree_paths(given, none_is_leaf=True)
        self.names = [case.names[paths[i][1]] for i in self._at]
        self.first = self._arrays_of(case)
        self.second = self._other_arrays()
        differentiated = {case.names[place] for place in case.places}
        self.differentiated = [
            place
            for place, (name, x) in enumerate(zip(self.names, self.first, strict=True))
            if trial.sample.order and name in differentiated and is_inexact(x)
        ]
        self.weights: list[Variable] = []

    def _arrays_of(self, case: Case) -> list[Variable]:
        given: Any = (case.args, case.kwargs)
        leaves: list[Any] = optree.tree_leaves(given, none_is_leaf=True)
        return [case.domain.wrap(leaves[i]) for i in self._at]  # two backends may serve one library

    def _other_arrays(self) -> list[Variable]:
        """Return the arrays of the second call; those of the first, if the op raises an error."""
        sample, trial = self._trial.sample, self._trial
        for changed in (sample.mapped(_changed), sample):
            arrays = self._arrays_of(Case(changed, trial.backend, trial.seed + 1))
            try:
                self.results(*arrays)
            except Exception:
                continue
            return arrays
        return self.first

    def results(self, *arrays: Any) -> list[Any]:
        """Return the results of a call."""
        leaves = list(self._leaves)
        for i, x in zip(self._at, arrays, strict=True):
            leaves[i] = x
        given: Any = optree.tree_unflatten(self._tree, leaves)
        out = self._case.after(self._case.called(*given))
        return [each for each in arrays_in(out) if isinstance(each, Variable)]

    def in_part(
        self, function: Callable[..., Any], arrays: Sequence[Any]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function of the arrays that have a gradient, and these; others are constants."""

        def of_differentiated(*given: Any) -> Any:
            filled = dict(enumerate(arrays)) | dict(zip(self.differentiated, given, strict=True))
            return function(*filled.values())

        return of_differentiated, [arrays[place] for place in self.differentiated]

    def outcome(self, *arrays: Any) -> tuple[list[Any], Sequence[Any]]:
        """Return the results of a call, and the gradients of these, contracted with cotangents."""
        return self.gradients(self.results, arrays, self.weights)

    def gradients(
        self, function: Callable[..., list[Any]], arrays: Sequence[Any], weights: list[Variable]
    ) -> tuple[list[Any], Sequence[Any]]:
        """Return a function's results, and the gradients of these, contracted with cotangents."""
        if not self.differentiated:
            return function(*arrays), ()

        in_part, given = self.in_part(function, arrays)
        results, pullback = vjp(in_part, *given)
        if not weights:  # of the first call
            self._trial.needs_sizes(results)
            weights += cotangents(results, seed=1)
        return results, pullback(weights)

    def on_host(self, outcome: tuple[list[Any], Sequence[Any]]) -> Outcome:
        """Return results and gradients as NumPy's arrays."""
        results, gradients = outcome
        self._trial.needs_sizes(results)
        found = {f"result {i}": x for i, x in enumerate(results)}
        for place, gradient in zip(self.differentiated, gradients, strict=True):
            found[f"the gradient of array {place}, {self.names[place]!r},"] = gradient
        return {name: on_host(constant(x)) for name, x in found.items()}


def stack(arrays: Sequence[Any]) -> Any:
    """Return the arrays of some members as one array."""
    return arrays[0].__array_namespace__().stack(list(arrays))


def units(domain: Any, like: Variable) -> Iterator[Variable]:
    """Yield, for each element of an array, one of its shape that is one there, and else zero."""
    raw, size = domain.raw, math.prod(like.shape)
    eye = raw.eye(size, dtype=like.dtype, device=like.device)
    for k in range(size):
        yield domain.wrap(raw.reshape(eye[k, ...], like.shape))


def _changed(value: Any) -> Any:
    """Return an array of given values with other ones: indices in reverse, numbers three quarters.

    So they stay within bounds, sorted, and positive definite, and ties stay ties.
    """
    if not isinstance(value, ArraySpec) or value.values is None:
        return value
    return value._replace(values=_other_values(value.values, value.dtype))


def _other_values(values: Any, dtype: str) -> Any:
    if isinstance(values, list):
        others = [_other_values(each, dtype) for each in values]
        return others if dtype.startswith(("float", "complex")) else others[::-1]
    return 0.75 * values if dtype.startswith(("float", "complex")) else values
