"""Partitions: a program of values and gradients as one forward and one backward program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agnograd.extend import is_basic
from agnograd_compile._passes.dead import needed, with_steps
from agnograd_compile._programs.program import Ref, Step, TracedProgram, declared


class Partition(NamedTuple):
    """A forward and a backward program, and what goes from the one to the other.

    Attributes
    ----------
    forward : TracedProgram
        Takes the inputs of the joint program that are not cotangents. It returns the values, and
        after them what the backward program needs of what it computed. As outputs of one program
        these share no memory with values, so that users may write to those.
    backward : TracedProgram
        Takes the inputs that it needs, then what the forward program made for it, then the
        cotangents, and returns gradients.
    inputs : tuple of int
        The inputs that the backward program needs, by their position among the forward program's.
        They are the caller's own arrays, not copies: nothing may write to them in between.
    """

    forward: TracedProgram
    backward: TracedProgram
    inputs: tuple[int, ...]


def partition(program: TracedProgram, cotangents: Sequence[Ref], outputs: int) -> Partition:
    """Split a program whose outputs are values, and gradients that depend on cotangents.

    Whatever does not depend on a cotangent is computed in the forward program, the guards among it
    too. Views of inputs, and of what is kept anyway, are taken again in the backward program, and
    not kept.

    Parameters
    ----------
    program : TracedProgram
        The joint program.
    cotangents : sequence of Ref
        Those of its inputs that the backward program takes.
    outputs : int
        How many of its outputs are values; the others are gradients.
    """
    values, gradients = program.outputs[:outputs], program.outputs[outputs:]
    given = tuple(ref for ref in program.inputs if ref not in set(cotangents))
    before, after = _split(program, cotangents)
    live = set(gradients)
    after = needed(tuple(after), live)
    made_after = {ref for step in after for ref in step.outs}
    boundary = live - made_after - set(cotangents)
    again, kept = _taken_again(program, before, boundary)
    residuals = tuple(ref for ref in kept if ref not in set(given) | program.constants.keys())
    inputs = tuple(position for position, ref in enumerate(given) if ref in kept)
    forward = _part(program, given, before, (*values, *residuals), "forward")
    takes = (*(given[position] for position in inputs), *residuals, *cotangents)
    backward = _part(program, takes, [*again, *after], gradients, "backward")
    return Partition(forward, backward, inputs)


def _split(program: TracedProgram, cotangents: Sequence[Ref]) -> tuple[list[Step], list[Step]]:
    """Return the steps that do not depend on cotangents, and those that do."""
    depends = set(cotangents)
    before: list[Step] = []
    after: list[Step] = []
    for step in program.steps:
        if any(ref in depends for ref in step.uses()):
            depends.update(step.outs)
            after.append(step)
        else:
            before.append(step)
    return before, after


def _taken_again(
    program: TracedProgram, before: Sequence[Step], boundary: set[Ref]
) -> tuple[list[Step], dict[Ref, None]]:
    """Return the steps that the backward program repeats, and the values that it needs for them.

    These are in the order in which they were made, and may be inputs and constants.
    """
    facts = program.facts
    made = {ref: step for step in before for ref in step.outs}
    at_hand = {*program.inputs, *program.constants}
    kept: set[Ref] = set()
    repeated: dict[int, Step] = {}
    pending = list(boundary)
    while pending:
        ref = pending.pop()
        step = made.get(ref)
        # The whole of an array is not kept for a view of a part of it.
        if step is None or not (
            _is_view(step, at_hand)
            and (step.args[0] in at_hand or facts[ref].size >= facts[step.args[0]].size)
        ):
            kept.add(ref)
        elif id(step) not in repeated:
            repeated[id(step)] = step
            pending.extend(step.uses())
    again = [step for step in before if id(step) in repeated]
    order = (*program.inputs, *program.constants, *(ref for step in before for ref in step.outs))
    return again, dict.fromkeys(ref for ref in order if ref in kept)


def _is_view(step: Step, at_hand: set[Ref]) -> bool:
    """Return whether a step takes a view of one array, or reads an element of one at hand."""
    if step.op == "__getitem__":
        x, key = step.args
        return is_basic(key) and (x in step.views or x in at_hand)
    if declared(step.op).view is None or step.several:
        return False
    return len(step.views) == 1 and step.args[0] is step.views[0]


def _part(
    program: TracedProgram,
    inputs: tuple[Ref, ...],
    steps: Sequence[Step],
    outputs: tuple[Ref, ...],
    name: str,
) -> TracedProgram:
    live = set(outputs)
    kept = needed(tuple(steps), live)
    constants: dict[Ref, Any] = {r: v for r, v in program.constants.items() if r in live}
    part = program.with_(inputs=inputs, outputs=outputs, name=f"{program.name} ({name})")
    return with_steps(part, kept, constants)
