"""An interpretation whose arrays know which unknowns each of their elements depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from agnograd.errors import BatchingError, InterpretationError, SparsityError
from agnograd.extend import Interpretation, Interpreted, Op, Run, domain_named
from agnograd.extend.arguments import parameters_of
from agnograd.extend.members import batching, batching_rule
from agnograd.extend.transforms import Bound, Domain, Names, bound_to, map_parts, root_of
from agnograd_sparse._dependence import (
    Applied,
    Input,
    Pattern,
    added,
    everything,
    kind_of,
    moved,
    unknown,
)
from agnograd_sparse._sets import Sets, host, union

_INSTEAD = (
    'use xp.where in place of `if`, or look for a pattern at these values only, with mode="local"'
)


class Search(Run):
    """One search for a pattern.

    Attributes
    ----------
    local : bool
        Whether the pattern is one at the values of the arguments only.
    choices : hash
        Of all values that decided the pattern.
    followed : set of type
        The classes of users' functions of which the derivative is searched.
    cotangents : int or None
        The first member of sets that stands for a cotangent of such a derivative.
    """

    error = SparsityError

    def __init__(self, local: bool) -> None:
        self.local, self.choices = local, hashlib.blake2b()
        self.followed: set[type] = set()
        self.cotangents: int | None = None

    def chose(self, value: Any) -> None:
        """Note an array on the host, or a fact, that decides the pattern."""
        shape = getattr(value, "shape", None)
        self.choices.update(repr(value if shape is None else shape).encode())
        if shape is not None:
            self.choices.update(value.tobytes())


class Dependent(Interpreted):
    """An array whose elements depend on sets of unknowns, or on none if these are None.

    If it belongs to a run, its values are other ones for other unknowns, even if it has no
    derivative.
    """

    __slots__ = ("sets",)
    sets: Sets | None
    run: Search | None

    def __init__(self, payload: Any, run: Run | None = None, sets: Sets | None = None) -> None:
        super().__init__(payload, run)
        self.sets = sets


class Dependences(Interpretation):
    """A backend over another one whose arrays know what their elements depend on."""

    title = "sparsity"
    array_class = Dependent

    def rule(self, op: Op) -> Callable[..., Any] | None:
        """Return what computes an op and its pattern."""
        find, compute = kind_of(op), super().rule(op)
        if not op.arrays or compute is None:
            return compute
        if find is not None or op.pattern is not None:
            return self._found(op, find, compute)
        has_rule = batching(op) == "rule"
        return self._computed(op, self._found(op, unknown, compute) if has_rule else None)

    def _found(
        self, op: Op, find: Pattern | None, compute: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Return what computes an op below, and finds its pattern by its kind or its program."""
        names = Names.of(op)
        selects = find is moved or find is added

        def function(*args: Any, **kwargs: Any) -> Any:
            out = compute(*args, **kwargs)
            results = [each for each in _parts(out) if type(each) is self.array_class]
            run = results[0].run if results else None
            if run is None:
                return out
            bound = Bound(names, args, kwargs)
            given = bound.arguments
            inputs = self._inputs(op, given)
            if find is None:
                if inputs or run.local:
                    self._as_program(op, bound, results)
                return out
            varying = {
                name: value  # of what decides which elements are taken
                for name, value in given.items()
                if selects and name not in op.rules and any(map(self._varies, _parts(value)))
            }
            if not run.local:
                self._check_shape(op, bound, varying)
            elif varying:
                for x in filter(self._varies, _parts([*varying.values()])):
                    run.chose(self._on_host(x.payload))
            elif op.pattern == "values":
                run.chose([each.shape for each in results])
            inexact = [self.below.is_inexact(each.dtype) for each in results]
            if inputs and any(inexact):
                known = run.local or not varying
                shapes = [tuple(each.shape) for each in results]
                payloads = {name: map_parts(self.payload, value) for name, value in given.items()}
                on_host = self._on_host if known else None
                call = Applied(op, names, payloads, inputs, shapes, on_host)
                for each, sets, has_derivative in zip(results, find(call), inexact, strict=True):
                    each.sets = sets if has_derivative else None
            return out

        return function

    def concrete(self, array: Any) -> Any:
        run: Search | None = array.run
        if run is not None and not run.meet().local:
            raise SparsityError(
                "ag.sparsity: a Python branch, loop or number depends on values of the arguments, "
                f"so that the pattern is another one for others; {_INSTEAD}"
            )
        found = super().concrete(array)
        if run is not None:
            first, sets = run.cotangents, array.sets
            if first is not None and sets is not None and (sets.members >= first).any():
                raise SparsityError("ag.sparsity: a derivative looks at values of a cotangent")
            run.chose(root_of(self.below).backend.to_host(found))
        return found

    def gathered(self, gradient: Any, run: Any, of_all: Any) -> Any:
        return gradient.payload

    def moved(self, array: Any, payload: Any, there: Domain) -> Any:
        out = super().moved(array, payload, there)
        out.sets = array.sets
        return out

    def each_member(
        self, f: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Call a function that cannot be interpreted: all may depend on all."""
        found = super().each_member(f, arrays)
        every = _everything(arrays, [x for x in found if type(x) is self.array_class])
        return tuple(self._with_sets(found, every))

    def by_backward(
        self, backward: Callable[..., Any] | None, inputs: Sequence[Any], out: Any
    ) -> Any:
        """Return what a user's function gave, with the pattern of its own derivative."""
        runs = [run for x in inputs if (run := self.run_of(x)) is not None]
        if not runs:
            return out

        def of_run(x: Any) -> Any:  # what it returns may be the same for all values of its inputs
            return self.array_class(x.payload, runs[0], x.sets) if type(x) is kind else x

        kind, found = self.array_class, None
        out = map_parts(of_run, out)
        results = [x for x in _parts(out) if type(x) is kind]
        if backward is not None and any(getattr(x, "sets", None) for x in inputs):
            found = self._followed(runs[0], backward, inputs, results)
        found = _everything(inputs, results) if found is None else found
        if isinstance(out, tuple | list):
            return type(out)(self._with_sets(out, found))
        return next(self._with_sets([out], found))

    def _followed(
        self,
        run: Search,
        backward: Callable[..., Any],
        inputs: Sequence[Any],
        results: Sequence[Any],
    ) -> list[Sets | None] | None:
        """Return the sets of a user's function by its ``backward``; None if it does not show them.

        It may look at values of cotangents, as what another library computes of them does, call the
        function again, as that of a linear solve does, or be recorded outside.
        """
        function = type(getattr(backward, "__self__", backward))
        if function in run.followed:
            return None
        run.followed.add(function)
        outer, run.cotangents = run.cotangents, _first_free(inputs)
        try:
            return _transposed(
                backward, domain_named(self.name).raw, inputs, results, run.cotangents
            )
        except (SparsityError, InterpretationError):
            return None
        finally:
            run.followed.discard(function)
            run.cotangents = outer

    def _with_sets(self, values: Sequence[Any], sets: Sequence[Sets | None]) -> Iterator[Any]:
        """Yield values; the arrays among them that have derivatives also have these sets."""
        each = iter(sets)
        for value in values:
            if type(value) is not self.array_class:
                yield value
                continue
            more = next(each)
            if more is not None and self.below.is_inexact(value.dtype):
                parts = [more] if value.sets is None else [more, value.sets]
                value = self.array_class(value.payload, value.run, union(parts))
            yield value

    def _varies(self, x: Any) -> bool:
        return type(x) is self.array_class and x.run is not None

    # -- one op ------------------------------------------------------------------------------------

    def _inputs(self, op: Op, given: Mapping[str, Any]) -> list[Input]:
        """Return the inputs that a derivative of the results may be taken by."""
        found = []
        for name in op.differentiable:
            rule = op.rules.get(name)
            if rule is not None and type(rule.function) is int and rule.function == 0:
                continue
            values = given.get(name)
            listed = values if isinstance(values, list | tuple) else [values]
            for place, x in enumerate(listed):
                if type(x) is self.array_class and x.sets is not None:
                    found.append(Input(name, place, tuple(x.shape), x.sets))
        return found

    def _computed(self, op: Op, otherwise: Callable[..., Any] | None) -> Callable[..., Any]:
        """Return what computes an op by its program of other ops, whose results have its pattern.

        If none of these depends on the inputs, though the op has a derivative, nothing is known of
        it: the program may leave arrays to another library, or its derivative is a substitute.
        ``otherwise`` computes the op where the program looks at values, or calls functions of a
        library that do not know these arrays.
        """
        names = Names.of(op)

        def function(*args: Any, **kwargs: Any) -> Any:
            program = bound_to(op.forward, xp=domain_named(self.name).raw, backend=self)  # type: ignore[arg-type]
            try:
                out = program(*args, **kwargs)
            except Exception:
                if otherwise is None:
                    raise
                return otherwise(*args, **kwargs)  # which raises what is wrong with the arguments
            given = Bound(names, args, kwargs).arguments
            inputs = self._inputs(op, given)
            if not inputs or any(getattr(x, "sets", None) is not None for x in _parts(out)):
                return out
            runs = map(self.run_of, _parts([*given.values()]))
            run = next(each for each in runs if each is not None)

            def dependent(x: Any) -> Any:
                x = self.array_class(x, run) if isinstance(x, self._kinds) else x
                if type(x) is self.array_class and self.below.is_inexact(x.dtype):
                    (sets,) = everything(inputs, [tuple(x.shape)])
                    return self.array_class(x.payload, run, sets)
                return x

            return map_parts(dependent, out)

        return function

    def _as_program(self, op: Op, bound: Bound, results: Sequence[Dependent]) -> None:
        """Give the results the pattern of the program that the op names."""
        program: Any = op.pattern
        given = [domain_named(self.name).raw] if parameters_of(program)[:1] == ("xp",) else []
        with self.quiet():
            out = program(*given, *bound.args, **bound.kwargs)
        for each, like in zip(results, _parts(out), strict=True):
            if self.below.is_inexact(each.dtype):
                each.sets = getattr(like, "sets", None)

    def _check_shape(self, op: Op, bound: Bound, varying: Mapping[str, Any]) -> None:
        """Raise if the shape of a result depends on values of the unknowns: ``vmap`` knows it."""
        batch = batching_rule(op) if varying or op.pattern == "values" else None
        if batch is None:
            return
        kept = dict(bound.arguments)
        mapped = {*varying} or {*op.arrays} & {*kept}
        payloads: list[Any] = []

        def payload(value: Any) -> Any:
            payloads.append(self.payload(value))
            return payloads[-1]

        def member(value: Any) -> Any:
            found = payload(value)
            own = type(value) is self.array_class
            return self.functions(found).expand_dims(found, axis=0) if own else found

        for name, value in kept.items():
            bound.arguments[name] = map_parts(member if name in mapped else payload, value)
        try:
            batch(self.functions(*payloads), 1, mapped, bound)  # type: ignore[arg-type]
        except BatchingError as error:
            raise SparsityError(
                f"ag.sparsity: the shape of what {op.name} returns depends on values of the "
                f"arguments, so that the pattern is another one for others; {_INSTEAD}"
            ) from error
        finally:
            bound.arguments.update(kept)

    def _on_host(self, value: Any) -> Any:
        """Return an argument of an op with payloads on the host in place of arrays."""

        def on_host(part: Any) -> Any:
            if not isinstance(part, self._kinds):
                return part
            found = Interpretation.concrete(self, self.array_class(part))
            return root_of(self.below).backend.to_host(found)

        return map_parts(on_host, value)


def _everything(inputs: Sequence[Any], results: Sequence[Any]) -> list[Sets | None]:
    """Return the sets of results that may depend on all elements of all inputs."""
    parts = [each for each in inputs if getattr(each, "sets", None) is not None]
    if not parts:
        return [None for _ in results]
    listed = [Input("", i, tuple(x.shape), x.sets) for i, x in enumerate(parts)]
    return [*everything(listed, [tuple(each.shape) for each in results])]


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, slice):
        value = value.start, value.stop, value.step
    if isinstance(value, tuple | list):
        for each in value:
            yield from _parts(each)
    else:
        yield value


def _first_free(inputs: Sequence[Any]) -> int:
    """Return the least number that is greater than all members of the sets of inputs."""
    known = [x.sets.members for x in inputs if getattr(x, "sets", None) is not None]
    return 1 + max([int(host().max(each)) for each in known if each.shape[0]], default=-1)


def _transposed(
    backward: Callable[..., Any],
    xp: Any,
    inputs: Sequence[Any],
    results: Sequence[Any],
    first: int,
) -> list[Sets | None]:
    """Return the sets of results by what gives gradients: which cotangents these depend on.

    ``first`` is the first member that stands for one.
    """
    kind = type(results[0])
    grads, total = [], first
    for each in results:
        size = prod(each.shape)
        grads.append(kind(each.payload, each.run, Sets.own(size, total)))
        total += size
    found = backward(xp, *grads)
    gradients = [*found] if isinstance(found, tuple | list) else [found]
    elements, members = [host().zeros(0, dtype=host().int64)] * 2
    for x, gradient in zip(inputs, gradients, strict=True):
        if getattr(x, "sets", None) is None or getattr(gradient, "sets", None) is None:
            continue
        there = gradient.sets.members >= first
        places = gradient.sets.elements[there]  # in x, of what the result depends on
        sets = x.sets.taken(places)
        of_results = gradient.sets.members[there] - first
        elements = host().concat([elements, host().repeat(of_results, sets.lengths)])
        members = host().concat([members, sets.members])
    every = Sets.of_pairs(elements, members, total - first)
    parts, start = [], 0
    for each in results:
        size = prod(each.shape)
        parts.append(every.taken(host().arange(start, start + size)))
        start += size
    return [*parts]
