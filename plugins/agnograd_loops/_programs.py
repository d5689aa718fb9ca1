"""Loops and branches as steps of a program, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import agnograd as ag
from agnograd import Function, Variable, is_grad_enabled
from agnograd.extend import device_of, is_tracked
from agnograd.extend.members import each_member
from agnograd.extend.transforms import (
    apart,
    behind_mask,
    current_mode,
    domain_of,
    highest,
)
from agnograd_loops._schedule import slots_for, states_backward

Arrays = Sequence[Any]


def program_around(leaves: Arrays) -> bool:
    """Return whether what is computed with arrays becomes steps of a program."""
    mode = current_mode()
    level = None if mode is None else mode.level
    return level is not None and level.backend.traces and highest(level, leaves) is level


def compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that a program calls as one of its own, lowered as the program is."""
    from agnograd_compile.lowering import lowering_around  # few programs need it

    # A function of users may use arrays of the program around it, and cannot be called as it is.
    return ag.compile(f, lowering=lowering_around(), watch=False, programs=2**31)


def called(function: Differentiable, arrays: Arrays) -> tuple[Any, ...]:
    """Call a function with a derivative of its own; without a graph, if nothing is tracked."""
    if is_grad_enabled() and any(map(is_tracked, arrays)):
        return tuple(function.recorded()(*arrays))
    found = function.everywhere([raw(x) for x in arrays])
    if not any(isinstance(x, Variable) for x in arrays):
        return found
    return tuple(domain_of(x).Variable._make(x, None) for x in found)


class Body:
    """A function of arrays that returns a tuple of arrays, and what is known of them.

    Attributes
    ----------
    f : callable
        The function. It takes what is carried from one iteration to the next, an element of what it
        goes over, and what it uses from outside; it returns what is carried on, and the rest.
    carry, xs, outside : int
        How many arrays it takes of each kind.
    asked : list of int
        The places of the arguments that have a derivative.
    results : list of (shape, dtype) or None
        What the results look like, None for those that have no derivative.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        counts: tuple[int, int, int],
        asked: list[int],
        results: list[Any],
    ) -> None:
        self.f, self.asked, self.results = f, asked, results
        self.carry, self.xs, self.outside = counts
        self.given = [place for place, fact in enumerate(results) if fact is not None]
        # As a program, which is the same for all iterations.
        self.compiled = compiled(f)
        self.is_traced = False
        self._reversed: dict[bool, Body] = {}

    def parts(self, arrays: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """Return the carry, the arrays to go over, and what is used from outside."""
        carry, inner = self.carry, self.carry + self.xs
        return arrays[:carry], arrays[carry:inner], arrays[inner:]

    def kinds(self) -> tuple[list[int], list[int], list[int]]:
        """Return the arguments that have a derivative: of the carry, the xs, and from outside."""
        inner = self.carry + self.xs
        return (
            [place for place in self.asked if place < self.carry],
            [place for place in self.asked if self.carry <= place < inner],
            [place for place in self.asked if place >= inner],
        )

    def pulled(self, f: Any, cotangents: Arrays, arrays: Arrays, masked: bool) -> list[Any]:
        """Return the gradients of those arguments that have one, of a function with such arguments.

        If the cotangents, of the results that have one, are ``masked``, a zero in them may mean
        that nothing is asked.
        """

        def of(*some: Any) -> list[Any]:
            values = [*arrays]
            for place, value in zip(self.asked, some, strict=True):
                values[place] = value
            out = f(*values)
            found = [out[place] for place in self.given]
            return [*map(behind_mask, found)] if masked else found

        known = [arrays[place] for place in self.asked]
        if not known or not self.given:
            return [zeros_like(x) for x in known]
        return [*ag.vjp(of, *known)[1]([*cotangents])]

    def keeping(self, arrays: Arrays) -> Body:
        """Return a body with the carry before it among the results, for such arguments."""
        facts = facts_of(arrays[: self.carry])
        counts = self.carry, self.xs, self.outside
        f, count = self.f, self.carry
        return Body(lambda *x: (*f(*x), *x[:count]), counts, self.asked, self.results + facts)

    def backwards(self, arrays: Arrays, masked: bool) -> Body:
        """Return the body of the loop that goes back, for arguments like these.

        It carries the cotangents of the carry, and the sums of those of what is from outside. It
        goes over the carries before each iteration, the xs, and the cotangents of the rest.
        """
        known = self._reversed.get(masked)
        if known is not None:
            return known
        own, of_xs, outside = self.kinds()
        inner, sums = self.carry + self.xs, len(own) + len(outside)
        ys = len(self.given) - len(own)

        def back(*flat: Any) -> list[Any]:
            given = (*flat[sums : sums + inner], *flat[sums + inner + ys :])
            cotangents = (*flat[: len(own)], *flat[sums + inner : sums + inner + ys])
            pulled = self.pulled(self.f, cotangents, given, masked)
            found = dict(zip(self.asked, pulled, strict=True))
            before = zip(flat[len(own) : sums], outside, strict=True)
            added = [total + found[place] for total, place in before]
            return [*map(found.get, own), *added, *map(found.get, of_xs)]

        kinds = [*[True] * sums, *(place in self.asked for place in range(inner)), *[True] * ys]
        kinds += [place in self.asked for place in range(inner, inner + self.outside)]
        facts = facts_of([arrays[place] for place in (*own, *outside)])
        facts += [(x.shape[1:], x.dtype) for x in (arrays[place] for place in of_xs)]
        counts = sums, inner + ys, self.outside
        asked = [place for place, kind in enumerate(kinds) if kind]
        self._reversed[masked] = found = Body(back, counts, asked, facts)
        return found


class Differentiable(Function, constant_attributes=True, records_below=True):
    """What programs call as it is: ``run`` computes it, of raw arrays of a library."""

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the results."""
        raise NotImplementedError

    def recorded(self) -> Differentiable:
        """Return what is called instead where there is a graph."""
        return self

    def everywhere(self, arrays: Arrays) -> tuple[Any, ...]:
        """Return the results, for raw arrays of a library or of a level."""

        def below(*payloads: Any) -> tuple[Any, ...]:
            return called(self, payloads)

        return tuple(each_member(below, arrays, self.run))

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Compute the results."""
        self.save(*arrays)
        return self.everywhere(arrays)

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Return the gradients of the arguments."""
        return self.gradients(xp, grads, False)

    def guarded_backward(self, xp: Any, *grads: Any) -> Any:
        """Return them where a zero in a cotangent may mean that nothing is asked."""
        return self.gradients(xp, grads, True)

    def gradients(self, xp: Any, grads: Arrays, masked: bool) -> list[Any]:
        """Return the gradients of the arguments, None for those that have none."""
        raise NotImplementedError


class Call(Differentiable):
    """A function of arrays that a program calls as it is."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """Call the function, as if nothing were around it."""
        return tuple(map(raw, apart(self.body.f, *map(as_array, arrays))))

    def gradients(self, xp: Any, grads: Arrays, masked: bool) -> list[Any]:
        body, arrays, count = self.body, self.saved, len(self.body.given)

        def back(*flat: Any) -> list[Any]:
            return body.pulled(body.f, flat[:count], flat[count:], masked)

        given = filled(xp, body, grads, arrays)
        asked = [*range(count), *(count + place for place in body.asked)]
        facts = facts_of([arrays[place] for place in body.asked])
        found = called(Call(Body(back, (0, 0, 0), asked, facts)), (*given, *arrays))
        return spread(body.asked, found, len(arrays))


class Loop(Differentiable):
    """A loop: it takes the carry, arrays to go over, and what is used from outside."""

    body: Body
    checkpoint: Any
    count: int

    def place(self, number: int) -> int:
        """Return which element of the arrays an iteration goes over."""
        return number

    def repeated(self, arrays: Arrays, count: int, keeps: bool = False) -> list[Any]:
        """Return the last carry, and the rest of the results, of raw arrays or Variables.

        If it ``keeps`` them, the carries before each iteration come after these.
        """
        carry, xs, outside = self.body.parts(arrays)
        step, rest = self.body.compiled, [()] * count
        for number in range(count):
            place, before = self.place(number), carry if keeps else ()
            out = step(*carry, *[x[place, ...] for x in xs], *outside)
            carry, rest[place] = out[: len(carry)], (*out[len(carry) :], *before)
        return [*carry, *stacked(rest)]

    def pulled_again(
        self, xp: Any, grads: Arrays, arrays: Arrays, masked: bool, counted: Arrays = ()
    ) -> list[Any]:
        """Return the gradients of the arguments, where the carries are computed again.

        ``counted`` has the number of iterations, if that is not known before.
        """
        body, given = self.body, len(self.body.given)
        reverse = body.backwards(arrays, masked)

        def back(*flat: Any) -> list[Any]:
            cotangents, values = flat[:given], flat[given : given + len(arrays)]
            count = int(flat[-1]) if counted else self.count
            if any(map(is_tracked, flat)):
                return body.pulled(lambda *x: self.repeated(x, count), cotangents, values, masked)
            return self._pulled_back(reverse, cotangents, values, count)

        asked = [*range(given), *(given + place for place in body.asked)]
        call = Call(Body(back, (0, 0, 0), asked, facts_of([arrays[x] for x in body.asked])))
        flat = (*filled(xp, body, grads, arrays), *arrays, *counted)
        return spread(body.asked, called(call, flat), len(arrays))

    def _pulled_back(
        self, reverse: Body, cotangents: Arrays, arrays: Arrays, count: int
    ) -> list[Any]:
        body, (carry, xs, outside) = self.body, self.body.parts(arrays)
        own, _, of_outside = body.kinds()
        last = [*cotangents[: len(own)], *(zeros_like(arrays[place]) for place in of_outside)]
        of_xs: list[Any] = [()] * count

        def step(state: Arrays, number: int) -> Arrays:
            place = self.place(number)
            out: Arrays = body.compiled(*state, *[x[place, ...] for x in xs], *outside)
            return out[: body.carry]

        slots = slots_for(self.checkpoint, count)
        for number, state in states_backward(step, carry, count, slots):
            place = self.place(number)
            given = [x[place, ...] for x in (*xs, *cotangents[len(own) :])]
            out = reverse.compiled(*last, *state, *given, *outside)
            last, of_xs[place] = [*out[: len(last)]], out[len(last) :]
        return in_order(body, [*last, *stacked(of_xs)])


class Scan(Loop):
    """A loop of a known number of iterations.

    If it ``keeps`` them, the carries before each iteration come after the other results.
    """

    def __init__(
        self, body: Body, count: int, reverse: bool, checkpoint: Any = None, keeps: bool = False
    ) -> None:
        self.body, self.count, self.reverse, self.checkpoint = body, count, reverse, checkpoint
        self.keeps = keeps

    def recorded(self) -> Differentiable:
        """Return the same loop, which keeps carries if it has no checkpoints."""
        keeps = self.checkpoint is None
        return Scan(self.body, self.count, self.reverse, self.checkpoint, keeps)

    def place(self, number: int) -> int:
        """Return which element of the arrays an iteration goes over."""
        return self.count - 1 - number if self.reverse else number

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the last carry, and the rest of the results."""
        return tuple(apart(self.repeated, [*map(as_array, arrays)], self.count, self.keeps))

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Run the loop."""
        found = self.everywhere(arrays)
        self.save(*arrays, *found[len(self.body.results) :])
        return found

    def gradients(self, xp: Any, grads: Arrays, masked: bool) -> list[Any]:
        body, count = self.body, self.body.carry + self.body.xs + self.body.outside
        arrays, before = self.saved[:count], self.saved[count:]
        if self.checkpoint is not None:
            return self.pulled_again(xp, grads, arrays, masked)
        if any(g is not None for g in grads[len(body.results) :]):
            body = body.keeping(arrays)
        given, (own, _, outside) = filled(xp, body, grads, arrays, self.count), body.kinds()
        sums = [xp.zeros_like(arrays[place]) for place in outside]
        _, xs, rest = body.parts(arrays)
        loop = Scan(body.backwards(arrays, masked), self.count, not self.reverse)
        flat = (*given[: len(own)], *sums, *before, *xs, *given[len(own) :], *rest)
        return spread(body.asked, in_order(body, called(loop, flat)), count)


class While(Loop):
    """A loop that goes on while the last result of its body says so.

    The last of its arguments says whether there is a first iteration, and the last of its results
    is the number of iterations.
    """

    def __init__(self, body: Body, limit: int | None, checkpoint: Any = None) -> None:
        self.body, self.limit, self.checkpoint = body, limit, checkpoint

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the last carry and the number of iterations."""
        return apart(self._looped, *map(as_array, arrays))  # type: ignore[no-any-return]

    def _looped(self, *arrays: Any) -> tuple[Any, ...]:
        *values, going = arrays
        carry, _, outside = self.body.parts(values)
        step, count = self.body.compiled, 0
        if not going and not self.body.is_traced:  # now, as long as what it uses outside is there
            step(*carry, *outside)
        self.body.is_traced = True
        while going and count != self.limit:
            *carry, going = step(*carry, *outside)
            count += 1
        xp = domain_of(carry[0]).raw
        return (*carry, xp.asarray(count, dtype=xp.int64))

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Run the loop."""
        found = self.everywhere(arrays)
        self.save(*arrays[:-1], found[-1])
        return found

    def gradients(self, xp: Any, grads: Arrays, masked: bool) -> list[Any]:
        *arrays, count = self.saved
        return [*self.pulled_again(xp, grads, arrays, masked, (count,)), None]


# -- arrays, by their places ----------------------------------------------------------------------


def raw(x: Any) -> Any:
    """Return the raw array of a Variable; a raw array as it is."""
    return x.data if isinstance(x, Variable) else x


def as_array(x: Any) -> Any:
    """Return a raw array, also of a scalar of its library."""
    return domain_of(x).to_raw(x)


def facts_of(arrays: Arrays) -> list[Any]:
    """Return shapes and dtypes of arrays, None for those that have no derivative."""
    kinds = [domain_of(x).is_inexact(x.dtype) for x in arrays]
    return [(tuple(x.shape), x.dtype) if k else None for x, k in zip(arrays, kinds, strict=True)]


def inexact(arrays: Arrays) -> list[int]:
    """Return the places of arrays that have a derivative: of a floating-point or complex dtype."""
    return [place for place, fact in enumerate(facts_of(arrays)) if fact is not None]


def zeros_like(x: Any) -> Any:
    """Return zeros like a raw array or a Variable, which are the same in each run."""
    domain = domain_of(x)
    return (domain.namespace if isinstance(x, Variable) else domain.raw).zeros_like(x)


def filled(xp: Any, body: Body, grads: Arrays, arrays: Arrays, count: int = 0) -> list[Any]:
    """Return the cotangents of results that have one, with zeros in place of None.

    The rest of the results of a loop have ``count`` elements along their first axis.
    """
    found = []
    for place in body.given:
        g, (shape, dtype) = grads[place], body.results[place]
        if g is None:
            shape = (count, *shape) if place >= body.carry and count else shape
            g = xp.zeros(shape, dtype=dtype, device=device_of(raw(arrays[0])))
        found.append(g)
    return found


def in_order(body: Body, pulled: Arrays) -> list[Any]:
    """Return gradients in the order of the arguments: those of the xs come last."""
    own, of_xs, _ = body.kinds()
    count = len(body.asked)
    last = count - len(of_xs)
    return [*pulled[: len(own)], *pulled[last:count], *pulled[len(own) : last]]


def spread(places: Sequence[int], values: Arrays, count: int) -> list[Any]:
    """Return so many values, with those that are given in their places and None elsewhere."""
    found: list[Any] = [None] * count
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return found


def stacked(rows: Sequence[Arrays]) -> list[Any]:
    """Return the arrays of each column of rows, one behind the other."""
    if not rows or not rows[0]:
        return []
    domain = domain_of(rows[0][0])
    xp = domain.namespace if isinstance(rows[0][0], Variable) else domain.raw
    return [xp.stack(column) for column in zip(*rows, strict=True)]
