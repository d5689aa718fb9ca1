"""What is known of an op by its rules: what a node saves, and what its gradients take."""

from __future__ import annotations

from typing import NamedTuple

from agnograd._ops.op import Op


class Saved(NamedTuple):
    """A value that nodes of an op save."""

    name: str  # by which rules know it
    expression: str  # what it is where the op is called
    source: int | str | None = None  # under ``create_graph``: see ``agnograd._graph.calls.Source``
    users: tuple[str, ...] = ()  # inputs one of which must be tracked for it; none stands for all


def saved_values(op: Op) -> list[Saved]:
    """Return what a node of this op saves."""
    wanted: dict[str, dict[str, None]] = {}
    for name in op.rules:
        for value in values_named(op, name):
            wanted.setdefault(value, {})[name] = None
    saved = []
    for value, users in wanted.items():
        all_use = len(users) == len(op.differentiable) or value in op.options or op.of_numbers
        saved.append(Saved(value, *_expression(op, value), () if all_use else tuple(users)))
    if op.broadcasts:
        saved.append(Saved("match", "_match"))
    if op.negation:
        large = "_large is not None and _count(_out) >= _large"
        saved.append(Saved("_origin", f"(_reference({op.arrays[0]}) if {large} else None)"))
    return saved


def values_named(op: Op, name: str) -> list[str]:
    """Return what is saved for the gradient with respect to one input, by name."""
    rule = op.rules[name]
    names = [n for n in rule.names if n not in ("g", "xp")]
    facts = [] if rule.kind == "elementwise" else [f"{name}_shape", f"{name}_dtype"]
    return [*names, *facts]


def _expression(op: Op, value: str) -> tuple[str, int | str | None]:
    array, _, what = value.rpartition("_")
    if value == "out":
        return "_out", "out"
    if value == op.sequence:
        return value, "each"
    if value in op.differentiable:
        return value, op.differentiable.index(value)
    if value in op.arrays:
        return value, "constant"
    if value in op.options:
        return value, None
    if array == op.sequence:
        return f"[{_fact('_each', what)} for _each in {array}]", None
    if array == "out":
        return _fact("_out", what), None
    if op.signature.parameters[array].default is None:  # an input that may be left out
        return f"(None if {array} is None else {_fact(array, what)})", None
    return _fact(array, what), None


def _fact(array: str, what: str) -> str:
    return f"_device({array})" if what == "device" else f"{array}.{what}"


def multiplies(op: Op) -> bool:
    """Return whether a cotangent is multiplied with a derivative."""
    return any(rule.multiplies for rule in op.rules.values())


def works(op: Op) -> tuple[bool, ...] | None:
    """Return whether the rule of each input computes anything; None for ops of other kinds.

    Only ops count whose rules can be applied to a part of the elements as to all of them.
    """
    if not op.by_element:
        return None
    return tuple(op.rules[name].function != 1 for name in op.differentiable)
