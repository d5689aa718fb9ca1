"""Forward mode through a graph: a run's pullback, transposed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of
from agnograd._arrays.levels import derived, highest
from agnograd._arrays.variable import Variable
from agnograd._codegen.products import behind_mask
from agnograd._engine.ends import owned
from agnograd._engine.run import run_pass
from agnograd._functions.runs import restoring
from agnograd._functions.sensitivity import irregular
from agnograd._graph.nodes import RANK, ByNode, Edge, Leaf, next_rank, raw_gradient
from agnograd._hooks.entering import apart_from, entered, recording_since
from agnograd._hooks.state import is_grad_enabled
from agnograd._transforms.passes import at_level, pass_at, zeros_of
from agnograd._transforms.trace import Trace


class Pushforward:
    """What takes tangents of a run's inputs to those of its outputs: its pullback, transposed.

    A pullback is linear in the cotangents. So it is recorded for some of them, and another pass
    transposes it: one set of rules serves both directions (Townsend, "A new trick for calculating
    Jacobian vector products", 2017).
    """

    @restoring
    def __init__(self, trace: Trace, outputs: Sequence[Variable]) -> None:
        self.trace = trace
        # Whether tangents depend on what was tracked before the run, as its results do.
        depends = trace.as_variables and is_grad_enabled()
        self.connects = depends and trace._depends_on_outside(outputs)
        self.start = start = next_rank()
        # What was recorded before is a constant, if nobody differentiates tangents with respect to
        # it. Then all that is recorded leads to the probes, and no push has to search it.
        self.alone = entered(recording=True, kept=partial(_newer, start))
        self.domains = dict.fromkeys(each._domain for each in (*trace.inputs, *outputs))
        self.lazy = any(domain.backend.capabilities.lazy for domain in self.domains)
        self.probes = [_probe(output) for output in outputs]
        seeds = [
            (output._node, probe)
            for output, probe in zip(outputs, self.probes, strict=True)
            if output._node is not None and probe._node is not None
        ]
        state = recording_since(start) if self.connects else self.alone
        with entered(hooks=False), state:  # of nobody's interest: only its graph is used
            found = self._run(seeds, targets=trace.nodes, create_graph=True, shows=False)
        self.gradients = [found.of(node) for node in trace.nodes]
        self.outputs = [output._here() for output in outputs]  # their graph is not needed again

    def __call__(
        self, tangents: Sequence[Variable | None], as_variables: bool = False
    ) -> list[Any]:
        """Return the tangents of the outputs; None stands for zeros.

        They are Variables if they are asked for as such, or if the arguments of the run had any.
        What a tangent of 0 leaves out is guarded, as behind a mask, only if there is NaN among the
        results, or if nobody can know yet.
        """
        for output in self.outputs[:1] if derived else ():
            level = highest(output._domain, tangents)
            if level is not output._domain:
                return self._pushed_at(level, tangents)
        as_variables = as_variables or self.trace.as_variables
        tracked = as_variables and is_grad_enabled() and any(map(_is_tracked, tangents))
        found = self._pushed(tangents, tracked, guarded=self.lazy)
        if not self.lazy and any(map(may_be_nan, found)):
            found = self._pushed(tangents, tracked, guarded=True)
        if not as_variables:
            return [each.data for each in found]
        return list(self.trace.out(found)) if self.connects and not tracked else found

    @restoring
    def _pushed(
        self, tangents: Sequence[Variable | None], tracked: bool, guarded: bool
    ) -> list[Variable]:
        create_graph = tracked or (self.connects and is_grad_enabled())
        ends = [probe._node for probe in self.probes]
        state, targets = self.alone, None
        if self.connects:
            state, targets = recording_since(self.start), [end for end in ends if end is not None]
        elif tracked:
            state = apart_from(each._node for each in self.gradients if each is not None)
        seeds = [
            (behind_mask(g._node) if guarded else g._node, t if create_graph else t._raw)
            for g, t in zip(self.gradients, tangents, strict=True)
            if g is not None and t is not None and g._node is not None
        ]
        with state:
            found = self._run(seeds, targets=targets, create_graph=create_graph)
        given = {id(each._raw): each._raw for each in tangents if each is not None}
        reached = [None if end is None else found.of(end) for end in ends]
        return [
            owned(zeros_of(output) if tangent is None else tangent, output._domain, given)
            for tangent, output in zip(reached, self.outputs, strict=True)
        ]

    @restoring
    def _pushed_at(self, level: Domain, tangents: Sequence[Variable | None]) -> list[Any]:
        """Return the tangents where those of inputs are of a level above: Variables of it."""
        ends = [probe._node for probe in self.probes]
        targets = [end for end in ends if end is not None]
        found: list[Variable] = []
        for guarded in (self.lazy, True):
            pairs = [
                (behind_mask(g._node) if guarded else g._node, t)
                for g, t in zip(self.gradients, tangents, strict=True)
                if g is not None and t is not None and g._node is not None
            ]
            with ExitStack() as stack:
                for domain in self.domains:
                    stack.enter_context(domain.backend.quiet())
                reached = pass_at(level, pairs, targets, self.connects)
            found = [
                at_level(level, None if end is None else reached.of(end), output)
                for end, output in zip(ends, self.outputs, strict=True)
            ]
            if guarded or not any(map(may_be_nan, found)):
                break
        return found

    def _run(self, seeds: Any, **asked: Any) -> ByNode[Any]:
        """Run a pass in which what rules compute, of the probes or with zeros, may be infinite."""
        with ExitStack() as stack:
            for domain in self.domains:
                stack.enter_context(domain.backend.quiet())
            return run_pass(seeds, retain_graph=True, **asked)


def _newer(start: int, *nodes: Edge | None) -> tuple[Edge | None, ...]:
    return tuple(None if node is None or node[RANK] > start else node for node in nodes)


def _probe(output: Variable) -> Variable:
    """Return a cotangent: irregular values, since rules may treat zeros, and only zeros, apart."""
    if not output._domain.is_inexact(output.dtype):
        return output._here()
    probe: Variable = output._domain.wrap(irregular(output._raw, output._domain))
    probe._node = leaf = Leaf.of(probe)
    leaf.alive = None  # no pass but a push leads to it, so that none has to tell it apart
    return probe


def may_be_nan(array: Any) -> bool:
    """Return whether there is NaN in an array, or nobody can know yet, since it is traced."""
    raw = raw_gradient(array)
    domain = domain_of(raw)
    try:
        inexact = domain.is_inexact(raw.dtype)
        return inexact and bool(domain.item(domain.raw.any(domain.raw.isnan(raw))))
    except TypeError:  # of a tracer in jax.jit
        return True


def _is_tracked(tangent: Variable | None) -> bool:
    return tangent is not None and tangent._node is not None
