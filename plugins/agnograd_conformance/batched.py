"""Many members at once: ``vmap`` of an op against the stack of single calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

from agnograd import Variable, vmap
from agnograd.errors import BatchingError, BatchingWarning
from agnograd.testing.host import assert_close
from agnograd_conformance._calls import Calls, Outcome, stack
from agnograd_conformance._needs import shape_needs_values
from agnograd_conformance._trial import NotApplicable, Trial

__all__ = ["batched"]


def batched(trial: Trial) -> None:
    """What ``vmap`` of the op gives is what single calls give, whichever inputs are mapped."""
    calls = _Members(trial)
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


def _expect_error(calls: _Members, mapped: Set[int], what: str) -> None:
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


class _Members(Calls):
    """A trial's calls for two members: one after the other, and at once."""

    _of_first: Outcome | None = None

    def singles(self, mapped: Set[int]) -> list[Outcome]:
        """Return the results and gradients of each member."""
        if self._of_first is None:
            self._of_first = self.on_host(self.outcome(*self.first))
        pairs = zip(self.first, self.second, strict=True)
        second = [pair[place in mapped] for place, pair in enumerate(pairs)]
        return [self._of_first, self.on_host(self.outcome(*second))]

    def at_once(self, mapped: Set[int]) -> Outcome:
        """Return the results and gradients of both members by one call of ``vmap``."""
        return self.on_host(_vmapped(self.outcome, mapped, self._stacked(mapped)))

    def through(self) -> Outcome:
        """Return the results and gradients of both members by a pass through ``vmap``."""
        everything = frozenset(range(len(self.first)))

        def function(*arrays: Any) -> Any:
            return _vmapped(self.results, everything, arrays)

        weights = [stack([each, each]) for each in self.weights]
        return self.on_host(self.gradients(function, self._stacked(everything), weights))

    def _stacked(self, mapped: Set[int]) -> list[Variable]:
        pairs = zip(self.first, self.second, strict=True)
        return [stack(pair) if place in mapped else pair[0] for place, pair in enumerate(pairs)]


def _vmapped(function: Callable[..., Any], mapped: Set[int], arrays: Sequence[Any]) -> Any:
    axes = tuple(0 if place in mapped else None for place in range(len(arrays)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchingWarning)
        return vmap(function, in_axes=axes)(*arrays)
