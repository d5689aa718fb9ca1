"""Programs as text: a line for each step, with its value, its time, and the user's line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from reprlib import Repr
from typing import Any, NamedTuple

from agnograd_compile._lowerings import Description
from agnograd_compile._programs.program import CALLS, GUARD, Fact, Ref, Step, TracedProgram

_short = Repr()
_short.maxother = _short.maxstring = _short.maxlong = 40
_COSTLY = 8  # ops of a long program that are listed by their time


class Listing(NamedTuple):
    """A program as text.

    Attributes
    ----------
    program : TracedProgram
        The program after all passes.
    described : mapping
        What its lowering says of it.
    seconds : float
        How long it takes as it was lowered.
    steps : sequence of float
        How long each step takes by itself, in seconds.
    """

    program: TracedProgram
    described: Description
    seconds: float
    steps: Sequence[float]

    def lines(self, most: int | None) -> Iterator[str]:
        """Yield the lines; of a long program only as many steps as ``most``."""
        program = self.program
        alone = sum(self.steps)
        yield (
            f"{program.name}: {_count(len(program.steps), 'step')}, {seconds(self.seconds)}; "
            f"step by step {seconds(alone)}"
        )
        yield from self._facts()
        rows = list(rows_of(program, self.steps, self.described))
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(5)]
        cut = len(rows) if most is None else most // 2  # lines at each end
        left_out = range(cut, len(rows) - cut)
        for number, (time, share, *rest, location) in enumerate(rows):
            if number == left_out.start and left_out:
                yield f"  ... {len(left_out)} steps more: print(explanation.text(None))"
            if number not in left_out:
                columns = [time.rjust(widths[0]), share.rjust(widths[1])]
                columns += map(str.ljust, rest, widths[2:])
                yield "  ".join(["", *columns, location]).rstrip()
        if left_out:
            yield from self._costly()

    def _facts(self) -> Iterator[str]:
        program = self.program
        passes: Mapping[str, int] = program.notes.get("passes", {})
        removed = [f"{name} {number}" for name, number in passes.items() if number]
        if removed:
            yield f"  passes     removed steps: {', '.join(removed)}"
        constants = [f"{name(program, r)} {of_fact(program.facts[r])}" for r in program.constants]
        if constants:
            yield f"  constants  {', '.join(constants[:8])}{', ...' * (len(constants) > 8)}"
        guards = list(program.guards())
        if guards:
            yield f"  guards     {len(guards)}: another value takes another program"
        groups = self.described.get("groups", ())
        if groups:
            steps = sum(map(len, groups))
            yield f"  groups     {len(groups)}, which run {_count(steps, 'step')} together"
        results = sum(
            bytes_of(program.facts[ref])
            for step in program.steps
            if not step.views
            for ref in step.outs
        )
        if "buffers" in self.described:
            sizes = self.described["buffers"]
            yield (
                f"  buffers    {len(sizes)} of {size(sum(sizes))} in all; the results of all steps "
                f"have {size(results)}"
            )
        elif results:
            yield f"  results    {size(results)} in all"

    def _costly(self) -> Iterator[str]:
        """Yield the ops that take longest."""
        total: Counter[str] = Counter()
        calls: Counter[str] = Counter()
        for step, taken in zip(self.program.steps, self.steps, strict=True):
            total[step.op] += taken  # type: ignore[assignment]
            calls[step.op] += 1
        for op, taken in total.most_common(_COSTLY):
            share = taken / (sum(self.steps) or 1.0)
            yield f"  {seconds(taken):>9} {share:>4.0%}  {op}, {_count(calls[op], 'step')}"


def rows_of(
    program: TracedProgram, times: Sequence[float], described: Description
) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield, for each step: time, share, group, call, value, and the user's line."""
    total = sum(times) or 1.0
    group = groups_of(program, described)
    for number, (step, taken) in enumerate(zip(program.steps, times, strict=True)):
        mark = f"[{group[number]}]" if number in group else ""
        value = ", ".join(of_fact(program.facts[ref]) for ref in step.outs)
        share = f"{taken / total:.0%}"
        yield seconds(taken), share, mark, call(program, step), value, line_of(step)


def line_of(step: Step) -> str:
    """Return the user's line that a step comes from, without the folders of its file."""
    file, colon, rest = (step.location or "").rpartition(":")
    return f"{os.path.basename(file)}{colon}{rest}"


def groups_of(program: TracedProgram, described: Description) -> dict[int, int]:
    """Return the number of the group that each step is in, if it is in one.

    There are none if the lowering has changed the program, so that groups are of other steps.
    """
    if described.get("program", program) is not program:
        return {}
    groups = described.get("groups", ())
    return {step: number for number, steps in enumerate(groups) for step in steps}


def call(program: TracedProgram, step: Step) -> str:
    """Write a step as Python would have it."""
    given = [text(program, arg) for arg in step.args]
    if step.op == GUARD:
        kind, found = step.kwargs["kind"], step.kwargs["value"]
        found = _short.repr(found) if kind == "text" else found
        return f"{kind}({given[0]}) is {found}"
    named = [
        (n, value) for n, value in step.kwargs.items() if value is not None and value is not False
    ]
    options = [f"{n}={text(program, value)}" for n, value in named]  # those that say something
    op = step.op
    if op in CALLS:
        of, into = step.kwargs.get("op"), step.kwargs.get("input")
        op, options = (f"{of}.{into}.pullback" if into else op), []
    names = ", ".join(name(program, ref) for ref in step.outs)
    return f"{names} = {op}({', '.join([*given, *options])})"


def text(program: TracedProgram, value: Any) -> str:
    """Write an argument."""
    if type(value) is Ref:
        return name(program, value)
    if type(value) is slice:
        parts = [value.start, value.stop, value.step][: 2 if value.step is None else 3]
        return ":".join("" if part is None else text(program, part) for part in parts)
    if isinstance(value, tuple | list):
        inner = ", ".join(text(program, each) for each in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if value is ...:
        return "..."
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return _short.repr(value)


def name(program: TracedProgram, ref: Ref) -> str:
    """Return what a value is called: ``c`` and a number for a constant, else ``v``."""
    return f"{'c' if ref in program.constants else 'v'}{ref.number}"


def of_fact(fact: Fact) -> str:
    """Write what is known of a value."""
    return f"{fact.shape} {fact.dtype}"


def bytes_of(fact: Fact) -> int:
    """Return the bytes of the elements of a value, 0 if its dtype does not say them."""
    return fact.size * int(getattr(fact.dtype, "itemsize", 0))


def size(count: float) -> str:
    """Write a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def seconds(value: float) -> str:
    """Write a time."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
