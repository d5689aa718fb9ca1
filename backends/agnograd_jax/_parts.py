"""Programs as functions under ``jax.jit``: one, or several where one would compute things again.

XLA computes what is gathered along with the gather. Each element that is taken is then computed by
itself: without the vectors of a loop over neighbours, and by a branch for each array of those that
were joined. If it is computed in a part of the program before the gather, it is computed once, and
at full speed.

It also computes a value again for each place that it is moved to. A step of a simulation that reads
its neighbours, by ``roll`` to both sides, does so three times, and n such steps 3**n times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agnograd.extend import is_basic, switch
from agnograd_compile.lowering import Ref

if TYPE_CHECKING:
    from agnograd_compile.lowering import Step, TracedProgram

__all__ = ["in_parts", "parts_of"]

Run = Callable[[Sequence[Any]], list[Any]]

# The fewest elements that are computed by themselves for longer than it takes to start a part.
PART_ELEMENTS = switch("PART_ELEMENTS", 2**13, least=1, most=2**62, module=__name__)
# What takes as long for one element as to write it to memory, and to read it again.
CHEAP = frozenset(
    (
        *("abs", "add", "astype", "broadcast_to", "divide", "equal", "expand_dims", "flip"),
        *("__getitem__", "greater", "greater_equal", "less", "less_equal", "matrix_transpose"),
        *("maximum", "minimum", "moveaxis", "multiply", "negative", "not_equal", "permute_dims"),
        *("positive", "reshape", "sqrt", "square", "squeeze", "subtract", "take", "where"),
    )
)


# Ops that move elements, and those whose results XLA writes to memory.
MOVING = frozenset(("__getitem__", "@scatter_add", "concat", "flip", "roll", "stack", "tile"))
WRITTEN = frozenset(
    (
        *("argmax", "argmin", "argsort", "cumulative_prod", "cumulative_sum", "matmul", "max"),
        *("mean", "min", "prod", "sort", "std", "sum", "tensordot", "var", "vecdot"),
    )
)
# How often values that were moved may be computed again, for one element of a large array, and of
# others, for which a part takes longer to start.
LARGE_WAYS = switch("LARGE_WAYS", 6, least=1, most=64, module=__name__)
SMALL_WAYS = switch("SMALL_WAYS", 32, least=1, most=64, module=__name__)


class Again:
    """What XLA computes again for an element, in one part, because it was moved."""

    def __init__(self, program: TracedProgram) -> None:
        self._program = program
        # By the value: the ways that lead to what was moved, each the numbers of steps.
        self._ways: dict[Ref, frozenset[tuple[int, ...]]] = {}

    def add(self, number: int, step: Step) -> bool:
        """Add a step to the part, unless it would compute too much again; return if it did."""
        ways: set[tuple[int, ...]] = set()
        if step.op not in WRITTEN and not step.op.startswith(("linalg.", "fft.")):
            of = [self._ways[ref] for ref in step.uses() if ref in self._ways]
            if step.op not in MOVING:
                ways = set().union(*of)
            elif of:  # each element is one argument's, or all but one keep their places
                ways = {(number, *way) for way in (*max(of, key=len), ())}
            size = max(self._program.facts[ref].size for ref in step.outs) if step.outs else 0
            if len(ways) > (LARGE_WAYS if size >= PART_ELEMENTS else SMALL_WAYS):
                return False
            self._ways |= dict.fromkeys(step.outs, frozenset(ways))
        return True


def parts_of(program: TracedProgram) -> list[list[int]]:
    """Return the numbers of the steps in each part, without guards."""
    parts: list[list[int]] = [[]]
    dear: set[Ref] = set()  # values of the last part that are not cheap
    again = Again(program)
    for number, step in enumerate(program.steps):
        if step.op == "@guard":
            continue
        gathers = _gathers(program, step) and step.args[0] in dear
        if gathers or not again.add(number, step):
            parts.append([])
            dear, again = set(), Again(program)
            again.add(number, step)
        parts[-1].append(number)
        if step.op not in CHEAP or not dear.isdisjoint(step.uses()):
            dear.update(step.outs)
    return parts


def _gathers(program: TracedProgram, step: Step) -> bool:
    """Return whether a step takes elements by indices, about as many as there are or more."""
    if step.op == "__getitem__":
        if is_basic(step.args[1]):
            return False
    elif step.op not in ("take", "take_along_axis"):
        return False
    source, (out,) = program.facts[step.args[0]], step.outs
    return source.size >= PART_ELEMENTS and 2 * program.facts[out].size >= source.size


def in_parts(program: TracedProgram, compiled: Callable[[TracedProgram], Run]) -> Run:
    """Return a function of a program's inputs that returns its outputs, and what guards look at.

    ``compiled`` makes one of a program without guards. Outputs that are inputs or constants may be
    these arrays themselves: nobody can write to them.
    """
    outputs = (*program.outputs, *(step.args[0] for step in program.guards()))
    numbers = parts_of(program)
    steps = [program.steps[number] for number in numbers[0]]
    if len(numbers) == 1 and {*outputs} <= {ref for step in steps for ref in step.outs}:
        return compiled(program.with_(steps=tuple(steps), outputs=outputs))
    inputs = program.inputs
    known = {ref: program.constants[ref] for ref in outputs if ref in program.constants}
    parts = [(compiled(part), part, gone) for part, gone in _split(program, numbers, outputs)]

    def run(arrays: Sequence[Any]) -> list[Any]:
        values = known | dict(zip(inputs, arrays, strict=True))
        for compute, part, gone in parts:
            found = compute([values[ref] for ref in part.inputs])
            values.update(zip(part.outputs, found, strict=True))
            for ref in gone:
                del values[ref]
        return [values[ref] for ref in outputs]

    return run


def _split(
    program: TracedProgram, numbers: Sequence[Sequence[int]], outputs: Sequence[Ref]
) -> list[tuple[TracedProgram, list[Ref]]]:
    """Return the program of each part, and the values that nothing reads after it."""
    parts, live = [], {*outputs}
    for part in reversed(numbers):
        steps = tuple(program.steps[number] for number in part)
        made = dict.fromkeys(ref for step in steps for ref in step.outs)
        reads = dict.fromkeys(ref for step in steps for ref in step.uses() if ref not in made)
        constants = {ref: program.constants[ref] for ref in reads if ref in program.constants}
        inputs = tuple(ref for ref in reads if ref not in constants)
        gives = tuple(ref for ref in made if ref in live)
        gone = [ref for ref in inputs if ref not in live]
        parts.append(
            (program.with_(inputs=inputs, constants=constants, steps=steps, outputs=gives), gone)
        )
        live = (live - made.keys()) | reads.keys()
    return parts[::-1]
