"""How an op is computed for many members at once: the arrays of some have a leading axis for them.

Rules see payloads. That of an input which is mapped has one more axis, the first one, along which
the members lie; that of any other input is the same for all members. All results are mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from inspect import BoundArguments
from itertools import takewhile
from operator import attrgetter
from typing import Any, Literal

from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._util.signatures import parameters_of

# What computes an op: from the namespace, the number of members, the names of the inputs that are
# mapped, and the payloads, bound to the op's parameters.
BatchingRule = Callable[[Any, int, Set[str], BoundArguments], Any]


# How an op is computed for many members: by its rule, by its program on the members, or by a loop
# over them; one without array inputs is the same for all.
Batching = Literal["rule", "program", "loop", "none"]


def batching(op: Op) -> Batching:
    """Return how an op is computed for many members at once."""
    if not op.arrays:
        return "none"
    if op.composed:
        return "program"
    if batching_rule(op) is not None:
        return "rule"
    return "loop" if op.forward is None else "program"


def batching_rule(op: Op) -> BatchingRule | None:
    """Return an op's batching rule: the one that it declares, or that its other rules imply.

    None says that there is none: an op with a program runs that on members, and all others are
    computed for one member after the other.
    """
    if callable(op.batch):
        return _declared(op.batch)
    kind = op.batch
    if kind is None and op.rules and all(r.kind == "elementwise" for r in op.rules.values()):
        kind = "elementwise"
    if kind is None:
        return None
    make = _along_axes if kind == "axis" else _aligned
    return make(op)


def _declared(rule: Callable[..., Any]) -> BatchingRule:
    """Return a rule that an op declares, which names what it needs before the op's parameters."""
    names = [*takewhile({"xp", "size", "mapped"}.__contains__, parameters_of(rule))]

    def compute(xp: Any, size: int, mapped: Set[str], bound: BoundArguments) -> Any:
        known = {"xp": xp, "size": size, "mapped": mapped}
        return rule(*[known[name] for name in names], *bound.args, **bound.kwargs)

    return compute


def _aligned(op: Op) -> BatchingRule:
    """Return the rule of an op that broadcasts its inputs, or stacks of matrices in them."""
    function = attrgetter(op.name)

    def compute(xp: Any, size: int, mapped: Set[str], bound: BoundArguments) -> Any:
        given = bound.arguments
        arrays = {name: given[name] for name in op.arrays if _is_array(given.get(name))}
        rank = max(len(each.shape) - (name in mapped) for name, each in arrays.items())
        for name in arrays.keys() & mapped:
            given[name] = with_rank(xp, arrays[name], rank)
        return function(xp)(*bound.args, **bound.kwargs)

    return compute


def _is_array(value: Any) -> bool:
    return value is not None and not is_python_scalar(value)


def with_rank(xp: Any, payload: Any, rank: int) -> Any:
    """Return a mapped payload whose members have at least so many axes, the new ones first."""
    size, *shape = payload.shape
    missing = rank - len(shape)
    return payload if missing <= 0 else xp.reshape(payload, (size, *(1,) * missing, *shape))


def in_full(xp: Any, size: int, payload: Any) -> Any:
    """Return the payload of what is the same for all members as a mapped one."""
    return xp.broadcast_to(xp.expand_dims(payload, axis=0), (size, *payload.shape))


def _along_axes(op: Op) -> BatchingRule:
    """Return the rule of an op that works along an axis, or several: None stands for all."""
    function, axis_name = attrgetter(op.name), "axes" if "axes" in op.parameters else "axis"
    first = op.arrays[0]

    def compute(xp: Any, size: int, mapped: Set[str], bound: BoundArguments) -> Any:
        given = bound.arguments
        payload = given[first]
        axis = given.get(axis_name)
        if axis is None and len(payload.shape) == 1:  # a member is one number
            given[first], axis = xp.expand_dims(payload, axis=1), (0,)
            given.pop("keepdims", None)
        given[axis_name] = behind(axis, len(given[first].shape) - 1)
        return function(xp)(*bound.args, **bound.kwargs)

    return compute


def behind(axis: Any, rank: int) -> Any:
    """Return an axis of members of this rank, several, or None for all, as one of the payload."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, tuple | list):
        return tuple(behind(each, rank) for each in axis)
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is out of bounds for an array of {rank} axes")
    return axis % rank + 1
