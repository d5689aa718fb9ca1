"""Dead code: steps that no output, no guard and no step with effects needs."""

from __future__ import annotations

from agnograd_compile._programs.program import GUARD, Ref, Step, TracedProgram


def dead(program: TracedProgram) -> TracedProgram:
    """Return the program without steps and constants whose values nothing reads.

    All guards stay, and steps with effects. Everything else only computes its results, calls of
    Python functions too.
    """
    live = set(program.outputs)
    kept = needed(program.steps, live)
    constants = {ref: value for ref, value in program.constants.items() if ref in live}
    if len(kept) == len(program.steps) and len(constants) == len(program.constants):
        return program
    return with_steps(program, kept, constants)


def needed(steps: tuple[Step, ...], live: set[Ref]) -> list[Step]:
    """Return the steps that compute a set's values, guards and effects; add what they read to it.

    The set has the values of the program's inputs and constants that are read, too.
    """
    kept = []
    for step in reversed(steps):
        if step.op == GUARD or step.effects or not live.isdisjoint(step.outs):
            kept.append(step)
            live.update(step.uses())
    kept.reverse()
    return kept


def with_steps(
    program: TracedProgram, steps: list[Step], constants: dict[Ref, object]
) -> TracedProgram:
    """Return the program with other steps and constants; facts of values that are gone go, too."""
    facts = program.facts
    known = {ref: facts[ref] for ref in (*program.inputs, *constants)}
    for step in steps:
        for ref in step.outs:
            known[ref] = facts[ref]
    return program.with_(steps=tuple(steps), constants=constants, facts=known)
