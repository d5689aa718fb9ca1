"""Derivatives that a program has as one step, and that C computes element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnograd_c._code import FLOATS, Code, Number, Operand, code_of, decay, type_of
from agnograd_compile.lowering import Fact, Ref, Step

__all__ = [
    "SLOPE",
    "TIES",
    "add_derivative",
    "fits_derivative",
    "is_exact",
    "is_known",
    "is_of_tanh",
    "operands",
]

_PULLBACK, _CALL = "@pullback", "@call"
# These mark calls of what ``agnograd_c._slopes`` and ``agnograd_c._extremes`` compute.
SLOPE, TIES = "slope", "ties"
# Those of two arguments: which of them has to be the larger one to be given the cotangent.
_LARGER = {
    ("maximum", "x1"): ("x1", "x2"),
    ("maximum", "x2"): ("x2", "x1"),
    ("minimum", "x1"): ("x2", "x1"),
    ("minimum", "x2"): ("x1", "x2"),
}
_TANH = ("tanh", "x")


def is_known(step: Step) -> bool:
    """Return whether a step is a derivative that C may compute."""
    if step.op == _PULLBACK:
        return _of(step) == _TANH or _of(step) in _LARGER
    return step.op == _CALL and not step.kwargs.keys().isdisjoint((SLOPE, TIES))


def is_of_tanh(step: Step) -> bool:
    """Return whether a step gives what a cotangent becomes by the derivative of tanh."""
    return step.op == _PULLBACK and _of(step) == _TANH


def is_exact(step: Step) -> bool:
    """Return whether C gives the same bits for a derivative as NumPy."""
    return _of(step) != _TANH if step.op == _PULLBACK else TIES in step.kwargs


def fits_derivative(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether C computes a derivative: that of real numbers of one dtype."""
    type = code_of(facts[step.outs[0]])
    given = operands(step)
    kinds = [code_of(facts[x]) if isinstance(x, Ref) else type_of(x) for x in given]
    return type in FLOATS and kinds[0] == type and all(kind in (type, int, float) for kind in kinds)


def add_derivative(code: Code, step: Step) -> None:
    """Add the instructions of a derivative."""
    (out,) = step.outs
    type = code_of(code.facts[out]) or ""
    given = [code.as_type(x, type)[0] for x in operands(step)]

    def op(name: str, *args: Operand) -> int:
        return code.op(name, type, *args)

    if TIES in step.kwargs:
        code.values[out] = (code.cast(code.put(f"equal_{type}", "b1", *given), "b1", type),)
        return
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
    code.values[out] = (found,)


def _of(step: Step) -> tuple[str, str]:
    return step.kwargs["op"], step.kwargs["input"]


def operands(step: Step) -> list[Any]:
    """Return the cotangent, and the arguments of the op, the one that is to be larger first.

    A slope has no cotangent, and neither have ties.
    """
    if step.op == _CALL:
        return list(step.args)
    given = dict(zip(step.kwargs["function"].names, step.args, strict=True))
    return [given[name] for name in ("g", *_LARGER.get(_of(step), ("x",)))]
