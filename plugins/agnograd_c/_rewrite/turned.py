"""Transposed products that are added to something, as products of the transposed factors."""

from __future__ import annotations

from dataclasses import replace

from agnograd_c._choose.layout import across, rows
from agnograd_c._choose.products import PRODUCTS, TRANSPOSED, is_product
from agnograd_c._choose.steps import looked_at
from agnograd_compile.lowering import Editor, Ref, Step, TracedProgram


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
    gone = {id(view) for _, view in found.values()}
    for step in program.steps:
        if id(step) in gone:
            continue
        if id(step) not in found:
            editor.steps.append(step)
            continue
        product, view = found[id(step)]
        factors = tuple(
            editor.emit(
                TRANSPOSED[0], (of,), {}, across(facts[of]), views=(of,), location=step.location
            )
            for of in reversed(product.args)
        )
        facts[view.outs[0]] = rows(across(facts[product.outs[0]]))
        editor.steps.append(replace(product, args=factors, outs=view.outs))
    return editor.finished()


def _found(program: TracedProgram) -> dict[int, tuple[Step, Step]]:
    """Return the products, by their identity, each with the step that transposes it."""
    if {step.op for step in program.steps}.isdisjoint(PRODUCTS):
        return {}
    facts, makers = program.facts, {ref: step for step in program.steps for ref in step.outs}
    used, exact = program.used(), looked_at(program)

    def product_of(view: Step | None) -> Step | None:
        """Return the product that a step transposes, where nothing else reads either of the two."""
        if view is None or view.op not in TRANSPOSED or used[view.outs[0]] > 1:
            return None
        step = makers.get(view.args[0])
        known = step is not None and step.op in PRODUCTS and is_product(facts, step)
        alone = used[view.args[0]] == 1 and exact.isdisjoint((*view.args, *view.outs))
        return step if known and alone else None

    found: dict[int, tuple[Step, Step]] = {}
    for step in program.steps:
        if step.op != "add" or not exact.isdisjoint(step.outs):
            continue
        for one, other in (step.args, step.args[::-1]):
            product = product_of(makers.get(other)) if type(other) is Ref else None
            if product is None or one not in makers or used[one] > 1:
                continue
            if facts[one] == facts[step.outs[0]] == rows(across(facts[product.outs[0]])):
                found[id(product)] = product, makers[other]
                break
    return found
