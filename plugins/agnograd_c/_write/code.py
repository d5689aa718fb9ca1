"""The steps of a group as instructions of real numbers, which C has functions for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from agnograd_c._choose.derivatives import TIES, is_exact, is_known, operands
from agnograd_c._choose.steps import (
    COMPARISONS,
    NAMES,
    SAME,
    TESTS,
    UNIFORM,
    compared_as,
    limits_of,
)
from agnograd_c._choose.types import BYTES, is_complex, type_in_c, type_of
from agnograd_compile.lowering import Fact, Ref, Step


class Number(NamedTuple):
    """A number that the text of a group has."""

    type: str
    value: Any


class Element(NamedTuple):
    """An element of an input: that of each position, or of a scalar the only one."""

    input: int
    offset: int  # in bytes; that of the imaginary part
    type: str


Operand = int | Number | Element  # an int is the place of an instruction


class Instruction(NamedTuple):
    """A call of a C function: its name, the type of its result, and what it is given."""

    name: str
    type: str
    args: tuple[Operand, ...]


class Code:
    """The instructions of a group, as they are made."""

    def __init__(self, facts: Mapping[Ref, Fact]) -> None:
        self.facts = facts
        self.instructions: list[Instruction] = []
        self.inputs: dict[Ref, int] = {}  # in the order of the function's arguments
        # Where the values of the group are: one operand, or two of a complex value.
        self.values: dict[Ref, tuple[Operand, ...]] = {}
        self.decays: dict[Operand, int] = {}  # see ``decay``

    def put(self, name: str, type: str, *args: Operand) -> int:
        """Add an instruction, and return its place."""
        self.instructions.append(Instruction(name, type, args))
        return len(self.instructions) - 1

    def op(self, type: str, name: str, *args: Operand) -> int:
        """Add an instruction whose arguments and result have one type."""
        return self.put(f"{name}_{type}", type, *args)

    def input(self, ref: Ref) -> int:
        """Return the number of an input."""
        return self.inputs.setdefault(ref, len(self.inputs))

    def value(self, given: Any) -> tuple[Operand, ...]:
        """Return the operands of a value that is one of the group, or an input."""
        known = self.values.get(given)
        if known is None:
            fact = self.facts[given]
            type, number = type_in_c(fact), self.input(given)
            parts = 2 if is_complex(fact) else 1
            known = self.values[given] = tuple(
                [Element(number, part * BYTES[type], type) for part in range(parts)]
            )
        return known

    def as_type(self, given: Any, type: str, pair: bool = False) -> tuple[Operand, ...]:
        """Return the operands of an argument converted to a type."""
        if type_of(given) is not None:
            parts = (given.real, given.imag) if pair else (given,)
            return tuple([Number(type, each) for each in parts])
        own, found = type_in_c(self.facts[given]), self.value(given)
        if own != type:
            found = tuple([self.cast(each, own, type) for each in found])
        return (*found, Number(type, 0)) if pair and len(found) == 1 else found

    def cast(self, operand: Operand, own: str, type: str) -> Operand:
        """Return an operand as another type."""
        return operand if own == type else self.put(f"{type}_of_{own}", type, operand)


def add_step(code: Code, step: Step) -> None:
    """Add the instructions of an element-wise step that C computes."""
    (out,) = step.outs
    fact = code.facts[out]
    type, pair = type_in_c(fact), is_complex(fact)
    made: Operand | list[Operand]
    if is_known(step):
        made = _derivative(code, step)
    elif step.op in _COMPLEX_ONLY or pair:
        made = _of_pairs(code, step, type)
    elif step.op in COMPARISONS:
        made = _comparison(code, step)
    elif step.op in TESTS:
        (x,) = step.args
        own = type_in_c(code.facts[x])
        made = code.put(f"{step.op}_{own}", "b1", *code.value(x))
    elif step.op in UNIFORM:
        made = Number(type, UNIFORM[step.op])
    elif step.op == "where":
        condition, x, y = step.args
        (test,) = code.as_type(condition, "b1")
        made = code.op(type, "where", test, *code.as_type(x, type), *code.as_type(y, type))
    elif step.op == "clip":
        (made,) = code.as_type(step.args[0], type)
        for name, limit in zip(("maximum", "minimum"), limits_of(step), strict=True):
            if limit is not None:
                made = code.op(type, name, made, *code.as_type(limit, type))
    elif step.op in SAME:
        (made,) = code.as_type(step.args[0], type)
    elif step.op == "pow" and type_of(step.args[1]) and step.args[1] in POWERS:
        (x,) = code.as_type(step.args[0], type)
        made = code.op(type, POWERS[step.args[1]], x) if step.args[1] != 1 else x
    elif step.op == "tanh":
        (x,) = code.as_type(step.args[0], type)
        made = code.op(type, "tanh_by", x, decay(code, type, x))
    else:
        name = NAMES.get(step.op, step.op)
        made = code.op(type, name, *[x for each in step.args for x in code.as_type(each, type)])
    code.values[out] = tuple(made) if isinstance(made, list) else (made,)


POWERS = {-1: "reciprocal", 0.5: "sqrt", 1: "positive", 2: "square"}  # as in NumPy
_COMPLEX_ONLY = frozenset(("real", "imag"))


def decay(code: Code, type: str, x: Operand) -> int:
    """Return exp(-2 |x|), of which tanh and its derivative are made; it is computed once."""
    if x not in code.decays:
        double = code.op(type, "multiply", code.op(type, "abs", x), Number(type, -2.0))
        code.decays[x] = code.op(type, "exp", double)
    return code.decays[x]


def _comparison(code: Code, step: Step) -> int:
    name, swapped = COMPARISONS[step.op]
    type = compared_as(code.facts, step) or ""
    sides = [code.as_type(x, type)[0] for x in step.args]
    return code.put(f"{name}_{type}", "b1", *(reversed(sides) if swapped else sides))


def _of_pairs(code: Code, step: Step, type: str) -> list[Operand]:
    """Add the instructions of a step of complex numbers, which are those of NumPy."""
    op = partial(code.op, type)
    if step.op == "where":
        (test,) = code.as_type(step.args[0], "b1")
        x, y = (code.as_type(each, type, True) for each in step.args[1:])
        return [op("where", test, *parts) for parts in zip(x, y, strict=True)]
    if step.op in _COMPLEX_ONLY:
        return [code.value(step.args[0])[step.op == "imag"]]
    (a, b), *others = (code.as_type(x, type, True) for x in step.args if not _is_dtype(x))
    if step.op in SAME:
        return [a, b]
    if step.op == "conj":
        return [a, op("negative", b)]
    if step.op == "negative":
        return [op("negative", a), op("negative", b)]
    ((c, d),) = others
    if step.op in ("add", "subtract"):
        return [op(step.op, a, c), op(step.op, b, d)]
    # A product.
    real = op("subtract", op("multiply", a, c), op("multiply", b, d))
    return [real, op("add", op("multiply", a, d), op("multiply", b, c))]


def _derivative(code: Code, step: Step) -> Operand:
    """Add the instructions of a derivative."""
    type = type_in_c(code.facts[step.outs[0]])
    given = [code.as_type(x, type)[0] for x in operands(step)]
    op = partial(code.op, type)
    if TIES in step.kwargs:
        return code.cast(code.put(f"equal_{type}", "b1", *given), "b1", type)
    if not is_exact(step):
        # As in the rule: 4 e / (1 + e)**2, where e = exp(-2 |x|). It neither over- nor underflows
        # before the derivative itself does.
        *factors, x = given
        e = decay(code, type, x)
        root = op("add", e, Number(type, 1.0))
        found = op("divide", op("multiply", e, Number(type, 4.0)), op("multiply", root, root))
    else:  # 1 for the larger one, 1/2 where both are equal
        *factors, one, other = given
        more = code.put(f"less_{type}", "b1", other, one)
        at_least = code.put(f"less_equal_{type}", "b1", other, one)
        both = op("add", code.cast(more, "b1", type), code.cast(at_least, "b1", type))
        found = op("multiply", both, Number(type, 0.5))
    for g in factors:
        found = op("multiply", g, found)
    return found


def _is_dtype(given: Any) -> bool:
    return type(given) is not Ref and type_of(given) is None
