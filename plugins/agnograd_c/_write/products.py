"""The text of the C function of a product of two matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agnograd_c._choose.products import work_of
from agnograd_c._choose.types import type_in_c
from agnograd_c._write.body import C_TYPES
from agnograd_c._write.function import Function
from agnograd_compile.lowering import Ref, Step, TracedProgram

HEADER = "products.h"
# Sums of products are rounded once each, as they are in libraries of linear algebra.
OPTIONS = ("-O3", "-ffp-contract=fast")


def product(
    program: TracedProgram, steps: Sequence[Step], views: Mapping[Ref, Ref] | None = None
) -> Function:
    """Return the function of a product, or of a product and the sum that it is added to.

    In place of transposed ``views`` it is given what they are views of, which begins where they do.
    """
    facts, step, views = program.facts, steps[0], views or {}
    start = [ref for ref in steps[-1].args if ref is not step.outs[0]] if len(steps) > 1 else []
    given = [views.get(ref, ref) for ref in step.args]
    inputs = tuple(dict.fromkeys((*start, *given)))
    one, other = (facts[each] for each in step.args)
    out = facts[step.outs[0]]
    size, type = out.dtype.itemsize, C_TYPES[type_in_c(out)]
    first, second = (
        ", ".join([f"(const {type} *)p[{inputs.index(ref)}]", *map(str, strides)])
        for ref, strides in zip(
            given,
            ([each // size for each in fact.strides or ()] for fact in (one, other)),
            strict=True,
        )
    )
    lengths = f"{one.shape[0]}, {other.shape[1]}, {one.shape[1]}"
    begin = f"(const {type} *)p[0]" if start else "NULL"
    text = "\n".join(
        [
            "int @(char *const *p, long threads)",
            "{",
            f"    return product_{type}({first}, {second},",
            f"        ({type} *)p[{len(inputs)}], {lengths}, {begin});",
            "}",
            "",
        ]
    )
    work, adds = work_of(facts, step), bool(start)
    return Function(text, 1, inputs, steps[-1].outs, (out,), work, set(), HEADER, adds)
