"""Identities: calls that give one of their arguments, or that a simpler call replaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from agnograd.extend import is_basic
from agnograd_compile._programs.program import Fact, Ref, Step, TracedProgram, refs_in
from agnograd_compile._surroundings.keys import value_key


class Seen(NamedTuple):
    """What rules look at: the program, what is known of its values, and the steps so far."""

    program: TracedProgram
    facts: Mapping[Ref, Fact]
    made: Mapping[Ref, Step]  # by result

    def argument(self, value: Any, op: str) -> Any:
        """Return what an op was given to make a value, or None if a different op made it."""
        step = self.made.get(value) if type(value) is Ref else None
        return step.args[0] if step is not None and step.op == op else None

    def alike(self, one: Any, other: Any) -> bool:
        """Return whether two values have the same shape, dtype, strides, type and device."""
        return type(one) is type(other) is Ref and self.facts[one] == self.facts[other]


# Looks at a step, and returns a value that equals its result, a simpler step, or None.
Rule = Callable[[Seen, Step], Ref | Step | None]


def identities(program: TracedProgram) -> TracedProgram:
    """Return the program without calls that give one of their arguments, bit for bit.

    A value takes the place of another only if all that is known of the two is the same, strides
    too: the order in which a library adds elements depends on them.
    """
    seen = Seen(program, program.facts, made := {})
    new: dict[Ref, Ref] = {}
    kept, changed = [], False
    for traced in program.steps:
        step = traced.renamed(new) if new else traced
        while (rule := RULES.get(step.op)) is not None:
            found = rule(seen, step)
            if type(found) is not Step:
                break
            step, changed = found, True
        else:
            found = None
        if type(found) is Ref and seen.alike(found, step.outs[0]):
            new[step.outs[0]] = found
            continue
        kept.append(step)
        for ref in step.outs:
            made[ref] = step
    if not (new or changed):
        return program
    outputs = tuple(new.get(ref, ref) for ref in program.outputs)
    return program.with_(steps=tuple(kept), outputs=outputs)


def _first(seen: Seen, step: Step) -> Any:
    """Replace what changes neither shape nor dtype by its argument."""
    return step.args[0] if step.args else None


def _reshape(seen: Seen, step: Step) -> Any:
    """Reshape an array in rows once, not twice: each time the result is a view in rows."""
    x = step.args[0]
    inner = seen.argument(x, "reshape")
    if type(inner) is Ref and in_rows(seen.facts[inner]) and not step.kwargs.get("copy"):
        return _from(step, inner)
    return x


def _broadcast(seen: Seen, step: Step) -> Any:
    inner = seen.argument(step.args[0], "broadcast_to")
    return step.args[0] if type(inner) is not Ref else _from(step, inner)


def _permute(seen: Seen, step: Step) -> Any:
    x, axes = step.args[0], _axes(step)
    if axes is None:
        return None
    if axes == tuple(range(len(axes))):
        return x
    inner = seen.argument(x, "permute_dims")
    before = _axes(seen.made[x]) if type(inner) is Ref else None
    if before is None:
        return None
    step = replace(step, kwargs={})
    return instead(step, step.op, (inner, tuple(before[axis] for axis in axes)))


def _axes(step: Step) -> tuple[int, ...] | None:
    axes = step.args[1] if len(step.args) > 1 else step.kwargs.get("axes")
    return axes if type(axes) is tuple and all(a >= 0 for a in axes) else None


def _twice(seen: Seen, step: Step) -> Any:
    """Undo what is its own inverse."""
    return seen.argument(step.args[0], step.op)


def _abs(seen: Seen, step: Step) -> Any:
    x = step.args[0]
    inner = seen.argument(x, "negative")
    # An integer without a sign has a large negative.
    if seen.alike(inner, x) and seen.program.domain.is_inexact(seen.facts[x].dtype):
        return instead(step, step.op, (inner,))
    return x if seen.argument(x, "abs") is not None else None


def _conj(seen: Seen, step: Step) -> Any:
    x = step.args[0]
    return None if _is_complex(seen, x) else x


def _getitem(seen: Seen, step: Step) -> Any:
    """Select all: a view with the shape and strides of its base has its elements, too.

    Without strides, only a key that shows it at once is known to.
    """
    x, key = step.args
    maker = seen.made.get(x)
    if maker is not None and maker.op == "__setitem__" and _same_place(key, maker.args[1]):
        return maker.args[2]
    if maker is not None and maker.op == "stack" and type(key) is int and _in_front(maker):
        return maker.args[0][key]
    fact = seen.facts[x]
    if fact.shape != seen.facts[step.outs[0]].shape:
        return None
    if fact.strides is not None:  # a copy, such as PyTorch makes to flip, may be in another order
        return x if is_basic(key) and x in step.views else None
    parts = key if isinstance(key, tuple) else (key,)
    return (
        x
        if all(part is ... or (type(part) is slice and part == slice(None)) for part in parts)
        else None
    )


def _in_front(stack: Step) -> bool:
    """Return whether a new axis is the first one."""
    return len(stack.args) == 1 and stack.kwargs.get("axis", 0) == 0


def _same_place(key: Any, other: Any) -> bool:
    """Return whether two keys select the same elements, by integers and slices of integers.

    ``False``, which selects nothing, is equal to 0.
    """
    return is_basic(key) and not any(refs_in(key)) and value_key(key) == value_key(other)


def _multiply(seen: Seen, step: Step) -> Any:
    one, other = step.args
    if _is(1, one) and not _is_complex(seen, other):
        return other
    if _is(1, other) and not _is_complex(seen, one):
        return one
    inner = seen.argument(one, "negative"), seen.argument(other, "negative")
    if seen.alike(inner[0], one) and seen.alike(inner[1], other):
        return instead(step, step.op, inner)
    return None


def _divide(seen: Seen, step: Step) -> Any:
    one, other = step.args
    return one if _is(1, other) and not _is_complex(seen, one) else None


def _add(seen: Seen, step: Step) -> Any:
    one, other = step.args
    inner = seen.argument(other, "negative")
    if seen.alike(inner, other):
        return instead(step, "subtract", (one, inner))
    inner = seen.argument(one, "negative")
    # The first argument decides on strides: only arguments alike can change their places.
    if seen.alike(inner, one) and seen.alike(one, other):
        return instead(step, "subtract", (other, inner))
    return None


def _subtract(seen: Seen, step: Step) -> Any:
    one, other = step.args
    if _is(0, other) and str(other) != "-0.0":  # -0.0 - -0.0 is 0.0
        return one
    inner = seen.argument(other, "negative")
    return instead(step, "add", (one, inner)) if seen.alike(inner, other) else None


def _where(seen: Seen, step: Step) -> Any:
    """Choose at once, by a condition that is the same in each run."""
    condition = step.args[0]
    value = seen.program.constants.get(condition) if type(condition) is Ref else None
    if value is None or value.shape or seen.program.domain.backend.capabilities.lazy:
        return None
    return step.args[1] if bool(value) else step.args[2]


def _is(number: int, value: Any) -> bool:
    """Return whether an argument is a Python number of this value, and not complex."""
    return type(value) in (int, float) and value == number


def _is_complex(seen: Seen, value: Any) -> bool:
    """Return whether a value is complex: its products have terms of both parts, and so NaN."""
    if type(value) is not Ref:
        return isinstance(value, complex)
    return bool(seen.program.domain.is_complex(seen.facts[value].dtype))


def instead(step: Step, op: str, args: tuple[Any, ...]) -> Step:
    """Return a step with a different op and other arguments: it may be a view of any of them.

    This only matters where a library does not say what shares memory.
    """
    views = tuple(dict.fromkeys(arg for arg in args if type(arg) is Ref)) if step.views else ()
    return Step(op, args, step.kwargs, step.outs, step.several, views, step.location)


def _from(step: Step, base: Ref) -> Step:
    """Return a step that takes the array that its first argument is a view of."""
    return instead(step, step.op, (base, *step.args[1:]))


def in_rows(fact: Fact) -> bool:
    """Return whether the elements follow each other in row-major order, at one distance."""
    if fact.strides is None:
        return False
    expected = None
    for length, stride in zip(reversed(fact.shape), reversed(fact.strides), strict=True):
        if length == 1:
            continue
        if expected is not None and stride != expected:
            return False
        expected = stride * length
    return True


RULES: dict[str, Rule] = {
    **dict.fromkeys(("positive", "astype", "real", "squeeze"), _first),
    **dict.fromkeys(("negative", "matrix_transpose"), _twice),
    "reshape": _reshape,
    "broadcast_to": _broadcast,
    "permute_dims": _permute,
    "abs": _abs,
    "conj": _conj,
    "__getitem__": _getitem,
    "multiply": _multiply,
    "divide": _divide,
    "pow": _divide,  # by one, as in a division
    "add": _add,
    "subtract": _subtract,
    "where": _where,
}
