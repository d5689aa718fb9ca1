"""Columns: many values without axes as one array, computed at once if they are computed alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from math import prod
from typing import Any

from agnograd.extend import switch
from agnograd_compile._programs.editor import Editor
from agnograd_compile._programs.program import Fact, Ref, Step, TracedProgram, declared
from agnograd_compile._surroundings.keys import value_key

# How far back the steps of a column are followed, each of which may have several columns before
# it.
COLUMN_DEPTH = switch("COLUMN_DEPTH", 16, least=0, most=64, module=__name__)
# Of how many parts a column may consist: more take as long to join as its values.
COLUMN_PARTS = switch("COLUMN_PARTS", 4, least=1, most=64, module=__name__)


class Columns(Editor):
    """Makes columns of a program's values.

    Attributes
    ----------
    made : dict of Ref to Step
        The step that makes each value, so far.
    """

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.made: dict[Ref, Step] = {}
        self._array = program.domain.backend.array_types()[0]
        self._known: dict[tuple[int, ...], Ref | None] = {}

    def column(self, values: Sequence[Ref], depth: int | None = None) -> Ref | None:
        """Return an array of values without axes, or None if they are not computed alike.

        What is the same for all of them stays one value, without axes.
        """
        if all(value == values[0] for value in values):
            return values[0]
        key = tuple(value.number for value in values)
        if key not in self._known:
            self._known[key] = self._column(values, COLUMN_DEPTH if depth is None else depth)
        return self._known[key]

    def stacked(self, values: Sequence[Ref]) -> Ref:
        """Return an array of values without axes, however they are computed."""
        found, like, shape = self.column(values), self.facts[values[0]], (len(values),)
        if found is not None and self.facts[found].shape:
            return found
        if found is not None:
            return self.view("broadcast_to", found, shape, shape, like)
        parts = [[*part] for _, part in groupby(values, lambda value: way(self.made.get(value)))]
        if 1 < len(parts) <= COLUMN_PARTS and len(values) >= 4 * COLUMN_PARTS:
            joined = [self.stacked(part) for part in parts]
            return self.array("concat", (joined,), {"axis": 0}, shape, like)
        return self.array("stack", (list(values),), {"axis": 0}, shape, like)

    def positions(self, keys: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Any:
        """Return a key of single elements in a row, and None if there is no basic one."""
        axes = [axis for axis in range(len(shape)) if keys[0][axis] != keys[-1][axis]]
        if len(axes) != 1 or any(_rest(key, axes[0]) != _rest(keys[0], axes[0]) for key in keys):
            return None
        places = [key[axes[0]] for key in keys]
        step = _apart(places)
        if step is None:
            return None
        stop = places[-1] + (1 if step > 0 else -1)
        part = slice(places[0], stop if stop >= 0 else None, step)
        return tuple(part if axis == axes[0] else at for axis, at in enumerate(keys[0]))

    def indices(self, numbers: Sequence[int]) -> Ref:
        """Return a constant array of positions."""
        return self.constant(self.domain.library.asarray(list(numbers)))

    def constant(self, value: Any) -> Ref:
        """Return a new constant, a column."""
        device = self.domain.device(value)
        like = Fact((), value.dtype, getattr(value, "strides", None), self._array, device)
        ref = self.value(self._fact(tuple(value.shape), like))
        self.constants[ref] = value
        return ref

    # -- how values are computed -------------------------------------------------------------------

    def _column(self, values: Sequence[Ref], depth: int) -> Ref | None:
        steps = [self.made.get(value) for value in values]
        first, like = steps[0], self.facts[values[0]]
        if first is None or not depth:
            return None
        alike = (first.op, len(first.args))
        for value, step in zip(values, steps, strict=True):
            if step is None or (step.op, len(step.args)) != alike or step.kwargs:
                return None
            if self.facts[value] != like:
                return None
        known: list[Step] = [step for step in steps if step is not None]
        if first.op == "__getitem__":
            return self._elements(known, like)
        return self._computed(known, values, like, depth) if declared(first.op).exact else None

    def _elements(self, steps: Sequence[Step], like: Fact) -> Ref | None:
        """Return the elements of an array that the steps read, one each."""
        base = steps[0].args[0]
        shape = self.facts[base].shape
        keys = [element(step.args[1], shape) for step in steps]
        if any(step.args[0] != base for step in steps) or None in keys:
            return None
        found: list[tuple[int, ...]] = [key for key in keys if key is not None]
        count = (len(steps),)
        key = self.positions(found, shape)
        if key is not None and len(shape) > 1:
            return self.view("__getitem__", base, key, count, like)
        if len(shape) > 1:
            base = self._flat(base, like)
            if base is None:
                return None
        places = [_place(key, shape) for key in found]
        if places == list(range(prod(shape))):
            return base  # type: ignore[no-any-return]
        key = self.positions([(place,) for place in places], (prod(shape),))
        if key is not None:
            return self.view("__getitem__", base, key, count, like)
        return self.array("take", (base, self.indices(places)), {"axis": 0}, count, like)

    def _flat(self, base: Ref, like: Fact) -> Ref | None:
        """Return a view of all elements of an array, or None if it is not in rows."""
        shape, strides = self.facts[base].shape, self.facts[base].strides
        if strides is not None and strides != _in_rows(shape, like.dtype.itemsize):
            return None
        count = (prod(shape),)
        return self.view("reshape", base, count, count, like)

    def _computed(
        self, steps: Sequence[Step], values: Sequence[Ref], like: Fact, depth: int
    ) -> Ref | None:
        """Return what element-wise steps give, by one that takes columns of their arguments."""
        own = {value.number for value in values}
        args: list[Any] = []
        stacks = []  # arguments that are not computed alike: one of them may be put together
        for place, given in enumerate(zip(*(step.args for step in steps), strict=True)):
            kinds = {type(each) for each in given}
            if kinds == {Ref}:
                if not own.isdisjoint(each.number for each in given):
                    return None  # each is computed from the one before
                found = self.column(given, depth - 1)
                if found is None:
                    stacks.append((place, given))
                args.append(found)
            elif kinds <= {int, float}:
                same = len({value_key(each) for each in given}) == 1
                args.append(given[0] if same else given)
            else:
                return None
        if len(stacks) > 1 or any(self.facts[given[0]].shape for _, given in stacks):
            return None
        branches = args[1:] if steps[0].op == "where" else args
        dtypes = {self.facts[arg].dtype for arg in branches if type(arg) is Ref}
        dtypes |= {self.facts[each].dtype for _, given in stacks for each in given}
        if len(dtypes) != 1:  # where a value without axes may have less to say on the result's
            return None
        dtype = dtypes.pop()
        floating = self.domain.library.isdtype(dtype, "real floating")
        for place, arg in enumerate(args):
            if type(arg) is tuple:  # numbers, which take the dtype of what is beside them
                if not floating and any(type(each) is float for each in arg):
                    return None
                args[place] = self.constant(self.domain.library.asarray(list(arg), dtype=dtype))
        for place, given in stacks:
            args[place] = self.stacked(given)
        if not any(type(arg) is Ref and self.facts[arg].shape for arg in args):
            return None
        return self.array(steps[0].op, tuple(args), {}, (len(steps),), like)

    def array(
        self,
        op: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        shape: tuple[int, ...],
        like: Fact,
    ) -> Ref:
        """Add a step that makes a new array with the dtype of a value; return the array."""
        return self.emit(op, args, kwargs, self._fact(shape, like))

    def view(self, op: str, base: Ref, key: Any, shape: tuple[int, ...], like: Fact) -> Ref:
        """Add a step that takes a view of an array, by a key or a shape; return the view."""
        fact = self._fact(shape, like)
        if fact.strides is not None:
            fact = fact._replace(strides=_strides_of(self.facts[base], key) or fact.strides)
        return self.emit(op, (base, key), {}, fact, views=(base,))

    def _fact(self, shape: tuple[int, ...], like: Fact) -> Fact:
        strides = None if like.strides is None else _in_rows(shape, like.dtype.itemsize)
        return Fact(shape, like.dtype, strides, self._array, like.device)


def way(step: Step | None) -> Any:
    """Return the op that computes a value, and the array that it is read from."""
    if step is None:
        return None
    return step.op, step.args[0] if step.op == "__getitem__" else None


def element(key: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the key of a single element as integers that are not negative, or None."""
    parts = key if type(key) is tuple else (key,)
    if len(parts) != len(shape) or not all(type(part) is int for part in parts):
        return None
    return tuple(part % length for part, length in zip(parts, shape, strict=True))


def _place(key: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """Return the position of an element in row-major order."""
    place = 0
    for part, length in zip(key, shape, strict=True):
        place = place * length + part
    return place


def _rest(key: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return key[:axis] + key[axis + 1 :]


def _apart(places: Sequence[int]) -> int | None:
    """Return how far apart positions are, if that is the same for all of them, and not 0."""
    step = places[1] - places[0]
    return step if step and all(two - one == step for one, two in pairwise(places)) else None


def _in_rows(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _strides_of(base: Fact, key: Any) -> tuple[int, ...] | None:
    """Return the strides of a view with one axis: by a key with one slice, or of one element."""
    assert base.strides is not None
    if not base.shape:
        return (0,)
    for part, stride in zip(key if type(key) is tuple else (key,), base.strides, strict=False):
        if type(part) is slice:
            return (stride * (part.step or 1),)
    return None
