"""Python's operators on tensors, as the standard has them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agnograd_torch._indices import read

__all__ = ["standard_operator"]

# Operators of two arrays, and the standard's functions for them.
FUNCTIONS = {
    "add": "add",
    "and_": "bitwise_and",
    "eq": "equal",
    "floordiv": "floor_divide",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lshift": "bitwise_left_shift",
    "lt": "less",
    "matmul": "matmul",
    "mod": "remainder",
    "mul": "multiply",
    "ne": "not_equal",
    "or_": "bitwise_or",
    "pow": "pow",
    "rshift": "bitwise_right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}


def standard_operator(function: Callable[..., Any], xp: ModuleType) -> Callable[..., Any]:
    """Return an operator that promotes 0-d tensors, too, or reads with negative steps."""
    if function is operator.getitem:
        return read
    promoting = getattr(xp, FUNCTIONS.get(function.__name__, ""), None)
    return function if promoting is None else _promoted(function, promoting)


def _promoted(function: Callable[..., Any], promoting: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    tensor = torch.Tensor

    def operate(x1: Any, x2: Any) -> Any:
        if isinstance(x1, tensor) and isinstance(x2, tensor) and x1.dtype is not x2.dtype:
            return promoting(x1, x2)
        return function(x1, x2)

    return operate
