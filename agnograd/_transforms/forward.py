"""Forward mode: the pullback of a run, transposed.

A pullback is linear in the cotangents: it is the transpose of what tangents need. So it is recorded
for some cotangents, and transposed by another pass: one set of rules serves both directions
(Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._engine.run import run_pass
from agnograd._graph.nodes import RANK, ByNode, Edge, Leaf, domain_at, next_rank
from agnograd._hooks.entering import entered, recording_since
from agnograd._transforms.runs import restoring
from agnograd._transforms.sensitivity import irregular


class Pushforward:
    """What carries tangents from some nodes to what depends on them.

    ``connects`` says whether tangents are Variables, connected to all that they depend on.
    """

    def __init__(self, nodes: Sequence[Edge], outputs: Sequence[Variable], connects: bool) -> None:
        self.connects = connects
        self.start = next_rank()
        self.domains = dict.fromkeys([*map(domain_at, nodes), *(out._domain for out in outputs)])
        self.probes = [_probe(output) for output in outputs]
        seeds = [
            (output._node, probe)
            for output, probe in zip(outputs, self.probes, strict=True)
            if output._node is not None and probe is not None
        ]
        found = self._run(seeds, nodes, create_graph=True)
        self.gradients = [found.of(node) for node in nodes]

    def __call__(self, tangents: Sequence[Variable | None]) -> list[Any]:
        """Return the tangent of each output, or None; None stands for zeros."""
        seeds = [
            (g._node, t if self.connects else t._raw)
            for g, t in zip(self.gradients, tangents, strict=True)
            if g is not None and t is not None and g._node is not None
        ]
        targets = [probe._node for probe in self.probes if probe is not None]
        found = self._run(seeds, targets, self.connects)
        return [None if probe is None else found.of(probe._node) for probe in self.probes]

    @restoring
    def _run(
        self, seeds: Sequence[Any], targets: Sequence[Edge], create_graph: bool
    ) -> ByNode[Any]:
        """Run a pass; what was recorded before is a constant, if nobody differentiates tangents."""
        state = recording_since(self.start)
        if not self.connects:
            state = entered(recording=True, kept=partial(_newer, self.start))
        with ExitStack() as stack, state:
            for domain in self.domains:  # what rules compute of the probes may be infinite
                stack.enter_context(domain.backend.quiet())
            return run_pass(seeds, targets=targets, create_graph=create_graph, retain_graph=True)


def _newer(start: int, *nodes: Edge | None) -> tuple[Edge | None, ...]:
    return tuple(None if node is None or node[RANK] > start else node for node in nodes)


def _probe(output: Variable) -> Any:
    """Return a cotangent: irregular values, since rules may treat zeros, and only zeros, apart."""
    domain = output._domain
    if not domain.is_inexact(output.dtype):
        return None
    values = irregular(output.shape, output.dtype, output.device, domain)
    probe: Variable = domain.Variable._make(values, None)
    probe._node = Leaf.of(probe)
    return probe
