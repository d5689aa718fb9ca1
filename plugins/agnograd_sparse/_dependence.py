"""Which elements of an op's inputs each element of its results depends on, by the kind of the op.

A result may be said to depend on more elements than it does, never on fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

from agnograd.extend import Op, domain_named, is_mask, is_python_scalar, reduced_axes
from agnograd.extend.members import batching
from agnograd.extend.transforms import Bound, Names
from agnograd_sparse._sets import Sets, Shape, host, joined, numbered, union

# What says where or of what dtype a result is: it does not matter to a pattern.
_BESIDE = ("dtype", "device", "copy", "stream")


class Input(NamedTuple):
    """An array among an op's inputs whose elements depend on unknowns."""

    name: str
    place: int  # among several arrays that are given as one parameter
    shape: Shape
    sets: Sets


class Applied(NamedTuple):
    """An op that was computed, as functions that find its pattern see it.

    Attributes
    ----------
    op, names, given
        The op, its parameters, and what it was called with, by parameter.
    inputs : sequence of Input
        The arrays that depend on unknowns, and that the results depend on.
    shapes : sequence of tuple
        The shapes of the results.
    on_host : callable or None
        Returns an argument with arrays on the host. None if indices, conditions or other
        arrays that select elements have other values for other unknowns.
    """

    op: Op
    names: Names
    given: Mapping[str, Any]
    inputs: Sequence[Input]
    shapes: Sequence[Shape]
    on_host: Callable[[Any], Any] | None


Pattern = Callable[[Applied], list[Sets]]


def everything(inputs: Sequence[Input], shapes: Sequence[Shape]) -> list[Sets]:
    """Return that each element depends on all elements of all inputs."""
    xp, parts = host(), []
    for each in inputs:
        parts.append(each.sets.grouped(xp.zeros(each.sets.count, dtype=xp.int64), 1))
    every = union(parts)
    return [every.taken(xp.zeros(prod(shape), dtype=xp.int64)) for shape in shapes]


def unknown(call: Applied) -> list[Sets]:
    """Return that nothing is known: each element depends on all elements of all inputs."""
    return everything(call.inputs, call.shapes)


def elementwise(call: Applied) -> list[Sets]:
    """Return that an element depends on those at its place, once inputs are broadcast."""
    found: dict[Shape, Sets] = {}
    for shape in call.shapes:
        if shape in found:
            continue
        if all(_broadcasts(each.shape, shape) for each in call.inputs):
            found[shape] = union([each.sets.spread(each.shape, shape) for each in call.inputs])
        else:
            (found[shape],) = everything(call.inputs, [shape])
    return [found[shape] for shape in call.shapes]


def along_axes(call: Applied) -> list[Sets]:
    """Return that an element depends on all elements of one input along some axes."""
    op, given = call.op, call.given
    name = "axes" if "axes" in op.parameters else "axis"
    axis = given.get(name, op.signature.parameters[name].default)
    first = call.inputs[0]
    if len(call.inputs) > 1 or first.name != op.arrays[0]:
        return unknown(call)
    axes = reduced_axes(axis, len(first.shape))
    lines, count = _lines(first.shape, axes)
    found = first.sets.grouped(lines, count)
    kept = _without(first.shape, axes)
    patterns = []
    for shape in call.shapes:
        if shape == kept:
            patterns.append(found)
        elif len(shape) == len(first.shape) and _without(shape, axes) == kept:
            patterns.append(found.taken(_lines(shape, axes)[0]))
        else:
            patterns += everything(call.inputs, [shape])
    return patterns


def of_stacks(call: Applied) -> list[Sets]:
    """Return that each matrix depends on those of the same place in stacks of matrices."""
    shapes = [each.shape for each in call.inputs]
    if any(len(shape) < 2 for shape in shapes):
        return unknown(call)
    stack: Shape = host().broadcast_shapes(*[shape[:-2] for shape in shapes])
    rank, parts = len(stack), []
    for each in call.inputs:
        count = prod(each.shape[:-2])
        lines, _ = _lines(each.shape, (len(each.shape) - 2, len(each.shape) - 1))
        parts.append(each.sets.grouped(lines, count).spread(each.shape[:-2], stack))
    found, patterns = union(parts), []
    for shape in call.shapes:
        if shape[:rank] == stack:
            patterns.append(found.taken(_lines(shape, range(rank, len(shape)))[0]))
        else:
            patterns += everything(call.inputs, [shape])
    return patterns


def moved(call: Applied) -> list[Sets]:
    """Return what running the op on the numbers of elements tells; that of a constant is 0."""
    if call.on_host is None:
        return unknown_moves(call)
    op, pool = call.op, joined([each.sets for each in call.inputs])
    given = {name: value for name, value in call.given.items() if name not in _BESIDE}
    first, known = 1, {}
    for each in call.inputs:
        known[each.name, each.place] = numbered(each.shape, first)
        first += prod(each.shape)
    for name, value in given.items():
        if name not in op.rules:
            given[name] = call.on_host(value)
        elif name == op.sequence:
            given[name] = [_numbers(known, name, i, each) for i, each in enumerate(value)]
        else:
            given[name] = _numbers(known, name, 0, value)
    bound = Bound(call.names, (), {})
    bound.arguments = given
    xp = domain_named("numpy").raw
    out = attrgetter(op.name)(xp)(*bound.args, **bound.kwargs)
    results = [*out] if isinstance(out, tuple | list) else [out]
    return [pool.taken(_places(each)) for each in results]


def added(call: Applied) -> list[Sets]:
    """Return what running the op's rule on the numbers of the result tells: it is a move."""
    xp = domain_named("numpy").raw
    (only,), (shape,) = call.inputs, call.shapes
    if call.on_host is None:
        return unknown(call)
    rule = call.op.rules[only.name]
    known: dict[str, Any] = {"g": numbered(shape, 1), "xp": xp, f"{only.name}_shape": only.shape}
    for name, value in call.given.items():
        if name != only.name:
            known[name] = call.on_host(value)
            if is_mask(known[name], xp):  # where one value may be added at many places
                return unknown(call)
    places = rule.function(*[known[name] for name in rule.names])  # type: ignore[operator]
    return [only.sets.grouped(_places(places), prod(shape))]


def unknown_moves(call: Applied) -> list[Sets]:
    """Return where elements may come from, if arrays of other values decide it."""
    if call.op.batch == "elementwise":
        return elementwise(call)
    parameter = call.op.signature.parameters.get("axis")
    axis = None if parameter is None else call.given.get("axis", parameter.default)
    (source, *others), (shape, *further) = call.inputs, call.shapes
    if not isinstance(axis, int) or others or further or len(shape) != len(source.shape):
        return unknown(call)
    axis %= len(shape)
    wide = (*shape[:axis], source.shape[axis], *shape[axis + 1 :])
    if not _broadcasts(source.shape, wide):
        return unknown(call)
    sets = source.sets.spread(source.shape, wide)
    return along_axes(call._replace(inputs=[source._replace(shape=wide, sets=sets)]))


def _numbers(known: Mapping[tuple[str, int], Any], name: str, place: int, value: Any) -> Any:
    """Return the numbers of an input's elements, which are 0 if they depend on nothing."""
    found = known.get((name, place))
    if found is not None or value is None:
        return found
    xp = host()
    shape = () if is_python_scalar(value) else value.shape
    return xp.zeros(shape, dtype=xp.int64)


def _places(numbers: Any) -> Any:
    """Return the places of elements that have numbers, which an op may have cast."""
    xp = host()
    return xp.astype(xp.real(xp.reshape(xp.asarray(numbers), (-1,))), xp.int64) - 1


def _broadcasts(shape: Shape, wanted: Shape) -> bool:
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(a in (1, b) for a, b in pairs)


def kind_of(op: Op) -> Pattern | None:
    """Return what finds the pattern of an op; None if a program tells it."""
    if op.pattern is not None:
        return None if callable(op.pattern) else _DECLARED[op.pattern]
    if op.composed:
        return None
    if op.batch == "elementwise" or (
        op.rules and all(rule.kind == "elementwise" for rule in op.rules.values())
    ):
        return elementwise
    if op.batch == "axis":
        return along_axes
    if op.batch == "last":
        return of_stacks
    return None if op.forward is not None and batching(op) != "none" else unknown


_DECLARED: Mapping[str, Pattern] = {
    "moves": moved,
    "selects": moved,
    "adds": added,
    "axis": along_axes,
    "values": unknown,
}


def _lines(shape: Shape, axes: Sequence[int]) -> tuple[Any, int]:
    """Return, for each element, the number of its line along some axes, and how many there are."""
    xp = host()
    ones = tuple(1 if i in axes else length for i, length in enumerate(shape))
    return xp.reshape(xp.broadcast_to(numbered(ones), shape), (-1,)), prod(ones)


def _without(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple(length for i, length in enumerate(shape) if i not in axes)
