"""Additions to parts of an array of zeros, by fewer of them: gradients of slices."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agnograd.extend import is_basic
from agnograd_compile._programs.editor import Editor
from agnograd_compile._programs.plan import nbytes
from agnograd_compile._programs.program import Fact, Ref, Step, TracedProgram

_SCATTER = "@scatter_add"


def scatters(program: TracedProgram) -> TracedProgram:
    """Return the program with the sum of two values where both are added to the same zeros.

    That is the same bit for bit: ``(0 + a) + b`` is ``0 + (a + b)``. The sum is element-wise, and
    may be computed with what makes the two. So is ``a + 0``, in place of an addition to all of the
    zeros, which then need not be kept.
    """
    if program.domain.backend.capabilities.lazy:  # nothing may be computed to look at it
        return program
    return _Scatters(program).rewritten()


class _Scatters(Editor):
    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.uses = Counter(ref for step in program.steps for ref in step.uses())
        self.uses.update(program.outputs)
        self.kept: list[Step | None] = []
        self.places: dict[Ref, int] = {}  # of scatters to zeros, in what is kept
        self._zeros: dict[Ref, bool] = {}

    def rewritten(self) -> TracedProgram:
        for step in self.program.steps:
            if step.op == _SCATTER and type(step.args[0]) is Ref and is_basic(step.args[1]):
                self._scatter(step)
            else:
                self.kept.append(step)
        filled = False
        for place in self.places.values():
            scatter = self.kept[place]
            if scatter is not None and (total := self._filled(scatter)) is not None:
                self.kept[place], filled = total, True
        if not filled and len(self.facts) == len(self.program.facts):
            return self.program
        return self.finished([step for step in self.kept if step is not None])

    def _filled(self, step: Step) -> Step | None:
        """Return a sum with zero in place of an addition to zeros, if it is to all of them."""
        (zeros, key, value), (out,) = step.args, step.outs
        fact, domain = self.facts[out], self.program.domain
        alike = type(value) is Ref and self.facts[value] == fact
        real = domain.is_inexact(fact.dtype) and not domain.is_complex(fact.dtype)
        if not (alike and real and _selects_all(key, fact.shape)):
            return None
        if bool(domain.raw.any(domain.raw.signbit(self.program.constants[zeros]))):
            return None  # -0.0 + -0.0 has a sign
        return Step("add", (value, 0.0), {}, step.outs, location=step.location)

    def _scatter(self, step: Step) -> None:
        into, key, value = step.args
        place = self.places.get(into)
        inner = None if place is None else self.kept[place]
        if place is not None and inner is not None and self._are_one(inner, step):
            zeros, _, first = inner.args
            total = self.value(self.facts[value])
            self.kept[place] = None
            self.kept.append(Step("add", (first, value), {}, (total,), location=step.location))
            step = Step(_SCATTER, (zeros, key, total), {}, step.outs, location=step.location)
            into = zeros
        if self._is_zero(into):
            self.places[step.outs[0]] = len(self.kept)
        self.kept.append(step)

    def _are_one(self, inner: Step, step: Step) -> bool:
        """Return whether two scatters, one after the other, are to one part, of values alike."""
        (out,), (_, key, value) = step.outs, step.args
        first = inner.args[2]
        if self.uses[step.args[0]] > 1 or repr(key) != repr(inner.args[1]) or step.views:
            return False
        if type(value) is not Ref or type(first) is not Ref:
            return False
        fact: Fact = self.facts[value]
        alike = fact == self.facts[first] and fact.dtype == self.facts[out].dtype
        return alike and (fact.strides is None or nbytes(fact) is not None)

    def _is_zero(self, ref: Ref) -> bool:
        """Return whether a value is a constant all of whose elements are zeros, of any sign."""
        if ref in self.program.constants and ref not in self._zeros:
            value, fact, raw = self.constants[ref], self.facts[ref], self.domain.raw
            if fact.strides is not None and not any(fact.strides) and fact.size:
                value = value[(0,) * len(fact.shape)]
            self._zeros[ref] = not bool(raw.any(raw.not_equal(value, 0)))
        return self._zeros.get(ref, False)


def _selects_all(key: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a key of slices selects all elements, in their order."""
    parts = key if type(key) is tuple else (key,)
    if len(parts) > len(shape) or not all(type(part) is slice for part in parts):
        return False
    pairs = zip(parts, shape, strict=False)
    return all(
        part.start in (None, 0)
        and part.step in (None, 1)
        and (part.stop is None or (type(part.stop) is int and part.stop >= length))
        for part, length in pairs
    )
