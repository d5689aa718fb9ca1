"""Transposed products that are added to something, as products of the transposed factors."""

from __future__ import annotations

from dataclasses import replace

from agnograd_c._choose.layout import across, rows
from agnograd_c._choose.products import PRODUCTS, TRANSPOSED, is_product
from agnograd_c._choose.steps import looked_at
from agnograd_compile.lowering import Editor, Step, TracedProgram


def turned(program: TracedProgram) -> TracedProgram:
    """Return the program with ``x + b.T @ a.T`` in place of ``x + (a @ b).T``.

    The gradient of ``a @ a.T`` is such a sum. C reads small factors in either order, and adds their
    product to what is there before, so that it is in no memory of its own.
    """
    found = _found(program)
    if not found:
        return program
    editor = Editor(program)
    facts = editor.facts
    gone = {id(view) for view in found.values()}
    for step in program.steps:
        if id(step) in gone:
            continue
        if id(step) not in found:
            editor.steps.append(step)
            continue
        options = {"location": step.location}
        factors = tuple(
            editor.emit(TRANSPOSED[0], (of,), {}, across(facts[of]), views=(of,), **options)
            for of in reversed(step.args)
        )
        outs = found[id(step)].outs
        facts[outs[0]] = rows(across(facts[step.outs[0]]))
        editor.steps.append(replace(step, args=factors, outs=outs))
    return editor.finished()


def _found(program: TracedProgram) -> dict[int, Step]:
    """Return the steps that transpose products, by the identity of the product.

    Nothing else reads the product, its transposed view, or what that is added to.
    """
    if {step.op for step in program.steps}.isdisjoint(PRODUCTS):
        return {}
    facts, makers = program.facts, {ref: step for step in program.steps for ref in step.outs}
    used, exact = program.used(), looked_at(program)
    found: dict[int, Step] = {}
    for step in program.steps:
        if step.op != "add" or not exact.isdisjoint(step.outs):
            continue
        for one, other in (step.args, step.args[::-1]):
            view = makers.get(other)
            product = makers.get(view.args[0]) if view and view.op in TRANSPOSED else None
            if view is None or product is None or one not in makers:
                continue
            read = (one, other, *product.outs)
            alone = all(used[ref] == 1 for ref in read) and exact.isdisjoint(read[1:])
            if not alone or not is_product(facts, product):
                continue
            if facts[one] == facts[step.outs[0]] == rows(across(facts[product.outs[0]])):
                found[id(product)] = view
                break
    return found
