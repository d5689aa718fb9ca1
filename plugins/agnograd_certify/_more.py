"""What else is checked of a call whose gradient is right: second order, other modes, precision."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import agnograd as ag
from agnograd.testing.differences import Problem, cotangents, difference, drawn, gradient
from agnograd.testing.host import all_on_host, inner
from agnograd_certify._calls import plain_numpy
from agnograd_certify._findings import Finding, of_error
from agnograd_certify._gradient import array_of, listening
from agnograd_certify._probe import Probe, is_inexact

__all__ = ["Further"]

STEP = 1e-3  # of differences of gradients, and how far the second member is from the first
CLOSE = 1e-5
ROUNDING = 1e-7  # of what is computed twice, in another order


class Further:
    """A call on a backend, in terms of its arrays that are differentiated.

    Each method is a check, and returns what it came to.

    Parameters
    ----------
    probe : Probe
        The call.
    backend : str
        The backend.
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

    def _moved(self, by: float) -> list[Any]:
        """Return the arrays, each a bit from where it is, in another direction for each element."""
        rng = random.Random(3)
        moved = []
        for value in self._problem.values:
            along = drawn(value, rng)
            moved.append(_raw(value, value.data + by * along.data))
        return moved

    def second(self) -> Finding | None:
        """Compare the gradient of the contracted gradient with differences of the gradient."""
        problem, rng = self._problem, random.Random(2)
        function = gradient(problem, self._weights)
        outputs, pullback = ag.vjp(function, *problem.values)
        weights = cotangents(outputs, seed=2)
        found = pullback(weights)
        for place, value in enumerate(problem.values):
            along = drawn(value, rng)
            one = inner(all_on_host([found[place]]), all_on_host([along]))
            other = difference(function, weights, self._line(place, along, STEP), STEP)
            if not _near(one, other):
                line = self._line(place, along, STEP / 2)
                finer = difference(function, weights, line, STEP / 2)
                if not _near(finer, other) or self._bends(function, weights, place, along):
                    return Finding("not smooth", "differences of the gradient disagree")
                name = self._probe.names[self._probe.inexact[place]]
                return _second(name, one, other)
        return None

    def _bends(self, function: Any, weights: list[Any], place: int, along: Any) -> bool:
        """Return whether slopes from both sides differ by as much for a smaller step: a kink."""
        bends = []
        for step in (STEP, STEP / 16):
            line = self._line(place, along, step)
            with ag.no_grad():
                at = [
                    inner(all_on_host(weights), all_on_host(function(*line(k)))) for k in (-1, 0, 1)
                ]
            bends.append(abs(at[0] - 2 * at[1] + at[2]) / step)
        coarse, fine = bends
        return not fine <= max(0.5 * coarse, CLOSE * max(1.0, coarse))

    def _line(self, place: int, along: Any, step: float) -> Callable[[int], list[Any]]:
        """Return the arrays as a function of the steps that one of them has moved."""

        def at(multiple: int) -> list[Any]:
            moved = list(self._problem.values)
            moved[place] = _raw(along, moved[place].data + multiple * step * along.data)
            return moved

        return at

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

    def _outcome(self, *variables: Any) -> Any:
        """Return the values, and the gradients."""
        values = self._problem(*variables)
        return values, gradient(self._problem, self._weights)(*variables)

    def _singles(self) -> list[list[Any]]:
        members = self._problem.values, self._moved(STEP)
        outcomes = [self._outcome(*each) for each in members]
        return [_on_host(values) + _on_host(found) for values, found in outcomes]

    def vmap(self) -> Finding | None:
        """Compare two members at once with single calls."""
        pairs = zip(self._problem.values, self._moved(STEP), strict=True)
        stacked = [_raw(one, one._domain.raw.stack([one.data, other.data])) for one, other in pairs]
        singles = self._singles()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ag.errors.BatchingWarning)
            values, gradients = ag.vmap(self._outcome)(*stacked)
        many = _on_host(values) + _on_host(gradients)
        return self._differ([[each[k] for each in many] for k in range(2)], singles)

    def compiled(self) -> Finding | None:
        """Compare a compiled call, traced and run again, with the call."""
        _ = self._weights  # found before, as the program reads them
        run = ag.compile(self._outcome)
        members = self._problem.values, self._moved(STEP)
        outcomes = [run(*each) for each in members]
        found = [_on_host(values) + _on_host(gradients) for values, gradients in outcomes]
        return self._differ(found, self._singles())

    def _differ(self, found: Sequence[Any], expected: Sequence[Any]) -> Finding | None:
        """Return where values and gradients are others than those of single calls."""
        np, count = plain_numpy(), len(self._weights)
        inexact = [self._probe.names[place] for place in self._probe.inexact]
        names = [f"output {k}" for k in range(count)] + [f"the gradient of {x}" for x in inexact]
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
        kept = self._xp.empty(0)
        raw = [array_of(self._xp, each).data for each in arrays]
        try:
            results = self._probe.run(kept._domain.raw, raw)
        except Exception:
            return "plain arrays of single precision are refused"
        wide = any(map(_is_wide, results))
        return "so it is for plain arrays" if wide else "for plain arrays it is not"


def _second(name: str, one: float, other: float) -> Finding:
    shown = f"{name}: the second derivative is {one:.9g}, by differences {other:.9g}"
    if one != one or abs(one) == float("inf"):
        return Finding("NaN", shown)
    return Finding("lost" if one == 0 else "wrong", shown)


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
    return any(name in str(getattr(out, "dtype", "")) for name in ("float64", "complex128"))


def _single(array: Any) -> Any:
    """Return an array in single precision, if it is real or complex."""
    if not is_inexact(array):
        return array
    return array.astype("complex64" if array.dtype.kind == "c" else "float32")
