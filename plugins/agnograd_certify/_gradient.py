"""The gradient of a call on one backend, compared with differences on plain NumPy arrays."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import agnograd as ag
from agnograd.errors import LostGradientWarning
from agnograd.testing.host import on_host
from agnograd_certify._calls import plain_numpy
from agnograd_certify._findings import Finding, of_error, place_of, short
from agnograd_certify._locator import Locator
from agnograd_certify._probe import ATOL, RTOL, Probe, tolerance

__all__ = ["Gradient", "array_of", "listening", "on_raw", "texts", "unsupported"]


@contextlib.contextmanager
def listening() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings of a block, each of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def texts(caught: list[warnings.WarningMessage]) -> set[str]:
    """Return warnings as text."""
    return {f"{each.category.__name__}: {each.message}" for each in caught}


def array_of(xp: Any, array: Any) -> Any:
    """Return a NumPy array as one of a namespace, without what only NumPy's arrays have."""
    dtype = getattr(xp, array.dtype.name)
    return xp.reshape(xp.asarray(array.ravel().tolist(), dtype=dtype), array.shape)


def on_raw(probe: Probe, xp: Any, arrays: Sequence[Any]) -> list[Any]:
    """Return the leaves of the call's result for raw arrays of a namespace's backend."""
    raw = [array_of(xp, array).data for array in arrays]
    return probe.run(xp.empty(0)._domain.raw, raw)


def unsupported(probe: Probe, xp: Any) -> Finding | None:
    """Return why the library does not take raw arrays of a backend; None where it does."""
    try:
        results = on_raw(probe, xp, probe.arrays)
    except Exception as error:
        return of_error("unsupported", error, probe.subject.theirs)
    kind = type(xp.empty(0).data)
    foreign = [leaf for leaf in results if not isinstance(leaf, kind | float | complex)]
    if foreign:
        return Finding("unsupported", f"the result is a {type(foreign[0]).__name__}")
    return None


class Gradient:
    """What a call and a pass through it come to on a backend.

    Attributes
    ----------
    problem : Finding or None
        What went wrong before there were gradients.
    tracked : list of bool
        Which results are connected.
    gradients : list of array
        Those of the inexact arrays, on the host; None for what has none.
    """

    def __init__(self, probe: Probe, backend: str) -> None:
        self.probe, self.xp = probe, ag.namespace(backend)
        self.tracked: list[bool] = []
        self.gradients: list[Any] = []
        self.problem: Finding | None = None
        with listening() as caught:
            try:
                self.problem = self._run()
            except Exception as error:
                self.problem = of_error("refused", error, probe.subject.theirs)
                if not self.problem.where:  # it came up in the backward pass
                    self.problem.where = self._located()[0]
        self.caught = caught

    @property
    def told(self) -> str:
        """The line at which a LostGradientWarning said that a gradient is lost, if one did."""
        return next(
            (
                place_of(each.filename, each.lineno)
                for each in self.caught
                if issubclass(each.category, LostGradientWarning)
            ),
            "",
        )

    def _run(self) -> Finding | None:
        probe, xp, np = self.probe, self.xp, plain_numpy()
        inputs = [ag.Variable(array_of(xp, array).data) for array in probe.arrays]
        outputs = probe.run(xp, inputs)
        tracked = [isinstance(out, ag.Variable) and out.requires_grad for out in outputs]
        if len(outputs) != len(probe.values):
            return Finding("wrong", f"{len(outputs)} outputs, {len(probe.values)} on plain NumPy")
        for out, value in zip(outputs, probe.values, strict=True):
            found = on_host(out.detach()) if isinstance(out, ag.Variable) else np.asarray(out)
            if found.shape != value.shape or not np.allclose(found, value, RTOL, ATOL, True):
                shown = f"the value is {found.tolist()}, on plain NumPy {value.tolist()}"
                return Finding("wrong", short(shown))
        every = zip(outputs, probe.weights, tracked, strict=True)
        chosen = [(out, weight) for out, weight, connected in every if connected]
        if chosen:
            cotangents = [xp.astype(array_of(xp, w), out.dtype) for out, w in chosen]
            ag.autodiff.backward([out for out, _ in chosen], cotangents)
        inexact = [inputs[place] for place in probe.inexact]
        self.tracked = tracked
        self.gradients = [None if x.grad is None else on_host(x.grad) for x in inexact]
        return None

    def judged(self, usual: Gradient | None = None) -> Finding:
        """Return what comes of comparing with differences.

        Where the gradient on numpy's Variables is given, went well, and no warning told that a
        gradient is lost, it is taken for the reference, which is quicker.
        """
        if self.problem is not None:
            return self.problem
        if usual is not None and not self.told and usual.problem is None:
            return self._as_usual(usual)
        found = self._compared()
        # Where elements are left out as not smooth, those that agree do not show that the warning
        # was needless; how many are left out, rounding decides.
        unclear = found.status == "right" and found.reason
        if self.told and (found.status in ("lost", "wrong") or unclear):
            found = Finding("warned", found.reason, self.told)
        return found

    def _compared(self) -> Finding:
        np, probe = plain_numpy(), self.probe
        references, moved = probe.differences
        lost = [
            out for out, how_far in enumerate(moved) if how_far > ATOL and not self.tracked[out]
        ]
        if lost:
            return Finding("lost", f"output {lost[0]} is not connected to the arrays")
        found, rough, judged = None, 0, 0
        for place, reference, g in zip(probe.inexact, references, self.gradients, strict=True):
            g = np.zeros_like(reference) if g is None else g
            judged += reference.size
            for element in map(tuple, np.argwhere(~_close(g, reference))):
                name, one = _element(probe.names[place], element), g[element]
                finer, off = probe.refined(place, element)
                if not np.isfinite(off):
                    rough += 1
                elif abs(one - finer) <= 3 * off + tolerance(reference) + RTOL * abs(finer):
                    continue  # the first differences were too coarse
                elif found is None or (found.status == "wrong" and not np.isfinite(one)):
                    found = self._differs(name, one, finer if finer.imag else finer.real)
        if found is not None:
            return found
        if judged and rough == judged:
            return Finding("not smooth", "differences of two step widths disagree everywhere")
        left = f"left out, not smooth there: {rough} of {judged} elements" if rough else ""
        return Finding("right" if np.any(moved > ATOL) else "no gradient", left)

    def _differs(self, name: str, found: Any, reference: Any) -> Finding:
        shown = f"{name}: the gradient is {found}, by differences {reference:.9g}"
        if plain_numpy().isfinite(found):
            return Finding("wrong", shown)
        where, op = self._located()
        return Finding(
            "NaN", shown + (f"; the first is made by the rule of {op!r}" * bool(op)), where
        )

    def _located(self) -> tuple[str, str]:
        """Return the line, and the op, at which the pass made the first NaN or failed."""
        locator = Locator(self.probe.subject.theirs)
        with listening(), contextlib.suppress(Exception), ag.hooks(locator):
            self._run()
        return locator.where, locator.op

    def _as_usual(self, usual: Gradient) -> Finding:
        """Return what comes of comparing with gradients on numpy."""
        np = plain_numpy()
        if self.tracked != usual.tracked:
            shown = f"outputs are connected: {self.tracked}, on numpy {usual.tracked}"
            return Finding("lost", shown)
        for g, reference in zip(self.gradients, usual.gradients, strict=True):
            one, other = (np.asarray(0.0 if each is None else each) for each in (g, reference))
            if one.shape != other.shape or not np.all(_close(one, other)):
                return Finding("wrong", short(f"{one.tolist()}, on numpy {other.tolist()}"))
        some = any(g is not None and np.any(abs(g) > ATOL) for g in usual.gradients)
        return Finding("right" if some else "no gradient")


def _close(one: Any, other: Any) -> Any:
    return plain_numpy().isclose(one, other, RTOL, tolerance(other))


def _element(name: str, place: tuple[Any, ...]) -> str:
    return f"{name}[{', '.join(map(str, map(int, place)))}]" if place else name
