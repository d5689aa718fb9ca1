"""What NumPy can do with a step of a program, and the memory that steps write to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnograd.extend import switch
from agnograd_compile.lowering import (
    Fact,
    MemoryPlan,
    Ref,
    Step,
    TracedProgram,
    Way,
    named_function,
    nbytes,
)
from agnograd_numpy._kernels import KERNELS, rolled

__all__ = [
    "BLOCKS",
    "CALL",
    "FULL_ELEMENTS",
    "SCATTERS",
    "Buffers",
    "beside",
    "is_array",
    "is_concat",
    "is_product",
    "is_stack_of_products",
    "operands_of_tanh",
    "parts_of_roll",
    "sum_in_order",
    "ufunc_of",
    "way_of",
]

# A call of a function that may be given arrays to write to after its arguments, where ``into`` is
# among its options. It may write over an argument of the same layout if that is true, and over its
# first one, to which it adds something, if ``adds`` is.
CALL = "@call"
BLOCKS = "@blocks"  # element-wise steps that are computed block by block
SCATTERS = ("@scatter_add", "@scatter_add_axis")
_MATMUL, _MULTIPLY = KERNELS["matmul"], KERNELS["multiply"]

# Up to how many elements an array that is full of a number is read faster than the number.
FULL_ELEMENTS = switch("FULL_ELEMENTS", 64, least=0, most=2**62, module=__name__)


def ufunc_of(program: TracedProgram, step: Step) -> Any:
    """Return the ufunc that computes a step element by element, or None."""
    if step.op[0] == "@" or step.kwargs or step.several:
        return None
    function = named_function(program, step.op, step.kwargs)
    if function is _MULTIPLY:  # the ufunc for arrays, and another function for scalars
        return np.multiply if is_array(program.facts[step.outs[0]]) else None
    if type(function) is not np.ufunc or function.signature is not None:
        return None
    return function if len(step.args) == function.nin and function.nout == 1 else None


def is_array(fact: Fact) -> bool:
    """Return whether a value is an array that has axes: not a scalar, nor of another class."""
    return fact.kind is np.ndarray and bool(fact.shape)


def way_of(program: TracedProgram, step: Step) -> Way:
    """Return how NumPy can compute a step."""
    facts = program.facts
    if step.op == BLOCKS:
        return Way.INTO
    if step.op == CALL and "into" in step.kwargs:
        if step.kwargs.get("adds"):
            return Way.ADD
        return Way.ELEMENTWISE if step.kwargs["into"] else Way.INTO
    if len(step.outs) != 1 or not is_array(facts[step.outs[0]]):
        return Way.NEW
    if step.op in SCATTERS:
        into = step.args[0]
        return Way.UPDATE if type(into) is Ref and is_array(facts[into]) else Way.NEW
    if ufunc_of(program, step) is not None:
        out = facts[step.outs[0]]
        # NumPy rounds a product of two complex numbers otherwise where it overwrites one of them.
        return Way.NEW if out.size == 1 and out.dtype.kind == "c" else Way.ELEMENTWISE
    known = is_product(program, step) or is_stack_of_products(program, step)
    known = known or is_concat(program, step) or parts_of_roll(program, step) is not None
    known = known or operands_of_tanh(program, step) is not None
    return Way.INTO if known else Way.NEW


def is_product(program: TracedProgram, step: Step) -> bool:
    """Return whether a step is a product of two matrices of the result's dtype."""
    return _axes_of_factors(program, step) == (2, 2)


def is_stack_of_products(program: TracedProgram, step: Step) -> bool:
    """Return whether a step is products of several matrices of the result's dtype."""
    axes = _axes_of_factors(program, step)
    return axes != (2, 2) and min(axes, default=0) >= 2


def _axes_of_factors(program: TracedProgram, step: Step) -> tuple[int, ...]:
    """Return how many axes the factors of a product have, if they are of the result's dtype."""
    if step.op[0] == "@" or step.kwargs or len(step.args) != 2:
        return ()
    if named_function(program, step.op, step.kwargs) is not _MATMUL:
        return ()
    facts = program.facts
    out = facts[step.outs[0]]
    found = [facts[each] for each in step.args if type(each) is Ref]
    alike = all(is_array(each) and each.dtype == out.dtype for each in found)
    return tuple([len(each.shape) for each in found]) if len(found) == 2 and alike else ()


def is_concat(program: TracedProgram, step: Step) -> bool:
    """Return whether a step puts arrays of the result's dtype one after the other."""
    if step.op != "concat" or len(step.args) != 1 or type(step.kwargs.get("axis", 0)) is not int:
        return False
    if len(step.kwargs) > 1 or named_function(program, step.op, step.kwargs) is not np.concatenate:
        return False
    dtype = program.facts[step.outs[0]].dtype
    arrays = step.args[0]
    known = type(arrays) in (tuple, list) and all(type(each) is Ref for each in arrays)
    return known and all(program.facts[ref].dtype == dtype for ref in arrays)


def parts_of_roll(program: TracedProgram, step: Step) -> tuple[Any, Any, int] | None:
    """Return the keys of the two parts that a roll puts together along an axis, and the axis.

    None where a step is something else.
    """
    if step.op != "roll" or named_function(program, step.op, step.kwargs) is not KERNELS["roll"]:
        return None
    fact = program.facts[step.args[0]]
    given = dict(zip(("shift", "axis"), step.args[1:], strict=False)) | dict(step.kwargs)
    if fact != program.facts[step.outs[0]]:
        return None
    return rolled(fact.kind, fact.shape, given.get("shift"), given.get("axis"))


def operands_of_tanh(program: TracedProgram, step: Step) -> tuple[Any, Any] | None:
    """Return the cotangent and the input of the derivative of tanh, of arrays that NumPy knows.

    None where a step is something else.
    """
    if step.op != "@pullback" or step.kwargs["op"] != "tanh":
        return None
    given = dict(zip(step.kwargs["function"].names, step.args, strict=True))
    if type(given["g"]) is not Ref or type(given["x"]) is not Ref:
        return None
    g, x, out = (program.facts[each] for each in (given["g"], given["x"], step.outs[0]))
    alike = g.dtype == x.dtype == out.dtype and g.shape == x.shape
    known = is_array(g) and is_array(x) and x.size > 0 and x.dtype.char in "fd"
    return (given["g"], given["x"]) if alike and known else None


def beside(program: TracedProgram, step: Step, value: Any, most: int) -> Any:
    """Return an array for a number beside an array in an exact op: NumPy converts it in less time.

    It has the array's dtype, as NumPy converts it to, and the array's layout, if there are no more
    than ``most`` elements. It is None where that might change something.
    """
    others = [each for each in step.args if each is not value]
    if len(others) != 1 or type(others[0]) is not Ref:
        return None
    fact = program.facts[others[0]]
    if not is_array(fact):
        return None
    if type(value) is Ref:
        value = program.constants[value]
        if not isinstance(value, np.generic) or value.dtype != fact.dtype:
            return None
    elif type(value) not in (int, float) or fact.dtype.kind not in "fc":
        return None
    made: Any = np.empty((), fact.dtype)
    if fact.size <= most and nbytes(fact) is not None:
        # Laid out as the other operand: NumPy lays results out as its operands are.
        made = np.ndarray(fact.shape, fact.dtype, np.empty(fact.size, fact.dtype), 0, fact.strides)
    try:
        with np.errstate(all="ignore"):
            made.fill(value)
    except OverflowError:
        return None
    # NumPy warns of an overflow each time that it converts the number.
    finite = type(value) is int or np.isfinite(value)  # NumPy looks at no integer of over 64 bits
    return None if finite and not np.isfinite(made).all() else made


class Buffers:
    """Sets of buffers, each of which one run at a time writes to.

    ``forms`` says, for each array of a set, of which buffer it is, and its layout. Arrays without
    axes come after them, one for each of ``dtypes``.
    """

    def __init__(
        self, plan: MemoryPlan, forms: list[tuple[int, Fact]], dtypes: Sequence[Any] = ()
    ) -> None:
        sizes = [0] * len(plan.sizes)
        for number, fact in forms:
            sizes[number] = max(sizes[number], math.prod(fact.shape) * fact.dtype.itemsize)
        self.sizes, self.forms, self.dtypes = sizes, forms, dtypes
        self.free: list[list[Any]] = []

    def take(self) -> list[Any]:
        """Return a set that nobody uses. Appending it to ``free`` gives it back."""
        try:
            return self.free.pop()
        except IndexError:
            memory = [np.empty(size, np.uint8) for size in self.sizes]
            arrays = [
                np.ndarray(fact.shape, fact.dtype, memory[number], 0, fact.strides)
                for number, fact in self.forms
            ]
            return arrays + [np.empty((), dtype) for dtype in self.dtypes]


def sum_in_order(start: Any, values: Any) -> Any:
    """Return the last of NumPy's running sums, each of which it makes of the one before."""
    sums = np.empty(values.size + 1, values.dtype)
    sums[0], sums[1:] = start, values
    return np.add.accumulate(sums, out=sums)[-1]
