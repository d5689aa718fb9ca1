"""Arrays of many members: an interpretation whose arrays have a hidden first axis."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence, Set
from numbers import Integral
from operator import attrgetter
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

from agnograd._arrays.domain import rebuilt
from agnograd._arrays.domains import domain_of
from agnograd._arrays.levels import derived, levels_up, root_of
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import ALONE
from agnograd._batch.binding import Bound, Names, has_arrays
from agnograd._batch.units import Units, product, scale
from agnograd._graph.calls import Call
from agnograd._levels.interpretation import Interpretation
from agnograd._levels.interpreted import Interpreted, Run, at_home
from agnograd._ops.batching import BatchingRule, batching_rule, in_full
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import PYTHON_SCALARS, is_basic, is_mask, is_python_scalar
from agnograd.errors import BatchingError, BatchingWarning


class Members(Run):
    """One run of a function by ``vmap``: how many members there are.

    Attributes
    ----------
    size : int
        The number of members.
    has_units : bool
        Whether some arrays may be known to be unit vectors.
    """

    error = BatchingError

    def __init__(self, size: int, has_units: bool = False) -> None:
        self.size, self.has_units = size, has_units


class Batched(Interpreted):
    """An array of many members, which lie along the first axis of the payload.

    Without a run, the payload is the same for all members, and has no such axis. Of members
    that are scaled unit vectors, ``units`` says which.
    """

    __slots__ = ("units",)
    units: Units
    run: Members | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one member."""
        shape: tuple[int, ...] = self.payload.shape
        return shape if self.run is None else shape[1:]

    @property
    def ndim(self) -> int:
        """The number of axes of one member."""
        return len(self.payload.shape) - (self.run is not None)

    def __repr__(self) -> str:
        many = "the same for all members" if self.run is None else f"{self.run.size} members"
        return f"<array of shape {self.shape} and dtype {self.dtype}, {many}>"


class Batches(Interpretation):
    """A backend over another one whose arrays are of many members."""

    title = "vmap"
    array_class = Batched
    bare_rules = True

    def rule(self, op: Op) -> Callable[..., Any] | None:
        """Return an op's batching rule as a function of arrays; None if its program is run."""
        compute = batching_rule(op)
        if op.chapter == "data_type" and op.name != "astype":
            return self._facts(op)
        if compute is None and op.forward is not None:
            return None
        if op.parameters == ("x",) and op.rules and compute is not None and op.batch is None:
            return self._unary(op)
        if op.parameters == ("x1", "x2") and op.batch in (None, "elementwise") and compute:
            return self._binary(op, compute)
        function = self._bound(op, compute or _member_by_member(op))
        return self._reading(function) if op.reads else function

    def concrete(self, array: Any) -> Any:
        if array.run is not None:
            array.run.meet()
            raise BatchingError(
                "in vmap an array is many at once: no Python branch, loop or number can depend on "
                "its values; use xp.where in place of `if`, and give what is the same for all "
                "members as an argument with in_axes=None"
            )
        return super().concrete(array)

    def each_member(
        self, f: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        run: Members | None = None
        mapped = [self.run_of(each) is not None for each in arrays]
        for each, own in zip(arrays, mapped, strict=True):
            run = each.run.meet(run) if own else run
        if run is None:
            return super().each_member(f, arrays)
        payloads = [self.payload(each) for each in arrays]
        xp = self.functions(*payloads)
        rows = []
        with self._entered_below:
            for index in range(max(run.size, 1)):
                members = [
                    taken(xp, payload, index, run.size) if own else payload
                    for payload, own in zip(payloads, mapped, strict=True)
                ]
                rows.append(f(*members))
            found: list[Any] = []
            for column in zip(*rows, strict=True):
                if column[0] is None:
                    found.append(None)
                    continue
                there = at_home(self, column[0])
                xp = there.functions(*column)
                found.append(there.array_class(stacked(xp, column, run.size), run))
        return tuple(found)

    def gathered(self, gradient: Any, run: Run | None, of_all: Run | None) -> Any:
        """Return the gradients of all members, or their sum for what is the same for all."""
        payload = gradient.payload
        if of_all is None:
            return payload
        size, xp = of_all.meet().size, self.functions(payload)  # type: ignore[attr-defined]
        if run is None:
            same = gradient.run is None
            return payload * size if same else xp.sum(payload, axis=0, dtype=payload.dtype)
        return in_full(xp, size, payload) if gradient.run is None else payload

    def call(self, op: Call, inputs: tuple[Any, ...]) -> Call:
        """Return an op's call with the number of members, as hooks see it."""
        runs = [each.run for each in inputs if isinstance(each, Batched) and each.run]
        size = runs[0].size if runs else None
        return op if size is None else op.variant(f"{size} members", batch_size=size)

    # -- writes in place, by which filling an array step by step takes linear time -----------------

    def alone(self, x: Any) -> bool:
        """Return whether only ``x`` refers to its payload, and only that to its memory."""
        if getrefcount(x.payload) != ALONE or getweakrefcount(x.payload):
            return False
        if isinstance(x.payload, Variable):
            return not x.payload._is_view
        return self.below.backend.alone(x.payload)

    def copied(self, array: Any) -> Any:
        payload = array.payload
        if not isinstance(payload, Variable):
            payload = self.below.copy(payload)
        elif payload._is_view:
            domain = payload._domain
            payload = domain.Variable._make(domain.copy(payload._raw), payload._node)
        return self.array_class(payload, array.run)

    def put(self, x: Any, key: Any, value: Any) -> Any:
        """Write into ``x``: into its payload, or a copy of that if something else refers to it."""
        place = self._below(x, key, value) if self.alone(x) else None
        if place is None:
            written = self.set(x, key, value)
            x.payload, x.run = written.payload, written.run
        elif isinstance(x.payload, Variable):
            with self._entered_below:
                x.payload[place[0]] = place[1]
        else:
            x.payload = self.below.backend.put(x.payload, *place)
        if hasattr(x, "units"):
            del x.units
        return x

    def _reading(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let elements share no memory with the array that they are read from, as a scalar does."""

        def reading(x: Any, key: Any, /) -> Any:
            out = function(x, key)
            if type(out) is self.array_class is type(x) and not out.shape:
                payload = x.payload
                if isinstance(payload, Variable) or self.below.backend.alone(payload):
                    return self.copied(out)
            return out

        return reading

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        place = self._below(into, key, values) if self.alone(into) else None
        if place is None or any(isinstance(each, Variable) for each in (into.payload, place[1])):
            return super().scatter_add(into, key, values)
        into.payload = self.below.backend.scatter_add(into.payload, *place)
        return into

    def _below(self, x: Any, key: Any, value: Any) -> tuple[Any, Any] | None:
        """Return the payload's key and what belongs there, if that needs no batching rule."""
        payload, run = value, None
        if type(value) is self.array_class:
            payload, run = value.payload, value.run
        elif type(value) not in self.below.plain_types:
            return None
        if not is_basic(key) or (run is not None and x.run is None):
            return None
        if isinstance(payload, Variable) and not isinstance(x.payload, Variable):
            return None
        if x.run is None:
            return key, payload
        x.run.meet(run)
        key = key if isinstance(key, tuple) else (key,)
        if run is not None:  # its own axes are behind that of the members, as those of the part
            missing = x.ndim - len(payload.shape) + 1
            missing += sum(part is None for part in key)
            missing -= sum(isinstance(part, Integral) for part in key)
            if missing < 0:
                return None
            if missing:
                shape = (payload.shape[0], *(1,) * missing, *payload.shape[1:])
                payload = self.functions(payload).reshape(payload, shape)
        return (slice(None), *key), payload

    # -- rules as functions of arrays --------------------------------------------------------------

    def _unary(self, op: Op) -> Callable[..., Any]:
        """Return an element-wise function: the payloads' own."""
        array, function = self.array_class, attrgetter(op.name)
        raw = function(self.below.raw)

        def unary(x: Any, /) -> Any:
            if type(x) is not array:
                at = self.elsewhere(op.name, x)
                return at(x) if at else array(function(self.functions(x))(x))
            payload, run = x.payload, x.run
            if run is not None and run.returned:
                run.meet()
            if isinstance(payload, Variable):
                return array(function(self.below.namespace)(payload), run)
            return array(raw(payload), run)

        return unary

    def _binary(self, op: Op, compute: BatchingRule) -> Callable[..., Any]:
        """Return an element-wise function of two arrays; most often nothing has to be aligned."""
        array, function = self.array_class, attrgetter(op.name)
        raw, slow = function(self.below.raw), self._bound(op, compute)
        many = getattr(raw, "of_arrays", raw)  # see `inline`
        plain = PYTHON_SCALARS.union(self.below.array_types)
        multiplies = op.name == "multiply"

        def binary(x1: Any, x2: Any, /) -> Any:
            if type(x1) is array:
                p1, run, rank = x1.payload, x1.run, len(x1.payload.shape)
            elif type(x1) in plain:
                p1, run, rank = x1, None, len(getattr(x1, "shape", ()))
            else:
                return slow(x1, x2)
            if type(x2) is array:
                p2, other, rank2 = x2.payload, x2.run, len(x2.payload.shape)
            elif type(x2) in plain:
                p2, other, rank2 = x2, None, len(getattr(x2, "shape", ()))
            else:
                return slow(x1, x2)
            # The axes of what is the same for all members are behind that of the members.
            if run is not other:
                if run is None and rank < rank2:
                    run = other
                elif other is not None or rank2 >= rank:
                    return slow(x1, x2)
            elif run is not None and rank != rank2:
                return slow(x1, x2)
            if run is not None and run.returned:
                run.meet()
            if isinstance(p1, Variable) or isinstance(p2, Variable):
                return array(function(self.below.namespace)(p1, p2), run)
            out = array((many if rank or rank2 else raw)(p1, p2), run)
            if multiplies and run is not None and run.has_units:
                scale(self, out, x1, x2)
            return out

        return binary

    def _bound(self, op: Op, compute: BatchingRule) -> Callable[..., Any]:
        """Return a function that gives a rule the payloads, bound to the op's parameters."""
        names, same = Names.of(op), attrgetter(op.name)
        inputs, sequence, multiplies = op.arrays, op.sequence, op.name == "matmul"

        def computed(xp: Any, run: Members | None, mapped: Set[str], bound: Bound) -> Any:
            if run is None:
                return same(xp)(*bound.args, **bound.kwargs)
            return compute(xp, run.size, mapped, bound)  # type: ignore[arg-type]

        def function(*args: Any, **kwargs: Any) -> Any:
            bound = Bound(names, args, kwargs)
            run, mapped, xp = self._unwrapped(inputs, sequence, bound.arguments)
            if xp is None:
                return self.elsewhere(op.name, args, *kwargs.values())(*args, **kwargs)  # type: ignore[misc]
            if multiplies and run is not None and run.has_units:
                rows = product(self, *args)
                if rows is not None:
                    return rows
            if xp is self.below.raw:
                return self.wrapped(computed(xp, run, mapped, bound), run)
            # A raw array does not leave operators to Variables on every library.
            for name in inputs:
                value = bound.arguments.get(name)
                if isinstance(value, self.below.array_types):
                    bound.arguments[name] = self.below.wrap(value)
            # What is recorded is recorded below, and what rules make there is of that level.
            with self._entered_below:
                return self.wrapped(computed(xp, run, mapped, bound), run)

        return function

    def _facts(self, op: Op) -> Callable[..., Any]:
        """Return a function that looks only at dtypes."""

        def function(*args: Any, **kwargs: Any) -> Any:
            payloads = [self.payload(each) for each in args]
            return attrgetter(op.name)(self.functions(*payloads))(*payloads, **kwargs)

        return function

    def _unwrapped(
        self, inputs: Sequence[str], sequence: str | None, given: dict[str, Any]
    ) -> tuple[Members | None, Set[str], Any]:
        """Replace arrays by payloads; return the run, the inputs that are mapped, functions.

        There are no functions for arrays that are not for this level.
        """
        if sequence is not None or ("key" in given and has_arrays(given["key"])):
            return self._unwrapped_parts(inputs, sequence, given)
        array, recorded = self.array_class, False
        run: Members | None = None
        mapped = set()
        for name in inputs:  # most often: each is one array
            value = given.get(name)
            if type(value) is array:
                if value.run is not None:
                    run = value.run.meet(run)
                    mapped.add(name)
                given[name] = value = value.payload
            elif type(value) in derived and self.is_elsewhere(value):
                return run, mapped, None
            recorded = recorded or isinstance(value, Variable)
        return run, mapped, self.below.namespace if recorded else self.below.raw

    def _unwrapped_parts(
        self, inputs: Sequence[str], sequence: str | None, given: dict[str, Any]
    ) -> tuple[Members | None, Set[str], Any]:
        """Replace arrays by payloads, also those in lists and keys."""
        run: Members | None = None
        mapped, payloads = set(), []
        for name in (*inputs, "key") if "key" in given else inputs:
            for each in _arrays_in(given.get(name)):
                if type(each) is self.array_class:
                    payloads.append(each.payload)
                    if each.run is not None:
                        run = each.run.meet(run)
                        mapped.add(name)
                elif type(each) in derived and self.is_elsewhere(each):
                    return run, mapped, None
                else:
                    payloads.append(each)
        xp = self.functions(*payloads)
        for name in inputs:
            if name == sequence:
                given[name] = [self._member(xp, each, run) for each in given.get(name, ())]
            elif name in given:
                given[name] = self.payload(given[name])
        if "key" in given:
            given["key"] = self._key(xp, given["key"], run if "key" in mapped else None)
        return run, mapped, xp

    def _member(self, xp: Any, value: Any, run: Members | None) -> Any:
        """Return the payload of one of several arrays, mapped if any is."""
        payload = self.payload(value)
        if run is None or self.run_of(value) is not None or is_python_scalar(value):
            return payload
        return in_full(xp, run.size, payload)

    def _key(self, xp: Any, key: Any, run: Members | None) -> Any:
        """Return a key of payloads: if one of its arrays is mapped, all of them with an axis are.

        Then masks that are the same for all members are the indices that they select.
        """
        if isinstance(key, tuple):
            return tuple(
                [
                    each
                    for part in self._with_known_sizes(key)
                    for each in self._parts(xp, part, run)
                ]
            )
        return self._parts(xp, key, run)[0]

    def _parts(self, xp: Any, part: Any, run: Members | None) -> Sequence[Any]:
        if isinstance(part, slice):
            bounds = part.start, part.stop, part.step
            if any(type(bound) is self.array_class for bound in bounds):
                part = slice(*[b if b is None else b.__index__() for b in bounds])
            return (part,)
        if run is not None and isinstance(part, tuple | list):
            below = self.below.library
            part = below.asarray(part, dtype=None if part else below.int64)
        if isinstance(part, Integral) or not hasattr(part, "shape"):
            return (part,)
        if not isinstance(part, (self.array_class, *self._kinds)):
            part = self._of_another(part, run)
        payload = self.payload(part)
        if run is None or self.run_of(part) is not None:
            return (payload,)
        if is_mask(payload, xp):
            found = xp.nonzero(payload) if payload.ndim else (payload,)
            return found if not payload.ndim else [in_full(xp, run.size, each) for each in found]
        return (in_full(xp, run.size, payload),)

    def _with_known_sizes(self, key: tuple[Any, ...]) -> Iterator[Any]:
        """Yield a key's parts, with indices for masks if only their own library can count them."""
        unknown = len(key) > 1 and self.capabilities.unknown_shapes
        for part in key:
            foreign = not isinstance(part, (self.array_class, *self._kinds))
            if unknown and foreign and _is_mask(part) and part.shape:
                yield from domain_of(part).raw.nonzero(part)
            else:
                yield part

    def _of_another(self, part: Any, run: Members | None) -> Any:
        """Return another library's array in a key as one of this library, if rules need that.

        Libraries take indices as they are, and some know only so how many elements a mask selects.
        """
        backend = root_of(self.below).backend
        needed = run is not None or (_is_mask(part) and not self.capabilities.unknown_shapes)
        return backend.constant(part) if needed and backend.accepts(part) else part


def _is_mask(part: Any) -> bool:
    """Return whether a part of a key is another library's array of booleans."""
    return hasattr(part, "shape") and str(getattr(part, "dtype", "")) == "bool"


def _arrays_in(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for each in value:
            yield from _arrays_in(each)
    elif value is not None and not isinstance(value, bool | int | float | complex | slice | str):
        yield value


# -- the last resort -------------------------------------------------------------------------------


def _member_by_member(op: Op) -> BatchingRule:
    """Return the rule of an op that has none: it is computed for one member after the other."""
    function = attrgetter(op.name)

    def compute(xp: Any, size: int, mapped: Set[str], bound: Any) -> Any:
        warnings.warn(
            f"AGNOGRAD: {op.name} has no batching rule, and is computed for one member of vmap "
            "after the other. Its op set can declare one: batch=",
            BatchingWarning,
            stacklevel=levels_up(),
        )
        given, results = dict(bound.arguments), []
        for index in range(max(size, 1)):
            for name in mapped:
                bound.arguments[name] = taken(xp, given[name], index, size)
            results.append(function(xp)(*bound.args, **bound.kwargs))
        if isinstance(results[0], tuple | list):
            columns = zip(*results, strict=True)
            return rebuilt(results[0], [stacked(xp, column, size) for column in columns])
        return stacked(xp, results, size)

    return compute


def taken(xp: Any, payload: Any, index: int, size: int) -> Any:
    """Return the payload of one member."""
    if isinstance(payload, tuple | list):
        return [taken(xp, each, index, size) for each in payload]
    if size == 0:  # what shape results have, one that is made up says
        return xp.zeros(payload.shape[1:], dtype=payload.dtype)
    return payload[index, ...]


def stacked(xp: Any, members: Any, size: int) -> Any:
    """Return one payload of those of all members."""
    return xp.stack([xp.asarray(each) for each in members])[:size, ...]
