"""Products of matrices that are so small that a library of linear algebra is slow to begin."""

from __future__ import annotations

from collections.abc import Mapping, Set

from agnograd.extend import switch
from agnograd_c._choose.layout import rows
from agnograd_c._choose.types import FLOATS, code_of
from agnograd_compile.lowering import Fact, Ref, Step, TracedProgram

PRODUCTS = ("matmul", "linalg.matmul")
# What gives a view of a matrix with its axes in the other order.
TRANSPOSED = ("matrix_transpose", "linalg.matrix_transpose")
# The longest axis, as in products.h: larger factors leave the first caches, where those who copy
# them into another order win.
PRODUCT_AXIS = switch("PRODUCT_AXIS", 256, least=1, most=256, module=__name__)
# How many products of two numbers C computes in less time than a library, at most and at least.
MOST_PAIRS = switch("MOST_PAIRS", 2**19, least=1, most=2**62, module=__name__)
FEWEST_PAIRS = switch("FEWEST_PAIRS", 2**9, least=1, most=2**62, module=__name__)


def is_product(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a step is a product of two matrices that C computes in less time."""
    if step.op not in PRODUCTS or step.kwargs or len(step.outs) != 1:
        return False
    if len(step.args) != 2 or not all(type(each) is Ref for each in step.args):
        return False
    one, other = (facts[each] for each in step.args)
    out = facts[step.outs[0]]
    if not len(one.shape) == len(other.shape) == len(out.shape) == 2:
        return False
    if code_of(out) not in FLOATS or out.dtype.kind != "f" or out.strides != rows(out).strides:
        return False
    size = out.dtype.itemsize
    alike = all(
        each.dtype == out.dtype
        and each.kind is out.kind
        and each.strides is not None
        and all(stride % size == 0 for stride in each.strides)
        for each in (one, other, out)
    )
    return (
        alike
        and max(*one.shape, *other.shape) <= PRODUCT_AXIS
        and FEWEST_PAIRS <= work_of(facts, step) <= MOST_PAIRS
    )


def work_of(facts: Mapping[Ref, Fact], step: Step) -> int:
    """Return how many pairs of numbers a product multiplies."""
    return facts[step.args[0]].size * facts[step.args[1]].shape[1]


def added_to(program: TracedProgram, exact: Set[Ref]) -> dict[int, int]:
    """Return the sums of a value and a small product, each by its number, with the product's.

    One function computes both steps. Nothing else reads either of the two, so that the product can
    be added to the value in its memory. None of them is among the ``exact`` values, which guards
    look at.
    """
    facts, used = program.facts, program.used()
    products: dict[Ref, int] = {}
    made: set[Ref] = set()
    found: dict[int, int] = {}
    for number, step in enumerate(program.steps):
        made.update(step.outs)
        if step.op in PRODUCTS and is_product(facts, step) and exact.isdisjoint(step.outs):
            products[step.outs[0]] = number
        if step.op != "add" or not products:
            continue
        one, other = step.args
        if other not in products:
            one, other = other, one
        if other not in products or one not in made or one is other or used[other] > 1:
            continue
        alike = facts[one] == facts[other] == facts[step.outs[0]]
        if alike and used[one] == 1 and exact.isdisjoint(step.outs):
            found[number] = products.pop(other)
    return found


def transposed(program: TracedProgram) -> dict[Ref, Ref]:
    """Return the transposed views of matrices, each with the matrix."""
    found: dict[Ref, Ref] = {}
    for step in program.steps:
        if step.op in TRANSPOSED and step.views and len(program.facts[step.outs[0]].shape) == 2:
            found[step.outs[0]] = found.get(step.args[0], step.args[0])
    return found
