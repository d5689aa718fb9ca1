"""Common subexpressions: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from agnograd_compile._programs.program import GUARD, Ref, Step, TracedProgram, declared
from agnograd_compile._surroundings.keys import value_key


def common(program: TracedProgram) -> TracedProgram:
    """Return the program in which steps without effects that make the same call are one.

    Results that were separate arrays become one array. Nothing may write to a value that is read
    later, so that this shows only where a lowering decides on memory. A guard goes if the same
    value was looked at before, or is a constant.
    """
    facts = program.facts
    first: dict[Hashable, Step] = {}
    new: dict[Ref, Ref] = {}
    kept = []
    for traced in program.steps:
        step = traced.renamed(new) if new else traced
        try:
            known = first.setdefault(key_of(step, program), step)
        except TypeError:  # an argument that is not hashable, such as a set
            known = step
        if step.op == GUARD and (known is not step or step.args[0] in program.constants):
            continue
        if known is not step and not step.effects and _alike(known, step, facts):
            new.update(zip(step.outs, known.outs, strict=True))
            continue
        kept.append(step)
    if len(kept) == len(program.steps):
        return program
    outputs = tuple(new.get(ref, ref) for ref in program.outputs)
    return program.with_(steps=tuple(kept), outputs=outputs)


def key_of(step: Step, program: TracedProgram) -> Hashable:
    """Return what two steps that make the same call have in common.

    It cannot be hashed if an argument cannot, such as a set: nothing is known of that call.
    """
    args, kwargs = step.args, step.kwargs
    if step.op == GUARD:  # whose number is its own
        return GUARD, args, kwargs["kind"]
    if declared(step.op).commutative and len(args) == 2:
        one, other = args
        # The two parts of a complex product may be rounded in either order.
        is_complex = program.domain.is_complex(program.facts[step.outs[0]].dtype)
        if type(one) is Ref is type(other) and one.number > other.number and not is_complex:
            args = other, one
    given = [arg if type(arg) is Ref else value_key(arg) for arg in args]
    return step.op, *given, value_key(tuple(kwargs.items())) if kwargs else None


def _alike(known: Step, step: Step, facts: Any) -> bool:
    """Return whether the results of two equal calls are alike; with arguments swapped they may not.

    Their strides can differ: those of the first argument come first.
    """
    pairs = zip(known.outs, step.outs, strict=True)
    return all(facts[one] == facts[other] for one, other in pairs)
