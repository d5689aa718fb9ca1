"""Functions with their own derivative, where what they are given is tracked below their level.

A gradient that is recorded below needs the function's own derivative, not that of the ops in its
``forward``. So the call is recorded below as well, as a function of payloads. Its forward and its
backward lift these to the level, and call the function's own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from agnograd._arrays.domain import Domain, refuse_unknown
from agnograd._arrays.domains import domain_of
from agnograd._arrays.levels import over
from agnograd._arrays.variable import Variable
from agnograd._functions.derivative import CustomDerivative, FunctionRule, applied, check_results
from agnograd._functions.purity import attributes_since, held_by, refuse_attributes
from agnograd._hooks.entering import entered
from agnograd._levels.interpreted import Interpreted, Run, at_home


def called(function: CustomDerivative, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a function with its own derivative; it is recorded at each level where it has to be."""
    return applied(function, args, options, _beneath)


def _beneath(function: CustomDerivative, level: Domain, args: Sequence[Any], options: Any) -> Any:
    """Call a function on raw arrays of a level, some of which are tracked below.

    Return its results, whose payloads have the function's own derivative. What the function saves
    is connected in the same way.
    """
    beneath = Beneath(function, level, args, options)
    backend: Any = level.backend
    payloads = [each.payload for each in beneath.arrays_of(args)]
    if backend.below.level:  # some may be from further below
        payloads = backend.below.raised(payloads, True)
    with backend._entered_below:
        found = called(beneath, tuple(payloads), {})
    arrays = [*beneath.arrays_of(args), *map(beneath.lifted, found, beneath.runs_of_results)]
    function._saved = tuple(
        [arrays[each] if is_place else each for is_place, each in beneath.references]
    )
    results = arrays[len(beneath.places) :][: beneath.count]
    return tuple(results) if beneath.several else results[0]


class Beneath(CustomDerivative, constant_attributes=True):
    """A call of a function on arrays of a level, as a function of their payloads.

    Its results are the payloads of the function's results, and of what else the function saves:
    nobody knows the derivative of that.
    """

    def __init__(
        self, function: CustomDerivative, level: Domain, args: Sequence[Any], options: Any
    ) -> None:
        kind = level.backend.array_class  # type: ignore[attr-defined]
        self.function, self.level, self.options = function, level, options
        self.backend = function.backend
        self.places = [place for place, x in enumerate(args) if type(x) is kind]
        self.runs = [args[place].run for place in self.places]
        self.others = [None if type(x) is kind else x for x in args]

    def arrays_of(self, args: Sequence[Any]) -> list[Any]:
        """Return the arrays of the level among arguments."""
        return [args[place] for place in self.places]

    def forward(self, xp: Any, *payloads: Any) -> Any:
        """Call the function's forward; return the payloads of its results and of what it saves."""
        function, level = self.function, self.level
        arrays = list(map(self.lifted, payloads, self.runs))
        known = dict(zip(self.places, arrays, strict=True))
        args = [known.get(place, x) for place, x in enumerate(self.others)]
        held = held_by(function)
        with self._above(self.runs):
            out = function.forward(level.raw, *args, **self.options)
        self.several = isinstance(out, tuple | list)
        results = list(out) if self.several else [out]
        check_results(results, function, over(level, domain_of(results[0])) if results else level)
        self.count, self.kept = len(results), attributes_since(held, function, arrays)
        self.rule = FunctionRule(function, level, arrays, self.several, self.kept)
        # What it saves: an array, by its place among the arguments and results, or a value.
        self.references: list[tuple[bool, Any]] = []
        saved = []
        for value in function.saved:
            if isinstance(value, Interpreted):
                place = _place(value, [*arrays, *results])
                if place == len(arrays) + len(results):
                    results.append(value)
                saved.append(_payload(value))
                self.references.append((True, place))
            else:
                self.references.append((False, value))
        function._saved = ()
        self.save(*saved)
        self.runs_of_results = [each.run for each in results]
        found = [_payload(each) for each in results]
        self.zeros = [_zeros_like(each) for each in found]
        return tuple(found)

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Call the function's backward; return the payloads of the gradients."""
        if any(g is not None for g in grads[self.count :]):
            refuse_unknown(self._title)
        recorded = any(isinstance(g, Variable) for g in grads)
        runs, given = [*self.runs, *self.runs_of_results], []
        for g, run, zeros in zip(
            grads[: self.count], self.runs_of_results, self.zeros, strict=False
        ):
            given.append(self._as_given(zeros() if g is None else g, run, recorded))
        function, saved = copy.copy(self.function), iter(self.saved)
        if self.kept and recorded:
            refuse_attributes(function, self.kept)
        function._saved = tuple(
            [
                self._as_given(next(saved), runs[each], recorded) if is_place else each
                for is_place, each in self.references
            ]
        )
        home = over(self.level, domain_of(given[0]))
        with self._above(runs):
            found = function.backward(home.namespace if recorded else home.raw, *given)
            found = self.rule.checked("backward", found)
            return tuple(map(self._gathered, found, self.runs))

    guarded_backward = backward  # an unused result has None for its cotangent

    @property
    def _title(self) -> str:
        return self.function._title

    def lifted(self, value: Any, run: Run | None) -> Any:
        """Return an array, or a Variable, from below as an array of the level."""
        if isinstance(value, Variable) and value._node is None:
            value = value._raw
        return at_home(self.level.backend, value).array_class(value, run)

    def _as_given(self, value: Any, run: Run | None, recorded: bool) -> Any:
        """Return a cotangent, or what was saved, as backward gets it."""
        array = self.lifted(value, run)
        return over(self.level, domain_of(array)).Variable._make(array, None) if recorded else array

    def _gathered(self, gradient: Any, run: Run | None) -> Any:
        """Return the payload of a gradient: that of an array of so many members, or of one."""
        if gradient is None:
            return None
        array = gradient._raw if type(gradient) is self.level.Variable else gradient
        runs = [each for each in (*self.runs, *self.runs_of_results[: self.count]) if each]
        return self.level.backend.gathered(array, run, runs[0] if runs else None)  # type: ignore[attr-defined]

    @contextmanager
    def _above(self, runs: Sequence[Run | None]) -> Iterator[None]:
        """Go on in the runs of the level, which may have ended."""
        with ExitStack() as stack:
            for run in {id(run): run for run in runs if run is not None}.values():
                stack.enter_context(run.resumed())
            stack.enter_context(entered(level=self.level))
            yield


def _place(value: Any, arrays: Sequence[Any]) -> int:
    """Return where an array is among others, or their number if it is another one."""
    return next((place for place, each in enumerate(arrays) if each is value), len(arrays))


def _payload(array: Any) -> Any:
    """Return the raw payload of an array that was computed apart from all graphs."""
    payload = array.payload
    return payload.data if isinstance(payload, Variable) else payload


def _zeros_like(payload: Any) -> Callable[[], Any]:
    """Return what makes zeros like an array, without the array."""
    home = domain_of(payload)
    return partial(home.raw.zeros, payload.shape, dtype=payload.dtype, device=home.device(payload))
