"""What kind of op it is."""

from __future__ import annotations

from agnograd._ops.op import Op, Rule

__all__ = [
    "broadcasts",
    "combines_two",
    "is_product",
    "may_cast",
    "negates",
    "returns_its_argument",
]


def negates(op: Op) -> bool:
    """Whether an op is the negation of one array."""
    rule = op.rules.get("x")
    return op.arrays == ("x",) and rule is not None and rule.function == -1


def is_product(op: Op) -> bool:
    """Whether an op multiplies two arrays: the derivative by either is the other one."""
    rules = op.rules.values()
    crossed = [rule.names for rule in rules] == [("x2",), ("x1",)]
    return crossed and all(returns_its_argument(rule) for rule in rules)


def returns_its_argument(rule: Rule) -> bool:
    """Whether a rule is ``lambda v: v``, for some name: then there is nothing to call."""
    code = getattr(rule.function, "__code__", None)
    return len(rule.names) == 1 and code is not None and code.co_code == _ITSELF


_ITSELF = (lambda v: v).__code__.co_code


def broadcasts(op: Op) -> bool:
    """Whether an element-wise op combines arrays, whose shapes and dtypes may differ."""
    if len(op.arrays) < 2 or op.of_numbers:
        return False
    return next(iter(op.rules.values())).kind == "elementwise"


def combines_two(op: Op) -> bool:
    """Return whether an op is an element-wise one of two arrays that are promoted together."""
    return len(op.arrays) == 2 and bool(op.rules) and broadcasts(op)


def may_cast(op: Op) -> bool:
    """Return whether a result may have a dtype other than what its inputs are promoted to.

    It is the one that was asked for, or that of the array which something is written into.
    """
    parameters = op.signature.parameters
    return "dtype" in parameters or {"key", "value"} <= set(parameters)
