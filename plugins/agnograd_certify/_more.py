"""What else is checked of a call whose gradient is right: second order, other modes, precision."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import agnograd as ag
from agnograd.testing.differences import Problem, cotangents, difference, drawn, gradient
from agnograd.testing.host import all_on_host, bits_of, inner
from agnograd_certify._calls import plain_numpy
from agnograd_certify._findings import Finding, of_error
from agnograd_certify._gradient import array_of, listening, on_raw
from agnograd_certify._probe import Probe, bends, is_inexact

__all__ = ["Further"]

STEP = 1e-3  # of differences of gradients, and how far the second member is from the first
CLOSE = 1e-5
ROUNDING = 1e-7  # of what is computed twice, in another order


class Further:
    """A call on a backend, in terms of its arrays that are differentiated.

    Each public method but ``check`` is a check; it returns what is not right.
    """

    def __init__(self, probe: Probe, backend: str) -> None:
        self._probe, self._xp = probe, ag.namespace(backend)

    def check(self, name: str) -> Finding:
        """Return what a check came to; an exception is a refusal."""
        with listening():
            try:
                return getattr(self, name)() or Finding("right")
            except Exception as error:
                return of_error("refused", error, self._probe.subject.theirs)

    @cached_property
    def _problem(self) -> Problem:
        probe, xp = self._probe, self._xp

        def function(*arrays: Any) -> list[Any]:
            return probe.run(xp, arrays)

        return Problem(function, [ag.Variable(array_of(xp, each).data) for each in probe.arrays])

    @cached_property
    def _weights(self) -> list[Any]:
        with ag.no_grad():
            return cotangents(self._problem(*self._problem.values), seed=1)

    @cached_property
    def _names(self) -> list[str]:
        return [self._probe.names[place] for place in self._probe.inexact]

    @cached_property
    def _members(self) -> tuple[list[Any], list[Any]]:
        """The arrays, and others, of which each element is a bit from where it was."""
        rng, values = random.Random(3), self._problem.values
        return values, [_raw(x, x.data + STEP * drawn(x, rng).data) for x in values]

    def second(self) -> Finding | None:
        """Compare the gradient of the contracted gradient with differences of the gradient."""
        values, rng = self._problem.values, random.Random(2)
        function = gradient(self._problem, self._weights)
        outputs, pullback = ag.vjp(function, *values)
        weights = cotangents(outputs, seed=2)
        for place, g in enumerate(pullback(weights)):
            found = self._second_of(place, g, drawn(values[place], rng), function, weights)
            if found is not None:
                return found
        return None

    def _second_of(
        self, place: int, g: Any, along: Any, function: Any, weights: list[Any]
    ) -> Finding | None:
        """Compare the gradient with respect to one array, which moves along a line."""

        def moved(distance: float) -> list[Any]:
            arrays = list(self._problem.values)
            arrays[place] = _raw(along, arrays[place].data + distance * along.data)
            return arrays

        def slope(step: float) -> float:
            return difference(function, weights, lambda k: moved(k * step), step)

        def contracted(distance: float) -> float:
            with ag.no_grad():
                return inner(all_on_host(weights), all_on_host(function(*moved(distance))))

        one, other = inner(all_on_host([g]), all_on_host([along])), slope(STEP)
        if _near(one, other):
            return None
        if not _near(slope(STEP / 2), other) or bends(contracted, STEP, CLOSE):
            return Finding("not smooth", "differences of the gradient disagree")
        name = self._names[place]
        shown = f"{name}: the second derivative is {one:.9g}, by differences {other:.9g}"
        if not math.isfinite(one):
            return Finding("NaN", shown)
        return Finding("lost" if one == 0 else "wrong", shown)

    def forward(self) -> Finding | None:
        """Compare a push of tangents with the gradient."""
        problem, rng = self._problem, random.Random(2)
        tangents = [drawn(value, rng) for value in problem.values]
        _, pushed = ag.jvp(problem, tuple(problem.values), tuple(tangents))
        gradients = gradient(problem, self._weights)(*problem.values)
        one = inner(all_on_host(self._weights), all_on_host(list(pushed)))
        other = inner(all_on_host(gradients), all_on_host(tangents))
        if _near(one, other, ROUNDING):
            return None
        shown = f"along a tangent the derivative is {one:.9g}, by the gradient {other:.9g}"
        return Finding("NaN" if one != one else "wrong", shown)

    def _outcome(self, *variables: Any) -> list[Any]:
        """Return the values, and the gradients."""
        gradients = gradient(self._problem, self._weights)(*variables)
        return [*self._problem(*variables), *gradients]

    def vmap(self) -> Finding | None:
        """Compare two members at once with single calls."""
        pairs = zip(*self._members, strict=True)
        stacked = [_raw(one, one._domain.raw.stack([one.data, other.data])) for one, other in pairs]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ag.errors.BatchingWarning)
            many = _on_host(ag.vmap(self._outcome)(*stacked))
        return self._differ([[each[k] for each in many] for k in range(2)])

    def compiled(self) -> Finding | None:
        """Compare a compiled call, traced and run again, with the call."""
        _ = self._weights  # found before, as the program reads them
        run = ag.compile(self._outcome)
        return self._differ([_on_host(run(*each)) for each in self._members])

    def _differ(self, found: Sequence[Any]) -> Finding | None:
        """Return where values and gradients are others than those of single calls."""
        np, expected = plain_numpy(), [_on_host(self._outcome(*each)) for each in self._members]
        names = [f"output {k}" for k in range(len(self._weights))]
        names += [f"the gradient of {name}" for name in self._names]
        for member in range(2):
            for name, one, other in zip(names, found[member], expected[member], strict=True):
                scale = ROUNDING * max(1.0, float(np.max(np.abs(other), initial=0)))
                if one.shape != other.shape:
                    return Finding("wrong", f"{name} has shape {one.shape}, and not {other.shape}")
                if not np.allclose(one, other, ROUNDING, scale, equal_nan=True):
                    bad = "wrong" if np.all(np.isfinite(one)) else "NaN"
                    return Finding(bad, f"{name} is {one.tolist()}, and {other.tolist()} by itself")
        return None

    def dtype(self) -> Finding | None:
        """Look whether single precision stays single, in results and gradients."""
        xp, probe = self._xp, self._probe
        arrays = [_single(array) for array in probe.arrays]
        inputs = [ag.Variable(array_of(xp, each).data) for each in arrays]
        outputs = probe.run(xp, inputs)
        for number, out in enumerate(outputs):
            if _is_wide(out):
                who = self._by_whom(arrays)
                return Finding("widened", f"output {number} is {out.dtype}: {who}")
        tracked = [out for out in outputs if isinstance(out, ag.Variable) and out.requires_grad]
        if tracked:
            ag.autodiff.backward(tracked, [xp.ones_like(out) for out in tracked])
        for place in probe.inexact:
            g = inputs[place].grad
            if g is not None and g.dtype != inputs[place].dtype:
                return Finding("widened", f"the gradient of {probe.names[place]} is {g.dtype}")
        return None

    def _by_whom(self, arrays: Sequence[Any]) -> str:
        """Say whether the library's own results are of double precision, too."""
        try:
            results = on_raw(self._probe, self._xp, arrays)
        except Exception:
            return "plain arrays of single precision are refused"
        wide = any(map(_is_wide, results))
        return "so it is for plain arrays" if wide else "for plain arrays it is not"


def _near(one: float, other: float, close: float = CLOSE) -> bool:
    return bool(abs(one - other) <= close * max(1.0, abs(other)))


def _raw(like: Any, array: Any) -> Any:
    """Return a raw array as a Variable that is not tracked, like another one."""
    return type(like)._make(array, None)


def _on_host(arrays: Sequence[Any]) -> list[Any]:
    np = plain_numpy()
    inside: Callable[[Any], bool] = lambda each: isinstance(each, ag.Variable)  # noqa: E731
    return [all_on_host([x])[0] if inside(x) else np.asarray(x) for x in arrays]


def _is_wide(out: Any) -> bool:
    """Return whether a result is an array of double precision; Python's numbers have none."""
    return bits_of(getattr(out, "dtype", None)) == 64


def _single(array: Any) -> Any:
    """Return an array in single precision, if it is real or complex."""
    if not is_inexact(array):
        return array
    return array.astype("complex64" if array.dtype.kind == "c" else "float32")
