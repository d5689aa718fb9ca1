"""Products of matrices that are so small that a library of linear algebra is slow to begin."""

from __future__ import annotations

from collections.abc import Mapping

from agnograd.extend import Fact, Ref, Step, TracedProgram
from agnograd_c._code import code_of
from agnograd_c._function import Function
from agnograd_c._layout import rows

__all__ = ["HEADER", "OPTIONS", "is_product", "product", "work_of"]

HEADER = "products.h"
# Sums of products are rounded once each, as they are in libraries of linear algebra.
OPTIONS = ("-O3", "-ffp-contract=fast")
_TYPES = {"f64": "double", "f32": "float"}
# The longest axis, as in products.h, and the products of two numbers. Larger factors leave the
# first caches, where those who copy them into another order win.
_LONGEST, _MOST, _LEAST = 256, 2**19, 2**9


def is_product(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a step is a product of two matrices that C computes in less time."""
    if step.op not in ("matmul", "linalg.matmul") or step.kwargs or len(step.outs) != 1:
        return False
    if len(step.args) != 2 or not all(type(each) is Ref for each in step.args):
        return False
    one, other = (facts[each] for each in step.args)
    out = facts[step.outs[0]]
    if not len(one.shape) == len(other.shape) == len(out.shape) == 2:
        return False
    size = out.dtype.itemsize
    alike = all(
        each.dtype == out.dtype
        and each.kind is out.kind
        and each.strides is not None
        and all(stride % size == 0 for stride in each.strides)
        for each in (one, other, out)
    )
    if (
        not alike
        or out.dtype.kind != "f"
        or code_of(out) not in _TYPES
        or out.strides != rows(out).strides
    ):
        return False
    return max(*one.shape, *other.shape) <= _LONGEST and _LEAST <= work_of(facts, step) <= _MOST


def work_of(facts: Mapping[Ref, Fact], step: Step) -> int:
    """Return how many pairs of numbers a product multiplies."""
    return facts[step.args[0]].size * facts[step.args[1]].shape[1]


def product(program: TracedProgram, step: Step) -> Function:
    """Return the function of a product."""
    facts = program.facts
    inputs = tuple(dict.fromkeys(step.args))
    one, other = (facts[each] for each in step.args)
    out = facts[step.outs[0]]
    size, type = out.dtype.itemsize, _TYPES[code_of(out) or ""]
    first, second = (
        ", ".join([f"(const {type} *)p[{inputs.index(ref)}]", *map(str, strides)])
        for ref, strides in zip(
            step.args,
            ([each // size for each in fact.strides or ()] for fact in (one, other)),
            strict=True,
        )
    )
    lengths = f"{one.shape[0]}, {other.shape[1]}, {one.shape[1]}"
    text = "\n".join(
        [
            "int @(char *const *p, long threads)",
            "{",
            f"    return product_{type}({first}, {second},",
            f"        ({type} *)p[{len(inputs)}], {lengths});",
            "}",
            "",
        ]
    )
    work = work_of(facts, step)
    return Function(text, 1, inputs, step.outs, (out,), work, set(), HEADER)
