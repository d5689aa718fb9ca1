"""Derivatives that a program has as one step, and that C computes element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnograd_c._choose.types import FLOATS, code_of, type_of
from agnograd_compile.lowering import Fact, Ref, Step

_PULLBACK, _CALL = "@pullback", "@call"
# These mark calls of what the rewrites ``slopes`` and ``extremes`` compute.
SLOPE, TIES = "slope", "ties"
_TANH = ("tanh", "x")
# By the op and its input, the arguments that a derivative is computed of. Of two, the first one has
# to be the larger one for the input to be given the cotangent.
_OF = {
    _TANH: ("x",),
    ("maximum", "x1"): ("x1", "x2"),
    ("maximum", "x2"): ("x2", "x1"),
    ("minimum", "x1"): ("x2", "x1"),
    ("minimum", "x2"): ("x1", "x2"),
}


def is_known(step: Step) -> bool:
    """Return whether a step is a derivative that C may compute."""
    if step.op == _PULLBACK:
        return _of(step) in _OF
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


def _of(step: Step) -> tuple[str, str]:
    return step.kwargs["op"], step.kwargs["input"]


def operands(step: Step) -> list[Any]:
    """Return the cotangent, and the arguments of the op, the one that is to be larger first.

    A slope has no cotangent, and neither have ties.
    """
    if step.op == _CALL:
        return list(step.args)
    given = dict(zip(step.kwargs["function"].names, step.args, strict=True))
    return [given[name] for name in ("g", *_OF[_of(step)])]
