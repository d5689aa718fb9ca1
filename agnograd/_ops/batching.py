"""How an op is computed for many members at once: the arrays of some have a leading axis for them.

Rules see payloads. That of an input which is mapped has one more axis, the first one, along which
the members lie; that of any other input is the same for all members. All results are mapped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from inspect import BoundArguments
from itertools import takewhile
from operator import attrgetter
from typing import Any, Literal

from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import device_of, is_python_scalar
from agnograd._util.signatures import parameters_of
from agnograd.errors import BatchingError

# What computes an op: from the namespace, the number of members, the names of the inputs that are
# mapped, and the payloads, bound to the op's parameters.
BatchingRule = Callable[[Any, int, Set[str], BoundArguments], Any]


# How an op is computed for many members: by its rule, by its program on the members, or by a loop
# over them. What takes no arrays, or looks only at their dtypes, is the same for all.
Batching = Literal["rule", "program", "loop", "none"]


def batching(op: Op) -> Batching:
    """Return how an op is computed for many members at once."""
    if not op.arrays or (op.chapter == "data_type" and op.status == "no gradient"):
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
    return _along_axes(op) if kind == "axis" else _aligned(op, of_matrices=kind == "last")


def _declared(rule: Callable[..., Any]) -> BatchingRule:
    """Return a rule that an op declares, which names what it needs before the op's parameters."""
    names = [*takewhile({"xp", "size", "mapped"}.__contains__, parameters_of(rule))]

    def compute(xp: Any, size: int, mapped: Set[str], bound: BoundArguments) -> Any:
        known = {"xp": xp, "size": size, "mapped": mapped}
        return rule(*[known[name] for name in names], *bound.args, **bound.kwargs)

    return compute


def _aligned(op: Op, of_matrices: bool) -> BatchingRule:
    """Return the rule of an op that broadcasts its inputs, or stacks of matrices in them."""
    function = attrgetter(op.name)

    def compute(xp: Any, size: int, mapped: Set[str], bound: BoundArguments) -> Any:
        given = bound.arguments
        found = {name: given.get(name) for name in op.arrays}
        arrays = {n: x for n, x in found.items() if not (x is None or is_python_scalar(x))}
        ranks = [len(each.shape) - (name in mapped) for name, each in arrays.items()]
        if of_matrices and min(ranks) < 2:  # the members would stand for rows
            raise ValueError(f"{op.name} takes matrices, or stacks of them, of two axes or more")
        rank = max(ranks)
        for name in arrays.keys() & mapped:
            given[name] = with_rank(xp, arrays[name], rank)
        return function(xp)(*bound.args, **bound.kwargs)

    return compute


def with_rank(xp: Any, payload: Any, rank: int) -> Any:
    """Return a mapped payload whose members have at least so many axes, the new ones first."""
    size, *shape = payload.shape
    missing = rank - len(shape)
    return payload if missing <= 0 else xp.reshape(payload, (size, *(1,) * missing, *shape))


def in_full(xp: Any, size: int, payload: Any) -> Any:
    """Return the payload of what is the same for all members as a mapped one."""
    return xp.broadcast_to(xp.expand_dims(payload, axis=0), (size, *payload.shape))


def in_one_row(xp: Any, payload: Any) -> Any:
    """Return a mapped payload whose members have all their elements along one axis."""
    size, *shape = payload.shape
    return payload if len(shape) == 1 else xp.reshape(payload, (size, math.prod(shape)))


def in_stacks(xp: Any, mapped: Set[str], cores: Sequence[int], **payloads: Any) -> list[Any]:
    """Return payloads whose members are stacks of one rank: they broadcast against each other.

    ``cores`` says of each how many axes it has behind those of its stack. What is the same for all
    members gets a first axis of length 1.
    """
    found = [
        payload if name in mapped else xp.expand_dims(payload, axis=0)
        for name, payload in payloads.items()
    ]
    rank = max(len(each.shape) - 1 - core for each, core in zip(found, cores, strict=True))
    return [with_rank(xp, each, rank + core) for each, core in zip(found, cores, strict=True)]


def unequal_shapes(op: str, instead: str) -> BatchingError:
    """Return the error of an op whose result would have another shape for each member."""
    return BatchingError(
        f"{op}: the shape of the result would depend on values, which differ between the members "
        f"of a batch; {instead}"
    )


def _along_axes(op: Op) -> BatchingRule:
    """Return the rule of an op that works along an axis, or several: None stands for all."""
    function, axis_name = attrgetter(op.name), "axes" if "axes" in op.parameters else "axis"
    first = op.arrays[0]
    default = op.signature.parameters[axis_name].default
    reduces = "keepdims" in op.parameters

    def compute(xp: Any, size: int, mapped: Set[str], bound: BoundArguments) -> Any:
        given = bound.arguments
        payload = given[first]
        axis = given.get(axis_name, default)
        if len(payload.shape) == 1:  # a member is one number

            def along(x: Any, axis: Any) -> Any:
                given[first], given[axis_name] = x, axis
                return function(xp)(*bound.args, **bound.kwargs)

            if axis is None and reduces:  # most often
                return xp.reshape(along(xp.expand_dims(payload, axis=1), (1,)), payload.shape)
            return of_numbers(xp, payload, axis, along)
        given[axis_name] = behind(axis, len(given[first].shape) - 1)
        return function(xp)(*bound.args, **bound.kwargs)

    return compute


def of_numbers(xp: Any, payload: Any, axis: Any, along: Callable[[Any, Any], Any]) -> Any:
    """Return what an op along an axis gives for members that are numbers, without any axis.

    Libraries differ in which axes they take there, and in the shape of the result. So the op is
    computed of a single number, too, which raises what the library raises.
    """
    one = along(xp.ones((), dtype=payload.dtype, device=device_of(payload)), axis)
    own = (1,) * len(axis) if isinstance(axis, tuple | list) else 1
    return xp.reshape(along(xp.expand_dims(payload, axis=1), own), (*payload.shape, *one.shape))


def behind(axis: Any, rank: int) -> Any:
    """Return an axis of members of this rank, several, or None for all, as one of the payload.

    Examples
    --------
    >>> behind(-1, rank=2)
    2
    >>> behind((0, -1), rank=3)
    (1, 3)
    >>> behind(None, rank=2)
    (1, 2)
    """
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, tuple | list):
        return tuple(behind(each, rank) for each in axis)
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is out of bounds for an array of {rank} axes")
    return axis % rank + 1
