"""The call of a trial as a function of all arrays among its arguments, with its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import optree

from agnograd import Variable, vjp
from agnograd.extend import ArraySpec
from agnograd.testing.differences import constant, cotangents, is_inexact
from agnograd.testing.host import on_host
from agnograd_conformance._case import Case, arrays_in
from agnograd_conformance._trial import Trial

__all__ = ["Calls", "Outcome"]

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
        self.composed, self.domain = self._case.op.composed, self._case.domain
        self._arguments = _Arguments(self._case)
        self.names, self.first = self._arguments.names, self._arguments.arrays
        self.second = self._other_arrays()
        given = {self._case.names[place] for place in self._case.places}
        self.differentiated = [
            place
            for place, (name, x) in enumerate(zip(self.names, self.first, strict=True))
            if trial.sample.order and name in given and is_inexact(x)
        ]
        self.weights: list[Variable] = []

    def _other_arrays(self) -> list[Variable]:
        """Return the arrays of the second call; those of the first, if the op raises an error."""
        sample, trial = self._trial.sample, self._trial
        for changed in (sample.mapped(_changed), sample):
            case = Case(changed, trial.backend, trial.seed + 1)
            arguments = _Arguments(case)
            try:
                arguments.call(arguments.arrays)
            except Exception:
                continue
            return arguments.arrays
        return self.first

    def results(self, *arrays: Any) -> list[Any]:
        """Return the results of a call."""
        return self._arguments.call(arrays)

    def outcome(self, *arrays: Any) -> tuple[list[Any], Sequence[Any]]:
        """Return the results of a call, and the gradients of these, contracted with cotangents."""
        return self.gradients(self.results, arrays, self.weights)

    def gradients(
        self, function: Callable[..., list[Any]], arrays: Sequence[Any], weights: list[Variable]
    ) -> tuple[list[Any], Sequence[Any]]:
        """Return a function's results, and the gradients of these, contracted with cotangents."""
        if not self.differentiated:
            return function(*arrays), ()

        def of_differentiated(*given: Any) -> list[Any]:
            filled = dict(enumerate(arrays)) | dict(zip(self.differentiated, given, strict=True))
            return function(*filled.values())

        results, pullback = vjp(of_differentiated, *[arrays[i] for i in self.differentiated])
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


class _Arguments:
    """The arguments of a case, with other arrays in place of theirs.

    Attributes
    ----------
    arrays : list of Variable
        All arrays among them, integers and booleans included.
    names : list of str
        The parameter that each of them is given for.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        arguments: Any = [case.argument(place) for place in case.names]
        self._leaves, self._tree = optree.tree_flatten(arguments, none_is_leaf=True)
        owners: list[str] = []
        for name, argument in zip(case.names.values(), arguments, strict=True):
            owners += [name] * len(optree.tree_leaves(argument, none_is_leaf=True))
        types: Any = case.domain.array_types
        self._at = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, types)]
        wrap = case.domain.wrap  # two backends may serve one library
        self.arrays: list[Variable] = [wrap(self._leaves[i]) for i in self._at]
        self.names = [owners[i] for i in self._at]

    def call(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays that the op gives with other ones."""
        case, xp = self._case, self._case.domain.namespace
        leaves = list(self._leaves)
        for i, x in zip(self._at, arrays, strict=True):
            leaves[i] = x
        given = dict(zip(case.names, optree.tree_unflatten(self._tree, leaves), strict=True))
        args = [value for place, value in given.items() if isinstance(place, int)]
        kwargs = {place: value for place, value in given.items() if isinstance(place, str)}
        sample = case.sample
        if sample.before is not None:
            args[0] = sample.before(args[0], xp)
        out = attrgetter(sample.op)(xp)(*args, **kwargs)
        out = out if sample.after is None else sample.after(out, xp)
        return [each for each in arrays_in(out) if isinstance(each, Variable)]


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
