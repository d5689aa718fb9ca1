"""The source of an op's backward functions, written from its signature and its rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Literal

from agnograd._ops import Op, Rule
from agnograd._source import broadcasts, indented, returns_its_argument, saved_values

__all__ = ["Manner", "backward_source", "multiplies", "works"]

# How a backward function multiplies: cotangents of 0 with derivatives that are not finite give 0
# where it is guarded.
Manner = Literal["plain", "guarded"]


def backward_source(op: Op, manner: Manner = "plain", pullback: Sequence[str] = ()) -> str:
    """Write ``(g, node, xp) -> pairs``: each edge of the node and its gradient, or None.

    On a first-order pass ``g`` and the saved values are raw arrays, and ``xp`` the raw namespace;
    under ``create_graph`` they are Variables and the differentiable namespace. ``pullback`` are
    the parameters of the backend's own function for an op of one input, if it has one.
    """
    name = op.name.rpartition(".")[2].strip("_")
    body = "\n".join(_backward_lines(op, manner, pullback))
    return f"def {name}_backward(g, node, xp):\n{indent(body, '    ')}\n"


def _backward_lines(op: Op, manner: Manner, pullback: Sequence[str]) -> Iterator[str]:
    inputs = op.differentiable
    saved = [name for name, _, _ in saved_values(op)]
    edges = ["*_edges"] if op.sequence else [f"_{name}_edge" for name in inputs]
    yield f"{', '.join(['_', '_', '_', *saved, *edges])} = node"
    if op.sequence:
        (rule,) = op.rules.values()
        name = op.sequence
        gradients = f"_rule_{name}({', '.join(rule.names)})"
        fitted = f"_fit_each({gradients}, _edges, {name}_shape, {name}_dtype, xp)"
        yield f"return tuple(zip(_edges, {fitted}))"
        return
    if pullback:
        (name,) = inputs
        yield "if xp is _raw:"
        yield f"    return ((_{name}_edge, _pullback({', '.join(pullback)})), )"
    if multiplies(op):
        # To ask whether it is the most usual dtype takes a fraction of looking one up.
        yield "_conjugated = g.dtype is not _float64 and g.dtype in _complex"
    for name in inputs:
        lines = _gradient(op, name, manner == "guarded")
        if len(inputs) == 1:
            yield from lines
        else:
            yield f"if _{name}_edge is None:"
            yield f"    _{name}_grad = None"
            yield "else:"
            yield from indented(lines)
    pairs = "".join(f"(_{name}_edge, _{name}_grad), " for name in inputs)
    yield f"return ({pairs})"


def multiplies(op: Op) -> bool:
    """Return whether a cotangent is multiplied with a derivative."""
    return any(_multiplies(rule) for rule in op.rules.values())


def works(op: Op) -> tuple[bool, ...] | None:
    """Return whether the rule of each input computes anything; None for ops of other kinds.

    Only ops count whose rules can be applied to a part of the elements as to all of them.
    """
    rules = op.rules.values()
    facts = {name.rpartition("_")[2] for rule in rules for name in rule.names}
    special = op.accumulate or op.overwrite or op.masks or op.sequence or op.outputs != "one"
    if not rules or special or facts & {"shape", "device"}:
        return None
    if any(rule.kind != "elementwise" for rule in rules):
        return None
    return tuple(op.rules[name].function != 1 for name in op.differentiable)


def _multiplies(rule: Rule) -> bool:
    return rule.kind == "elementwise" and callable(rule.function)


def _value(rule: Rule, name: str) -> str:
    """Return the expression of a rule's result for one input."""
    if returns_its_argument(rule):
        return rule.names[0]
    return f"_rule_{name}({', '.join(rule.names)})"


def _gradient(op: Op, name: str, guarded: bool) -> Iterator[str]:
    """Compute the gradient with respect to one input."""
    rule = op.rules[name]
    result = f"_{name}_grad"
    value = _value(rule, name)
    if rule.kind != "elementwise":
        # Asked here, since almost all fit: a call costs several times as much.
        fits = f"{result}.shape == {name}_shape and {result}.dtype is {name}_dtype"
        yield f"{result} = {value}"
        yield f"if {result} is None or not ({fits}):"
        yield f"    {result} = _fit({result}, {name}_shape, {name}_dtype, xp)"
        return
    if _multiplies(rule):
        # In one expression: NumPy multiplies into a large array that nothing else refers to.
        product = "_guarded(g, {}, xp)" if guarded else "g * {}"
        yield "if _conjugated:"
        yield f"    {result} = {product.format(f'_conjugate({value}, xp)')}"
        yield "else:"
        yield f"    {result} = {product.format(value)}"
    else:
        yield f"{result} = " + {1: "g", -1: "-g", 0: "xp.zeros_like(g)"}[rule.function]  # type: ignore[index]
    if broadcasts(op):
        index = op.differentiable.index(name)
        yield "if match is not None:"
        yield f"    {result} = _fit({result}, *match[{index}], xp)"
