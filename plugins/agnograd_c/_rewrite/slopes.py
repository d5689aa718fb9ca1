"""The derivative of tanh, computed where tanh is: both need the same exponential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnograd_c._choose.derivatives import SLOPE, is_of_tanh, operands
from agnograd_c._choose.steps import fits, looked_at
from agnograd_compile.lowering import Editor, Fact, Ref, Step, TracedProgram


def with_slopes(program: TracedProgram) -> TracedProgram:
    """Return the program with a step for the slope beside each tanh whose derivative it needs.

    The derivative is a product with the slope then, which is kept in the place of tanh's argument.
    That is the same bit for bit as C's derivative, and less work: in networks there are products of
    matrices between the two, so that they are in different groups.
    """
    facts = program.facts
    made: dict[Ref, Step] = {}
    exact = looked_at(program)
    slopes: dict[Ref, Ref] = {}
    products: dict[int, Step] = {}
    editor = Editor(program)
    for number, step in enumerate(program.steps):
        if step.op == "tanh" and facts[step.outs[0]].shape and fits(facts, step):
            made[step.args[0]] = step
        if not is_of_tanh(step) or not exact.isdisjoint(step.outs):
            continue
        g, x = operands(step)
        if x in made and _is_alike(facts, made[x].outs[0], g, step.outs[0]):
            ref = slopes.get(x) or editor.value(facts[made[x].outs[0]])
            slopes[x] = ref
            products[number] = Step("multiply", (g, ref), {}, step.outs, location=step.location)
    if not slopes:
        return program
    from agnograd_c.kernels.calls import slope

    for number, step in enumerate(program.steps):
        editor.steps.append(products.get(number, step))
        x = step.args[0] if step.op == "tanh" else None
        if x in slopes and made[x] is step:
            options = {"function": slope, SLOPE: True}
            call = Step("@call", (x,), options, (slopes[x],), location=step.location)
            editor.steps.append(call)
    return editor.finished()


def _is_alike(facts: Mapping[Ref, Fact], tanh: Ref, g: Any, out: Ref) -> bool:
    """Return whether a product with the slope lies in memory as the derivative does.

    The slope is laid out as tanh is. The cotangent may be one number everywhere, as behind a sum.
    """
    fact = facts[tanh]
    if type(g) is not Ref or facts[out] != fact:
        return False
    return facts[g]._replace(strides=fact.strides) == fact and (
        facts[g] == fact or not any(facts[g].strides or (1,))
    )
