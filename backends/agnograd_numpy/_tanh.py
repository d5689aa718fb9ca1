"""The derivative of tanh as a step of a program: when it is written out, and of what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnograd.extend import Fact, Ref, Step
from agnograd_numpy import _pullbacks

__all__ = ["CONDITION", "is_tanh", "tanh_condition", "tanh_operands"]

# What decides whether that does not overflow, as text of a program, by whether there are few.
_CONDITIONS = {
    True: "{vdot}({x}, {x}) < {square}",
    False: "{least}({x}, None) > -{most} and {largest}({x}, None) < {most}",
}
CONDITION = {"vdot": _pullbacks._vdot, "least": _pullbacks._least, "largest": _pullbacks._most}


def is_tanh(step: Step, facts: Mapping[Ref, Fact]) -> bool:
    """Return whether a step of a program is this derivative, of arrays that it knows."""
    if step.op != "@pullback" or step.kwargs["op"] != "tanh":
        return False
    g, x = tanh_operands(step)
    if type(g) is not Ref or type(x) is not Ref:
        return False
    of_g, of_x, out = facts[g], facts[x], facts[step.outs[0]]
    usual = of_x.dtype == _pullbacks._float64 or of_x.dtype == _pullbacks._float32
    arrays = of_x.kind is _pullbacks._ndarray is of_g.kind and of_x.size > 0 < len(of_x.shape)
    alike = of_g.dtype == of_x.dtype == out.dtype and of_g.shape == of_x.shape
    return usual and arrays and alike


def tanh_operands(step: Step) -> tuple[Any, Any]:
    """Return the cotangent and the input of such a step."""
    given = dict(zip(step.kwargs["function"].names, step.args, strict=True))
    return given["g"], given["x"]


def tanh_condition(x: Fact) -> str:
    """Return the text of what decides whether it is computed so, and not by the rule."""
    most = 354 if x.dtype == _pullbacks._float64 else 44
    few = _CONDITIONS[x.size <= _pullbacks._FEW]
    return few.replace("{square}", str(most * most)).replace("{most}", str(most))
