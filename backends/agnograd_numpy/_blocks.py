"""Element-wise steps on large arrays: block by block, so that what is between them stays cached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnograd.extend import function_from, switch
from agnograd_compile.lowering import Fact, Ref, Step, TracedProgram, Way, nbytes
from agnograd_numpy._elementwise import ElementwiseWriter
from agnograd_numpy._steps import BLOCKS, Buffers, is_array, ufunc_of, way_of
from agnograd_numpy._threads import each, threads

__all__ = ["Blocks", "grouped"]

# From how many elements on arrays leave the cache between one step and the next.
GROUPED_ELEMENTS = switch("GROUPED_ELEMENTS", 2**15, least=1, most=2**62, module=__name__)
# From how many bytes of all its arrays on a group leaves the last cache, too.
GROUPED_BYTES = switch("GROUPED_BYTES", 2**24, least=0, most=2**62, module=__name__)
# How many bytes all arrays of a block have together: about the cache of a core.
CACHED_BYTES = switch("CACHED_BYTES", 2**20, least=1, most=2**62, module=__name__)
# Of how many elements a block is at least: of fewer, the calls would take too long.
SHORTEST_BLOCK = switch("SHORTEST_BLOCK", 2**12, least=2**6, most=2**20, module=__name__)
# Of how many elements a block is at most, so that threads have blocks enough.
LONGEST_BLOCK = switch("LONGEST_BLOCK", 2**15, least=2**6, most=2**20, module=__name__)
# How many results of steps each thread computes at least: to start it takes some ten
# microseconds.
THREAD_WORK = switch("THREAD_WORK", 2**20, least=1, most=2**62, module=__name__)
# How many steps may be put off until after a group.
STEPS_WAITING = switch("STEPS_WAITING", 500, least=0, most=2**62, module=__name__)

Layout = tuple[tuple[int, ...], tuple[int, ...]]


# -- groups ----------------------------------------------------------------------------------------


def grouped(program: TracedProgram) -> TracedProgram:
    """Return the program with a step for each group of element-wise ones on large arrays.

    What does not depend on a group is computed before it, and all else after it. Steps with effects
    keep their order.
    """
    if all(fact.size < GROUPED_ELEMENTS for fact in program.facts.values()):
        return program
    done: list[Step] = []
    left: Sequence[Step] = program.steps
    needed = Counter(program.outputs)
    for step in program.steps:
        needed.update(step.uses())
    while left:
        before, members, left = _split(program, left)
        done += before
        done += _grouped(program, members, needed)
    found = any(step.op == BLOCKS for step in done)
    return program.with_(steps=tuple(done)) if found else program


def _split(
    program: TracedProgram, steps: Sequence[Step]
) -> tuple[list[Step], list[Step], list[Step]]:
    """Return what comes before the first group, its members, and what comes after it."""
    before: list[Step] = []
    members: list[Step] = []
    after: list[Step] = []
    inside, late, layout = set[Ref](), set[Ref](), None
    for number, step in enumerate(steps):
        uses = set(step.uses())
        own = None if uses & late else layout_of(program, step)
        if own is not None and own == (layout or own):
            layout = own
            members.append(step)
            inside.update(step.outs)
        elif not uses & late and not uses & inside:
            before.append(step)
        else:
            after.append(step)
            late.update(step.outs)
            # What comes after a guard runs only if the guard finds what it should, and what comes
            # after a step with effects may be another one.
            if step.op == "@guard" or step.effects or len(after) > STEPS_WAITING:
                return before, members, [*after, *steps[number + 1 :]]
    return before, members, after


def layout_of(program: TracedProgram, step: Step) -> Layout | None:
    """Return the shape and the order of elements of a step that blocks can compute, or None."""
    out = program.facts[step.outs[0]] if len(step.outs) == 1 else None
    if out is None or out.size < GROUPED_ELEMENTS or not is_array(out):
        return None
    # Complex numbers are left out with what cannot be written over an argument: how NumPy rounds
    # their products depends on how many there are.
    ufunc = ufunc_of(program, step)  # what another lowering computes is none
    if ufunc is None or nbytes(out) is None or way_of(program, step) is not Way.ELEMENTWISE:
        return None
    layout = out.shape, _order(out)
    facts = [program.facts[ref] for ref in step.uses()]
    fits = all(_is_one(fact) or (fact.shape, _order(fact)) == layout for fact in facts)
    return layout if fits else None


def _order(fact: Fact) -> tuple[int, ...]:
    """Return the elements from one to the next along each axis."""
    return tuple(stride // fact.dtype.itemsize for stride in fact.strides or ())


def _is_one(fact: Fact) -> bool:
    """Return whether all elements of a value are one."""
    return fact.size > 0 and not any(fact.strides or (0,))


def _grouped(
    program: TracedProgram, members: Sequence[Step], needed: Counter[Ref]
) -> Sequence[Step]:
    """Return the step of a group, or its members if they take no more time one by one.

    Its results are those that are needed outside of it.
    """
    inner = Counter(ref for step in members for ref in step.uses())
    outs = [ref for step in members for ref in step.outs]
    args = inner.keys() - set(outs)
    results = tuple(ref for ref in outs if needed[ref] > inner[ref])
    if len(members) < 2 or not results:
        return members
    blocks = Blocks(program, members, tuple(ref for ref in inner if ref in args), results)
    if blocks.nbytes < GROUPED_BYTES and min(blocks.most, threads()) == 1:
        return members
    kwargs, location = {"blocks": blocks}, members[0].location
    return [Step(BLOCKS, blocks.args, kwargs, results, True, location=location)]


# -- what computes a group -------------------------------------------------------------------------


class Blocks:
    """What computes a group of steps, and writes its results to given arrays."""

    def __init__(
        self,
        program: TracedProgram,
        members: Sequence[Step],
        args: tuple[Ref, ...],
        outs: tuple[Ref, ...],
    ) -> None:
        facts = program.facts
        first = facts[members[0].outs[0]]
        self.members, self.args, self.size = members, args, first.size
        # Axes in the order in which elements lie, as in an array in C's order.
        strides = first.strides or ()
        order = sorted(range(len(strides)), key=strides.__getitem__, reverse=True)
        self.axes = None if order == sorted(order) else tuple(order)
        self.ones = [_is_one(facts[ref]) for ref in args]
        part = program.with_(inputs=args, constants={}, steps=tuple(members), outputs=outs)
        writer = _BlockWriter(part)
        self.part = function_from(writer.source(), writer.scope, keep=False)
        self.buffers, self.block = writer.buffers(), writer.block
        self.nbytes = self.size * writer.itemsizes
        self.most = max(1, min(self.size * len(members) // THREAD_WORK, self.size // self.block))

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        """Compute the group."""
        pairs = zip(arrays, self.ones, strict=True)
        flat = [self._one(array) if one else self._flat(array) for array, one in pairs]
        flat += map(self._flat, outs)
        count = min(self.most, threads()) if self.most > 1 else 1
        blocks = -(-self.size // self.block)
        ends = [min(self.size, blocks * part // count * self.block) for part in range(count + 1)]
        # All sets are taken before the first part runs: how many there are does not depend on
        # whether one part is done before the next begins.
        sets = [self.buffers.take() for _ in range(count)]
        try:
            each(self.part, [(*ends[part : part + 2], sets[part], flat) for part in range(count)])
        finally:
            self.buffers.free += sets

    def _flat(self, array: Any) -> Any:
        return (array if self.axes is None else array.transpose(self.axes)).reshape(-1)

    def _one(self, array: Any) -> Any:
        """Return the only element as a 0-d array, which NumPy reads faster than a scalar."""
        return np.asarray(array[(0,) * array.ndim])


class _BlockWriter(ElementwiseWriter):
    """Writes the function of a part of a group's elements."""

    most = 0  # arrays that are full of a number would take room in the cache

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        facts = program.facts
        arrays = [ref for ref in (*program.inputs, *program.outputs) if not _is_one(facts[ref])]
        size = facts[program.outputs[0]].size
        # The bytes that one element takes in all arrays together.
        self.itemsizes = sum(facts[ref].dtype.itemsize for ref in arrays)
        self.itemsizes += sum(self.plan.sizes) // size
        block = CACHED_BYTES // self.itemsizes // 64 * 64
        self.block = min(max(block, SHORTEST_BLOCK), LONGEST_BLOCK)
        self.places |= {ref: f"o{ref.number}" for ref in program.outputs}
        self._arrays = [self.name(ref) for ref in arrays]

    def buffers(self) -> Buffers:
        """Return the buffers, each for a block."""
        short = [
            (number, fact._replace(shape=(self.block,), strides=(fact.dtype.itemsize,)))
            for number, fact in self.forms
        ]
        return Buffers(self.plan, short)

    def source(self) -> str:
        """Write the function: a loop over blocks, of which the last may be shorter."""
        for number, step in enumerate(self.program.steps):
            (ref,) = step.outs
            into = self.places.get(ref) or self.place(number, step)
            self.lines.append(self.elementwise(step, into))
            self.places[ref] = str(into)
        given = [self.name(ref) for ref in (*self.program.inputs, *self.program.outputs)]
        whole = [f"all_{name}" if name in self._arrays else name for name in given]
        buffers = [*self.forms.values()]
        shorter = [f"        {name} = {name}[: j - i]" for name in buffers]
        blocks = [f"        {name} = all_{name}[i:j]" for name in self._arrays]
        lines = ["def part(first, last, buffers, arrays):"]
        lines.append(f"    {''.join(f'{name}, ' for name in whole)}= arrays")
        lines += [f"    {''.join(f'{name}, ' for name in buffers)}= buffers"] * bool(buffers)
        lines.append(f"    for i in range(first, last, {self.block}):")
        lines.append(f"        j = min(i + {self.block}, last)")
        if buffers:
            lines.append(f"        if j - i < {self.block}:")
            lines += [f"    {line}" for line in shorter]
        lines += blocks
        return "\n".join([*lines, *(f"        {line}" for line in self.lines), ""])
