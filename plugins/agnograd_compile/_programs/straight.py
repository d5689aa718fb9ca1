"""Programs as straight-line Python: one call after the other, on any array library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from agnograd.extend import function_from
from agnograd_compile._programs.program import (
    CALLS,
    CHAIN,
    GUARD,
    Missed,
    Ref,
    Runnable,
    Step,
    TracedProgram,
    freed_after,
    roots_of,
    seen_by,
)

_WRITTEN = (bool, int, str, type(None), type(...))
_SEEN = {"bool": "bool({0})", "int": "int({0})"}


def straight(program: TracedProgram) -> Runnable:
    """Return a function that runs a program, step by step, by the library's own functions."""
    return Writer(program).runnable()


class Writer:
    """Writes a program as the text of a Python function.

    Derive a class from it that overrides ``step`` for the steps that it writes otherwise.

    Attributes
    ----------
    lines : list of str
        What was written so far.
    scope : dict
        What the text names.
    """

    def __init__(self, program: TracedProgram) -> None:
        self.program = program
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"_Missed": Missed, "_seen": seen_by}
        self._known: dict[int, str] = {}  # names of objects in the scope
        self._constants = {ref: f"c{ref.number}" for ref in program.constants}
        self.scope |= {f"c{ref.number}": value for ref, value in program.constants.items()}

    def runnable(self) -> Runnable:
        """Return the function."""
        return function_from(self.source(), self.scope, keep=False)

    def source(self) -> str:
        """Write the function."""
        self.body()
        given = ", ".join(map(self.name, self.program.inputs))
        unpacked = [f"    {given}, = arrays"] * bool(given)
        lines = ["def run(arrays):", *unpacked, *[f"    {line}" for line in self.lines]]
        return "\n".join([*lines, f"    return {self.outputs()}", ""])

    def body(self) -> None:
        """Write all steps; a value is let go once nothing reads it any more."""
        freed = freed_after(self.program)
        for number, step in enumerate(self.program.steps):
            self.step(number, step)
            gone = [self.name(ref) for ref in freed.get(number, ()) if self.is_named(ref)]
            if gone:
                self.lines.append(f"del {', '.join(gone)}")

    def is_named(self, ref: Ref) -> bool:
        """Return whether a value has a variable in the text."""
        return ref not in self._constants

    def step(self, number: int, step: Step) -> None:
        """Write one step."""
        if step.op == GUARD:
            self.guard(step)
        else:
            self.lines.append(f"{self.results(step)} = {self.call(step)}")

    def guard(self, step: Step) -> None:
        """Write a guard."""
        kind, value = step.kwargs["kind"], step.kwargs["value"]
        seen = _SEEN.get(kind, f"_seen({kind!r}, {{0}})").format(self.text(step.args[0]))
        self.lines.append(f"if (_g := {seen}) != {self.text(value)}:")
        self.lines.append(f"    raise _Missed({step.kwargs['number']}, _g)")

    def results(self, step: Step) -> str:
        """Write the names of a step's results."""
        names = ", ".join(map(self.name, step.outs))
        return f"({names},)" if step.several else names

    def call(self, step: Step) -> str:
        """Write the call of a step's function."""
        function = self.held(named_function(self.program, step.op, step.kwargs), step.op)
        given = [*map(self.text, step.args)]
        if step.op not in CALLS:
            given += [f"{name}={self.text(value)}" for name, value in step.kwargs.items()]
        return f"{function}({', '.join(given)})"

    def outputs(self) -> str:
        """Write the list of outputs: copies where one shares memory with anything else."""
        names = [
            f"{self.held(self.program.domain.copy, 'copy')}({self.name(ref)})"
            if copied
            else self.name(ref)
            for ref, copied in zip(self.program.outputs, copied_outputs(self.program), strict=True)
        ]
        return f"[{', '.join(names)}]"

    def name(self, ref: Ref) -> str:
        """Return the variable of a value."""
        return self._constants.get(ref) or f"v{ref.number}"

    def text(self, value: Any) -> str:
        """Write an argument."""
        kind = type(value)
        if kind is Ref:
            return self.name(value)
        if kind is tuple:
            return f"({''.join(f'{self.text(each)}, ' for each in value)})"
        if kind is list:
            return f"[{', '.join(map(self.text, value))}]"
        if kind is slice:
            bounds = (value.start, value.stop, value.step)
            return f"{self.held(slice, 'slice')}({', '.join(map(self.text, bounds))})"
        if kind in _WRITTEN or (kind is float and math.isfinite(value)):
            return repr(value)
        return self.held(value, "k")

    def held(self, thing: Any, name: str) -> str:
        """Return the name that an object has in the text."""
        key = id(thing)
        if key not in self._known:
            text = "".join(c if c.isalnum() else "_" for c in name)
            self._known[key] = f"_{text}_{len(self._known)}"
            self.scope[self._known[key]] = thing
        return self._known[key]


def named_function(
    program: TracedProgram, op: str, kwargs: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return what computes an op of a program on raw arrays, by its name."""
    if op in CALLS:
        function: Callable[..., Any] = kwargs["function"]
        return function
    if op == CHAIN:
        return _sum_in_order
    if op in ("@scatter_add", "@scatter_add_axis"):
        add, copy = getattr(program.domain.backend, op[1:]), program.domain.copy
        return lambda into, *given: add(copy(into), *given)
    found: Callable[..., Any] = _getter(op)(program.domain.raw)
    return found


_getter = cache(attrgetter)


def _sum_in_order(start: Any, values: Any) -> Any:
    """Add the elements of a one-dimensional array to a number, one after the other."""
    for i in range(values.shape[0]):
        start = start + values[i]
    return start


def copied_outputs(program: TracedProgram) -> list[bool]:
    """Return, for each output, whether it has to be copied to share memory with nothing else.

    Scalars of a library need no copies: nobody can write to them.
    """
    roots, scalars = roots_of(program), program.domain.scalar_types
    taken = {*program.inputs, *program.constants}
    copied = []
    for ref in program.outputs:
        own = roots.get(ref, frozenset((ref,)))
        copied.append(bool(own & taken) and program.facts[ref].kind not in scalars)
        taken |= own
    return copied
