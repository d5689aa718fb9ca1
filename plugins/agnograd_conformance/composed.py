"""Levels: transformations of transformations of an op, against plain passes and loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from agnograd import Variable, jacobian, jvp, linearize, vjp, vmap
from agnograd import compile as compile_function
from agnograd.errors import BatchingError, BatchingWarning, CompileError
from agnograd.extend import domain_named
from agnograd.testing.differences import cotangents
from agnograd.testing.host import all_on_host, assert_close, inner
from agnograd_conformance._calls import Calls, stack, units
from agnograd_conformance._needs import shape_needs_values
from agnograd_conformance._trial import NotApplicable, Trial

__all__ = ["composed"]

Function = Callable[..., list[Any]]
Each = Callable[[Function], Function]  # takes a function of one member to that of all: vmap, say

_TOGETHER = 64  # passes of a Jacobian that run at once, under vmap; few would run one by one


def composed(trial: Trial) -> None:
    """A transformation of another one gives what plain passes and loops give, at any levels."""
    if trial.single:
        raise NotApplicable("how levels meet does not depend on the precision")
    call = Call(trial)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchingWarning)
        for comparison in comparisons(call):
            try:
                comparison()
            except (BatchingError, CompileError):
                if not call.branches:
                    raise


class Call:
    """The call of a trial as a function of the arrays that have a gradient.

    Attributes
    ----------
    first, second : list of Variable
        Two sets of these arrays.
    weights, direction : list of Variable
        Fixed cotangents of what it gives, and tangents of its arrays.
    is_program : bool
        Whether the op is made of others, which are checked by themselves: derivatives of one order
        less are enough.
    branches : bool
        Whether it may need the values of its arrays, which vmap and compile refuse.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial, self._calls = trial, Calls(trial)
        calls, places = self._calls, self._calls.differentiated
        if not places:
            raise NotApplicable("no input has a gradient")
        self._results, self.first = calls.in_part(calls.results, calls.first)
        sized_by_values = shape_needs_values(trial.sample, [calls.names[i] for i in places])
        others = calls.first if sized_by_values else calls.second
        self.second = [others[place] for place in places]
        self.is_program = self._calls.composed
        self.branches = self.is_program or sized_by_values
        results = self(*self.first)
        trial.needs_sizes(results)
        if not results:
            raise NotApplicable("no result has a gradient")
        self.weights = cotangents(results, seed=1)
        self.direction = cotangents(self.first, seed=7)

    def __call__(self, *given: Any) -> list[Any]:
        """Return the results that have a gradient, real and imaginary parts by themselves."""
        domain, found = self._calls.domain, list[Any]()
        for each in self._results(*given):
            if domain.is_complex(each.dtype):
                xp = each.__array_namespace__()
                found += [xp.real(each), xp.imag(each)]
            elif domain.is_inexact(each.dtype):
                found.append(each)
        return found


def comparisons(call: Call) -> Iterator[Callable[[], None]]:
    """Yield what compares one transformation inside another one; in a quick run one, in turn."""
    by_columns = _jacobian_of(call, "forward", 1)
    inside = (
        ("the Jacobian by passes", _jacobian_of(call, "reverse", _TOGETHER), _rows_of(call), 1),
        ("the Jacobian by pushes", _jacobian_of(call, "forward", _TOGETHER), by_columns, 1),
        ("vmap of a pullback", _pulls_of(call, vmap), _pulls_of(call, _looped), 1),
        ("vmap of a pushforward", _pushes_of(call, vmap), _pushes_of(call, _looped), 1),
        ("vmap", _members_of(call, vmap), _members_of(call, _looped), 0),
    )
    turn = call.trial.turn
    chosen = inside if turn is None else [inside[turn % len(inside)]]
    if inside[1] in chosen:
        yield partial(_compare_directions, call)
    for name, function, looped, order in chosen:
        pair = Pair(call, name, function, looped, order)
        yield from (pair.itself, pair.forward, pair.compiled, pair.mapped)


def _compare_directions(call: Call) -> None:
    """Compare passes with pushes, but for what these refuse to tell: they give NaN."""
    np = domain_named("numpy").library
    columns = _jacobian_of(call, "forward", 1)
    pair = Pair(call, "plain pushes", columns, _rows_of(call), 1)
    pushed = all_on_host(pair.outcome(columns, *call.first))
    for found, expected in zip(pushed, pair.expected[0], strict=True):
        known = np.where(found == found, found, expected)
        assert_close("plain pushes", known, expected, call.trial.tolerance, "by plain passes")


def _jacobian_of(call: Call, mode: Literal["forward", "reverse"], together: int) -> Function:
    def function(*arrays: Any) -> list[Any]:
        places = tuple(range(len(arrays)))
        found = jacobian(call, places, mode=mode, chunk_size=together)(*arrays)
        return [block for row in found for block in row]

    return function


def _rows_of(call: Call) -> Function:
    """Return a call's Jacobian as a function: each row by a pass of its own."""

    def function(*arrays: Any) -> list[Any]:
        results, pull = vjp(call, *arrays)
        found = []
        for place, result in enumerate(results):
            xp, rows = result.__array_namespace__(), []
            for unit in units(call.trial.domain, call.weights[place]):
                given = [xp.zeros_like(each) for each in call.weights]
                given[place] = unit
                rows.append(pull(given))
            for column, x in enumerate(arrays):
                parts = [row[column] for row in rows]
                block = xp.stack(parts) if parts else xp.zeros((0,), dtype=x.dtype, device=x.device)
                found.append(xp.reshape(block, (*result.shape, *x.shape)))
        return found

    return function


def _pulls_of(call: Call, each: Each) -> Function:
    """Return two pulls, by a pullback from outside of what computes both, as a function."""

    def function(*arrays: Any) -> list[Any]:
        results, pull = vjp(call, *arrays)
        pairs = list(zip(results, call.weights, strict=True))

        def pulled(factor: Any) -> list[Any]:
            return list(pull([factor * y + w for y, w in pairs]))

        return each(pulled)(_factors(call))

    return function


def _pushes_of(call: Call, each: Each) -> Function:
    """Return two pushes, by a pushforward from outside of what computes both, as a function."""

    def function(*arrays: Any) -> list[Any]:
        _, push = linearize(call, *arrays)
        pairs = list(zip(arrays, call.direction, strict=True))
        return each(lambda factor: push(*[factor * x + d for x, d in pairs]))(_factors(call))

    return function


def _members_of(call: Call, each: Each) -> Function:
    """Return a call of two members, the arrays of a function and others, as that function."""

    def function(*arrays: Any) -> list[Any]:
        pairs = zip(arrays, call.second, strict=True)
        return each(call)(*[stack(pair) for pair in pairs])

    return function


def _looped(f: Function) -> Function:
    """Return a function of both members: one after the other."""

    def function(*stacked: Any) -> list[Any]:
        found = [f(*[x[member, ...] for x in stacked]) for member in range(2)]
        return [stack(pair) for pair in zip(*found, strict=True)]

    return function


class Pair:
    """A transformation, and others around it, against plain passes and loops.

    ``expected`` is what these give for both sets of a call's arrays, and the gradients of that,
    where the sample has a derivative of an order more.
    """

    def __init__(
        self, call: Call, name: str, function: Function, plain: Function, order: int
    ) -> None:
        self.call, self.name, self.function = call, name, function
        self.differentiates = call.trial.sample.order - call.is_program > order
        self.weights: list[Variable] = []
        self.both = call.first, call.second
        self.expected = [all_on_host(self.outcome(plain, *arrays)) for arrays in self.both]

    def outcome(self, function: Function, *arrays: Any) -> list[Any]:
        """Return what a function gives, and the gradients of that."""
        if not self.differentiates:
            return list(function(*arrays))
        results, pull = vjp(function, *arrays)
        self.weights = self.weights or cotangents(results, seed=2)
        return [*results, *pull(self.weights)]

    def found(self, *arrays: Any) -> list[Any]:
        """Return what the transformation gives, and the gradients of that."""
        return self.outcome(self.function, *arrays)

    def itself(self) -> None:
        """Compare it, and its gradients."""
        self._compare("", self.found(*self.call.first), self.expected[0])

    def forward(self) -> None:
        """Compare its derivative along a line."""
        if not self.differentiates:
            return
        arrays, direction = self.call.first, self.call.direction
        _, tangents = jvp(self.function, tuple(arrays), tuple(direction))
        pushed = inner(all_on_host(self.weights), all_on_host(tangents))
        pulled = inner(self.expected[0][-len(arrays) :], all_on_host(direction))
        if pulled != pulled:  # passes cannot tell, as of equal eigenvalues
            return
        if not abs(pushed - pulled) <= self.call.trial.tolerance * (1 + abs(pulled)):
            raise AssertionError(
                f"{self.name}: its derivative along a line is {pushed} in forward mode, "
                f"and {pulled} by plain passes"
            )

    def compiled(self) -> None:
        """Compare it where it is compiled, traced and run again."""
        run: Any = compile_function(self.found, lowering="plain")
        for arrays, expected in zip(self.both, self.expected, strict=True):
            self._compare("compile of ", run(*arrays), expected)

    def mapped(self) -> None:
        """Compare it in vmap."""
        found = vmap(self.found)(*[stack(pair) for pair in zip(*self.both, strict=True)])
        for member, expected in enumerate(self.expected):
            self._compare("vmap of ", [x[member, ...] for x in found], expected)

    def _compare(self, around: str, found: Sequence[Any], expected: Sequence[Any]) -> None:
        gradients = len(self.call.first) if self.differentiates else 0
        for place, (one, other) in enumerate(zip(all_on_host(found), expected, strict=True)):
            late = place - len(expected) + gradients
            name = f"result {place}" if late < 0 else f"the gradient of array {late}"
            what = f"{around}{self.name}: {name}"
            assert_close(what, one, other, self.call.trial.tolerance, "by plain passes")


def _factors(call: Call) -> Any:
    x, domain = call.weights[0], call.trial.domain
    return domain.wrap(domain.raw.asarray([1.0, 2.0], dtype=x.dtype, device=x.device))
