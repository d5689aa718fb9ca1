"""Many members at once: ``vmap`` of an op against the stack of single calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence, Set
from operator import attrgetter
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._batch.vmap import vmap
from agnograd._transforms.gradients import vjp
from agnograd._util.trees import flatten_with_none, unflatten
from agnograd.errors import BatchingError, BatchingWarning
from agnograd.testing._case import Case, arrays_in
from agnograd.testing._differences import constant, cotangents, is_inexact
from agnograd.testing._host import assert_close, on_host
from agnograd.testing._samples import ArraySpec
from agnograd.testing.conformance._needs import shape_needs_values
from agnograd.testing.conformance._trial import NotApplicable, Trial

__all__ = ["batched"]

Outcome = dict[str, Any]  # NumPy's arrays, by what they are


def batched(trial: Trial) -> None:
    """What ``vmap`` of the op gives is what single calls give, whichever inputs are mapped."""
    calls = _Calls(trial)
    compared: list[frozenset[int]] = []
    for mapped in _choices(len(calls.first)):
        names = sorted({calls.names[place] for place in mapped})
        what = f"with {', '.join(names)} mapped"
        if shape_needs_values(trial.sample, names):
            _expect_error(calls, mapped, what)
            continue
        singles = calls.singles(mapped)
        try:
            found = calls.at_once(mapped)
        except BatchingError:
            if calls.composed:  # a program that branches on values
                continue
            raise
        _compare(trial, what, found, singles)
        compared.append(mapped)
    if mapped in compared and calls.differentiated:  # where all are
        _compare(trial, "in a pass through vmap", calls.through(), singles)
    if not compared and calls.composed:
        raise NotApplicable("the op is a program that needs the values of what is mapped")


def _choices(count: int) -> Iterator[frozenset[int]]:
    """Yield which arrays are mapped: each of them by itself, and all of them."""
    if not count:
        raise NotApplicable("the sample has no arrays")
    for place in range(count if count > 1 else 0):
        yield frozenset({place})
    yield frozenset(range(count))


def _expect_error(calls: _Calls, mapped: Set[int], what: str) -> None:
    try:
        calls.at_once(mapped)
    except BatchingError:
        return
    raise AssertionError(
        f"{what}: the result's shape depends on values, which should raise a BatchingError"
    )


def _compare(trial: Trial, what: str, found: Outcome, singles: Sequence[Outcome]) -> None:
    """Compare what is computed for all members at once with what is computed for each."""
    for index, single in enumerate(singles):
        for name, one in single.items():
            many = found[name]
            if (many.shape, many.dtype) != ((len(singles), *one.shape), one.dtype):
                raise AssertionError(
                    f"{what}: {name} has shape {many.shape} and dtype {many.dtype} for "
                    f"{len(singles)} members, each of shape {one.shape} and dtype {one.dtype}"
                )
            each = many[index, ...]
            assert_close(f"{what}: {name}", each, one, trial.tolerance, "by a single call")


class _Calls:
    """Calls of a trial's op for two members, as functions of all arrays among the arguments.

    Attributes
    ----------
    names : list of str
        The parameter that each array is given for.
    first, second : list of Variable
        The arrays of both members.
    differentiated : list of int
        Which arrays have a gradient.
    composed : bool
        Whether the op is a program of others.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial, self._case = trial, trial.case()
        self.composed = self._case.op.composed
        self._arguments = _Arguments(self._case)
        self.names, self.first = self._arguments.names, self._arguments.arrays
        self.second = self._other_member()
        given = {self._case.names[place] for place in self._case.places}
        self.differentiated = [
            place
            for place, (name, x) in enumerate(zip(self.names, self.first, strict=True))
            if trial.sample.order and name in given and is_inexact(x)
        ]
        self._weights: list[Variable] = []
        self._of_first: Outcome | None = None

    def _other_member(self) -> list[Variable]:
        """Return the arrays of the second member; as the first one's, if the op raises an error."""
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

    def singles(self, mapped: Set[int]) -> list[Outcome]:
        """Return the results and gradients of each member."""
        if self._of_first is None:
            self._of_first = self._on_host(self._outcome(*self.first))
        pairs = zip(self.first, self.second, strict=True)
        second = [pair[place in mapped] for place, pair in enumerate(pairs)]
        return [self._of_first, self._on_host(self._outcome(*second))]

    def at_once(self, mapped: Set[int]) -> Outcome:
        """Return the results and gradients of both members by one call of ``vmap``."""
        return self._on_host(_vmapped(self._outcome, mapped, self._stacked(mapped)))

    def through(self) -> Outcome:
        """Return the results and gradients of both members by a pass through ``vmap``."""
        everything = frozenset(range(len(self.first)))

        def function(*arrays: Any) -> Any:
            return _vmapped(self._results, everything, arrays)

        weights = [_stack([each, each]) for each in self._weights]
        return self._on_host(self._gradients(function, self._stacked(everything), weights))

    def _stacked(self, mapped: Set[int]) -> list[Variable]:
        pairs = zip(self.first, self.second, strict=True)
        return [_stack(pair) if place in mapped else pair[0] for place, pair in enumerate(pairs)]

    def _outcome(self, *arrays: Any) -> tuple[list[Any], Sequence[Any]]:
        """Return the results of one member, and the gradients."""
        return self._gradients(self._results, arrays, self._weights)

    def _results(self, *arrays: Any) -> list[Any]:
        return self._arguments.call(arrays)

    def _gradients(
        self, function: Callable[..., list[Any]], arrays: Sequence[Any], weights: list[Variable]
    ) -> tuple[list[Any], Sequence[Any]]:
        """Return a function's results, and the gradients of these, contracted with cotangents."""
        if not self.differentiated:
            return function(*arrays), ()

        def of_differentiated(*given: Any) -> list[Any]:
            filled = dict(enumerate(arrays)) | dict(zip(self.differentiated, given, strict=True))
            return function(*filled.values())

        results, pullback = vjp(of_differentiated, *[arrays[i] for i in self.differentiated])
        if not weights:  # of the first member, which comes first
            self._trial.needs_sizes(results)
            weights += cotangents(results, seed=1)
        return results, pullback(weights)

    def _on_host(self, outcome: tuple[list[Any], Sequence[Any]]) -> Outcome:
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
        arguments = [case.argument(place) for place in case.names]
        self._leaves, self._tree = flatten_with_none(arguments)
        owners: list[str] = []
        for name, argument in zip(case.names.values(), arguments, strict=True):
            owners += [name] * len(flatten_with_none(argument)[0])
        types: Any = case.domain.array_types
        self._at = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, types)]
        make = case.domain.Variable._make  # two backends may serve one library
        self.arrays = [make(self._leaves[i], None) for i in self._at]
        self.names = [owners[i] for i in self._at]

    def call(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays that the op gives with other ones."""
        case, xp = self._case, self._case.domain.namespace
        leaves = list(self._leaves)
        for i, x in zip(self._at, arrays, strict=True):
            leaves[i] = x
        given = dict(zip(case.names, unflatten(self._tree, leaves), strict=True))
        args = [value for place, value in given.items() if isinstance(place, int)]
        kwargs = {place: value for place, value in given.items() if isinstance(place, str)}
        sample = case.sample
        if sample.before is not None:
            args[0] = sample.before(args[0], xp)
        out = attrgetter(sample.op)(xp)(*args, **kwargs)
        out = out if sample.after is None else sample.after(out, xp)
        return [each for each in arrays_in(out) if isinstance(each, Variable)]


def _vmapped(function: Callable[..., Any], mapped: Set[int], arrays: Sequence[Any]) -> Any:
    axes = tuple(0 if place in mapped else None for place in range(len(arrays)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchingWarning)
        return vmap(function, in_axes=axes)(*arrays)


def _stack(arrays: Sequence[Variable]) -> Variable:
    domain = arrays[0]._domain
    stacked: Variable = domain.namespace.stack(list(arrays))
    return stacked


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
