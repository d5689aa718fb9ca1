"""Derivatives of the largest and smallest elements, as steps that groups can compute."""

from __future__ import annotations

from typing import Any

from agnograd_c._choose.derivatives import TIES
from agnograd_c._choose.groups import is_sum
from agnograd_c._choose.types import FLOATS, code_of
from agnograd_c._rewrite.recompute import AFTER
from agnograd_compile.lowering import Editor, Fact, Ref, Step, TracedProgram


def by_ties(program: TracedProgram) -> TracedProgram:
    """Return the program in which derivatives of extremes are products of element-wise steps.

    They are the rule's: a gradient is shared by the elements that equal the extreme. NumPy makes
    two arrays for it; C counts the ties where it reads the elements for something else, and finds
    them again where it uses the result.
    """
    if "@pullback" not in {step.op for step in program.steps}:
        return program
    return _Writing(program).written()


def _is_of_extreme(step: Step) -> bool:
    return (
        step.op == "@pullback"
        and step.kwargs["op"] in ("max", "min")
        and step.kwargs["input"] == "x"
    )


class _Writing(Editor):
    """A walk through a program that writes such derivatives otherwise."""

    def written(self) -> TracedProgram:
        for step in self.program.steps:
            if not (_is_of_extreme(step) and self._write(step)):
                self.steps.append(step)
        if len(self.facts) == len(self.program.facts):
            return self.program
        return self.finished()

    def _write(self, step: Step) -> bool:
        """Write a derivative; say whether it is one that groups can compute."""
        from agnograd_c.kernels.calls import ties  # which imports NumPy

        given = dict(zip(step.kwargs["function"].names, step.args, strict=True))
        g, x, out, axis = (given[name] for name in ("g", "x", "out", "axis"))
        if not all(type(each) is Ref for each in (g, x, out)):
            return False
        fact, other, total = self.facts[step.outs[0]], self.facts[x], self.facts[out]
        alike = {code_of(self.facts[each]) for each in (g, x, out, step.outs[0])}
        if len(alike) > 1 or not alike <= FLOATS or fact.dtype.kind != "f":
            return False
        if fact.shape != other.shape or len(total.shape) not in (0, len(fact.shape)):
            return False  # groups add up, and read, what kept its axes
        options = {"axis": axis, "keepdims": bool(total.shape)}
        counted = Step("sum", (x,), options, (out,))
        if self.facts[g].shape != total.shape or not is_sum(self.facts, counted):
            return False

        def add(op: str, args: Any, like: Fact, **kwargs: Any) -> Ref:
            views = args[:1] if op == AFTER else ()
            return self.emit(op, args, kwargs, like, views=views, location=step.location)

        call = {"function": ties, TIES: True}
        count = add("sum", (add("@call", (x, out), fact, **call),), total, **options)
        share = add("divide", (g, count), total)
        again = add("@call", (add(AFTER, (x, share), other), out), fact, **call)
        self.steps.append(Step("multiply", (share, again), {}, step.outs, location=step.location))
        return True
