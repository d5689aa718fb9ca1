"""The derivative of tanh, computed where tanh is: both need the same exponential."""

from __future__ import annotations

from agnograd.extend import Fact, Ref, Step, TracedProgram
from agnograd_c._derivatives import is_of_tanh, operands, slope
from agnograd_c._fits import fits, looked_at

__all__ = ["with_slopes"]


def with_slopes(program: TracedProgram) -> TracedProgram:
    """Return the program with a step for the slope beside each tanh whose derivative it needs.

    The derivative is a product with the slope then, which is kept in the place of tanh's argument.
    That is the same bit for bit as C's derivative, and less work: in networks there are products of
    matrices between the two, so that they are in different groups.
    """
    facts = program.facts
    made: dict[Ref, Step] = {
        step.args[0]: step
        for step in program.steps
        if step.op == "tanh" and facts[step.outs[0]].shape and fits(facts, step)
    }
    exact = looked_at(program) if made else frozenset()
    slopes: dict[Ref, Ref] = {}
    products: dict[int, Step] = {}
    first = program.next_number()
    for number, step in enumerate(program.steps):
        if not is_of_tanh(step) or not exact.isdisjoint(step.outs):
            continue
        g, x = operands(step)
        if x in made and all(_is_like(facts[made[x].outs[0]], facts, ref) for ref in (g, *step.outs)):
            ref = slopes.setdefault(x, Ref(first + len(slopes)))
            products[number] = Step("multiply", (g, ref), {}, step.outs, location=step.location)
    if not slopes:
        return program
    known, steps = dict(facts), []
    for number, step in enumerate(program.steps):
        steps.append(products.get(number, step))
        x = step.args[0] if step.op == "tanh" else None
        if x in slopes and made[x] is step:
            known[slopes[x]] = facts[step.outs[0]]
            options = {"function": slope}
            steps.append(Step("@call", (x,), options, (slopes[x],), location=step.location))
    return program.with_(steps=tuple(steps), facts=known)


def _is_like(fact: Fact, facts: dict[Ref, Fact], ref: Ref) -> bool:
    """Return whether a value is an array of the same shape, dtype and layout."""
    return type(ref) is Ref and facts[ref] == fact
