"""Compiled functions in graphs: ops whose backward is a compiled pullback."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

from agnograd import Function, Variable, vjp
from agnograd.extend.transforms import (
    Domain,
    behind_mask,
    leave_out,
    made_from,
    may_be_nan,
    rank_of,
)
from agnograd_compile._passes.partition import partition
from agnograd_compile._passes.passes import run as improved
from agnograd_compile._programs.program import Fact, Missed, Ref, TracedProgram
from agnograd_compile._recording import Recording, refused
from agnograd_compile._surroundings.keys import raw_of
from agnograd_compile._trace import Result, Traceable
from agnograd_compile._unit import Guarded, Runs, Unit

if TYPE_CHECKING:
    from agnograd_compile._compiled import CompiledFunction


def found_in(outside: Mapping[int, Any], arrays: Sequence[Any]) -> list[Any]:
    """Return arrays, with those from outside in their places."""
    return [outside.get(place, x) for place, x in enumerate(arrays)]


class GraphUnit(Unit):
    """A unit whose results are in a graph.

    One trace has both the function and its pullback. The forward part keeps what the backward part
    goes on from.

    Parameters
    ----------
    tracked : sequence of int
        The places of the arrays that have a gradient.
    """

    def __init__(
        self,
        owner: CompiledFunction,
        callee: Traceable,
        domain: Domain,
        tracked: Sequence[int],
        order: int = 0,
    ) -> None:
        super().__init__(owner, callee, domain, order)
        self.tracked = tuple(tracked)
        self._pullbacks: dict[tuple[tuple[int, ...], bool], Unit] = {}
        self.op: type[GraphCall] = type(f"compiled {owner.name}", (GraphCall,), {})

    def _way(self, arrays: Sequence[Any], ranks: Mapping[int, int]) -> Guarded:
        joint = Joint(self.callee, self.tracked)
        traced = self._traced(joint, arrays, ranks)
        parts = partition(improved(traced.program), joint.cotangents, joint.outputs)
        # Hooks see these steps as well: one part goes on from what the other one kept.
        forward = Runs(parts.forward, self._lowered(parts.forward), parts.forward)
        back = Back(parts.backward, self._lowered(parts.backward), parts.inputs, joint)
        return Guarded(traced, forward, back)

    def recorded(
        self, arrays: Sequence[Any], outside: Mapping[int, Any], ranks: Mapping[int, int]
    ) -> tuple[Guarded, Sequence[Variable]]:
        """Return the way that was taken, and the function's arrays.

        Those of ``arrays`` that are tracked are Variables.

        ``outside`` are the raw arrays that the function finds itself, by their places: it knows
        them by their identity. Variables may share one, and are told apart by the ``ranks`` of
        their nodes.
        """
        call = self.op(self, outside, ranks)
        outputs = list(call(*arrays))
        way = call.seen[0]
        for place in way.back.constants:
            outputs[place] = outputs[place].detach()
        return way, outputs

    def gradients(
        self,
        arrays: Sequence[Any],
        cotangents: Sequence[Any],
        outside: Mapping[int, Any],
        ranks: Mapping[int, int],
        masked: bool,
    ) -> Sequence[Any]:
        """Return the gradients of arrays, connected to what they are computed from.

        Of raw arrays, and of raw cotangents, they are raw as well. If cotangents are ``masked``, a
        zero in them may mean that nothing is asked.
        """
        given = [*arrays, *cotangents]
        tracked = tuple(
            place for place, x in enumerate(given) if isinstance(x, Variable) and x.requires_grad
        )
        unit = self._pullbacks.get((tracked, masked))
        if unit is None:
            callee = partial(pullback, self.callee, self.tracked, len(arrays), masked)
            of, order = (self.owner, callee, self.domain), self.order + 1
            unit = GraphUnit(*of, tracked, order) if tracked else Unit(*of, order)
            self._pullbacks[tracked, masked] = unit
        if isinstance(unit, GraphUnit):
            return unit.recorded(given, outside, ranks)[1]
        raw = list(map(raw_of, found_in(outside, given)))
        return unit(raw, ranks)[1]


class Back(Runs):
    """The backward part of a program.

    ``inputs`` are the places of the function's arrays that it takes; after them come what the
    forward part kept, and the cotangents.
    """

    def __init__(
        self, program: TracedProgram, run: Any, inputs: Sequence[int], joint: Joint
    ) -> None:
        super().__init__(program, run, program)
        self.inputs, self.outputs, self._inexact = inputs, joint.outputs, joint.inexact
        self.masks, self.constants, self.uses = joint.masks, joint.constants, joint.uses
        self.effects = any(step.effects for step in program.steps)
        self._warned = True  # while the function was traced: the first run is of the same values
        self._facts: list[Fact] = [program.facts[ref] for ref in joint.cotangents]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the gradients; NumPy warns of infinities once in the first call, as in others."""
        if not self._warned:
            return super().__call__(arrays)
        self._warned = False
        with self.program.domain.backend.quiet():
            return super().__call__(arrays)

    def cotangents(self, grads: Sequence[Any]) -> list[Any]:
        """Return those of results that have one, in the memory layout of these; None is for zeros.

        Programs are traced with that.
        """
        given = zip(compress(grads, self._inexact), self._facts, strict=True)
        return [self._cotangent(g, fact) for g, fact in given]

    def _cotangent(self, g: Any, fact: Fact) -> Any:
        domain, sizes = self.program.domain, fact.strides
        xp, raw = domain.raw, raw_of(g)
        if g is None:
            g = raw = xp.zeros(fact.shape, dtype=fact.dtype, device=fact.device)
        if sizes is None or domain.backend.strides(raw) == sizes:
            return g
        # A copy by rows of the axes in the order of their strides, seen in their own order.
        order = sorted(range(len(sizes)), key=lambda axis: -sizes[axis])
        rows = xp.permute_dims(raw, tuple(order))
        rows = xp.reshape(xp.reshape(rows, (-1,), copy=True), rows.shape)
        raw = xp.permute_dims(rows, tuple(map(order.index, range(len(sizes)))))
        return domain.Variable._make(raw, g._node) if isinstance(g, Variable) else raw


class GraphCall(Function, constant_attributes=True, pure=True, transparent=True):
    """One call of a compiled function in a graph, of which hooks see the steps."""

    def __init__(
        self, unit: GraphUnit, outside: Mapping[int, Any], ranks: Mapping[int, int]
    ) -> None:
        self.unit, self.outside, self.ranks = unit, outside, ranks
        self.seen: list[Guarded] = []
        self.kept: list[Any] = []

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Run the forward part."""
        # One that is an argument as well was copied, to tell the two apart in the graph.
        known = found_in(self.outside, arrays)
        way, found = self.unit(known, self.ranks)
        self.seen.append(way)
        count = way.back.outputs
        self.kept = found[count:]
        self.save(*arrays, masks=way.back.masks)
        return tuple(found[:count])

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Run the backward part, or record the gradients if they are to be differentiated."""
        return self._gradients(grads, masked=any(g is None for g in grads))

    def guarded_backward(self, xp: Any, *grads: Any) -> Any:
        """Run the backward part, where zeros may mean that nothing is asked."""
        return self._gradients(grads, masked=True)

    def _gradients(self, grads: Sequence[Any], masked: bool) -> tuple[Any, ...]:
        back: Back = self.seen[0].back
        cotangents = back.cotangents(grads)
        found: Sequence[Any] | None = None
        masked = masked and not back.effects  # which is guarded anyway
        waits = masked and self.unit.domain.backend.capabilities.lazy  # to know whether it is NaN
        if not waits and not any(isinstance(each, Variable) for each in grads):
            given = [self.saved[place] for place in back.inputs]
            try:
                found = back([*given, *self.kept, *cotangents])
            except Missed:  # a ``Function`` of the user's looks at gradients in its backward
                found = None
            # To look for NaN takes less time than to guard every product.
            if masked and found is not None and any(map(may_be_nan, found)):
                found = None
        if found is None:
            known = self.saved, cotangents, self.outside, self.ranks
            found = self.unit.gradients(*known, masked)
        gradients: list[Any] = [None] * len(self.saved)
        for place, gradient in compress(zip(self.unit.tracked, found, strict=True), back.uses):
            gradients[place] = gradient
        return tuple(gradients)


def pulled(
    callee: Traceable,
    run: Recording,
    arrays: Sequence[Variable],
    tracked: Sequence[int],
    masked: bool = False,
) -> tuple[Result, list[bool], Callable[[Sequence[Variable]], Sequence[Variable]]]:
    """Call a traceable function.

    Return its result, which arrays results are connected to, and the pullback of cotangents.

    If these are ``masked``, a zero in them may mean that nothing is asked. So they are where the
    function has effects, which a second pullback for zeros would repeat.
    """
    found: list[Result] = []
    ranks: list[int | None] = []

    def of_tracked(*given: Variable) -> list[Variable]:
        values = list(arrays)
        for place, value in zip(tracked, given, strict=True):
            values[place] = value
        ranks[:] = map(rank_of, given)
        found[:] = [callee(run, values)]
        if any(each.grad is not None for each in given):
            raise refused(
                "backward() inside the function adds to the gradient of an array from outside; "
                "use ag.grad or ag.vjp inside, or call backward() on what the function returns"
            )
        results = [each for each in found[0].arrays if each._domain.is_inexact(each.dtype)]
        return [*map(behind_mask, results)] if masked or run.effects else results

    _, pull = vjp(of_tracked, *[arrays[place] for place in tracked])
    ends = made_from(found[0].arrays)
    uses = [rank in ends for rank in ranks]
    return found[0], uses, lambda cotangents: pull(list(cotangents))


def pullback(
    callee: Traceable,
    tracked: Sequence[int],
    count: int,
    masked: bool,
    run: Recording,
    arrays: Sequence[Variable],
) -> Result:
    """Return the gradients of a traceable function.

    The arrays are the function's, ``count`` of them, and then a cotangent for each result of
    floating-point or complex dtype. If these are ``masked``, a zero may mean that nothing is asked.
    """
    *_, pull = pulled(callee, run, arrays[:count], tracked, masked)
    return Result([*pull(arrays[count:])], [], None)


class Joint:
    """A traceable function and its pullback in one run: values, and then gradients.

    Cotangents become inputs after those of the function, when it has returned.
    """

    def __init__(self, callee: Traceable, tracked: Sequence[int]) -> None:
        self.callee, self.tracked = callee, tuple(tracked)
        self.outputs = 0
        self.inexact: list[bool] = []  # which values have a cotangent
        self.masks = False  # whether elements of arguments are left out
        self.constants: list[int] = []  # the places of results that depend on no tracked array
        self.uses: list[bool] = []  # which tracked arrays results depend on
        self.cotangents: list[Ref] = []

    def __call__(self, run: Recording, arrays: Sequence[Variable]) -> Result:
        """Return values and gradients."""
        result, self.uses, pull = pulled(self.callee, run, arrays, self.tracked)
        self.constants = [i for i, each in enumerate(result.arrays) if each._node is None]
        self.outputs, self.masks = len(result.arrays), leave_out(result.arrays)
        domain, backend = arrays[0]._domain, run.traced
        given = []
        self.inexact = [domain.is_inexact(each.dtype) for each in result.arrays]
        for each, inexact in zip(result.arrays, self.inexact, strict=True):
            if inexact:
                one = backend.below.raw.ones_like(backend.below.backend.array(each._raw.payload))
                self.cotangents.append(run.input(one))
                array = backend.array_class(one, run, self.cotangents[-1])
                given.append(domain.Variable._make(array, None))
        return result._replace(arrays=[*result.arrays, *pull(given)])
