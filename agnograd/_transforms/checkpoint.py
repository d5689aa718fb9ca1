"""Checkpoints: the backward pass computes a function's values again, instead of keeping them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from agnograd._arrays.variable import Variable
from agnograd._arrays.views import View
from agnograd._engine.run import run_pass
from agnograd._graph.calls import Call, Pairs, Plan, Source
from agnograd._graph.nodes import (
    FIRST,
    OP,
    ByNode,
    Edge,
    Leaf,
    Node,
    Output,
    edges_of,
    forget,
    next_rank,
)
from agnograd._graph.paths import older
from agnograd._hooks.entering import entered, recording_since
from agnograd._hooks.state import current_mode, is_grad_enabled, set_mode
from agnograd._util.checks import callable_in
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import FreedGraphError, RuleError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain

F = TypeVar("F", bound=Callable[..., Any])


def checkpoint(f: F) -> F:
    """Return a version of ``f`` for which the graph keeps only the arguments.

    The backward pass runs ``f`` again, records it, and goes through that record. So the values
    inside ``f`` take no memory between the two passes, at the cost of a second forward run.
    Checkpoints may be nested. Variables that ``f`` uses besides its arguments also get gradients.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees of arrays. It must compute the same thing both times. It
        must not write to its arguments, or to other arrays that it uses.

    Returns
    -------
    callable
        Takes and returns what ``f`` does.

    Raises
    ------
    RuleError
        In the backward pass, if ``f`` now returns arrays of other shapes or dtypes.

    Examples
    --------
    >>> import agnograd as ag
    >>> @ag.checkpoint
    ... def layer(w, x):
    ...     return (w * x) ** 3
    >>> float(ag.grad(layer)(2.0, 3.0))
    324.0
    """
    callable_in("ag.checkpoint", f, "ag.checkpoint(f)(x), or @ag.checkpoint before a def")

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return _recorded(f, args, kwargs) if _puts_off() else f(*args, **kwargs)

    return checkpointed  # type: ignore[return-value]


def _puts_off() -> bool:
    """Return whether there is anything to put off: forward mode needs the values at once."""
    mode = current_mode()
    return is_grad_enabled() and (mode is None or mode.tape is None)


class Forgetful:
    """A recorder that lets every node forget what it saved."""

    def append(self, node: Node, out: Any) -> bool:
        """Free what a node has just saved; nobody else needs to be notified."""
        forget(node)
        return False

    def guard(self, node: Node) -> None:
        """Nobody will ask."""


def _recorded(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``f`` without keeping what it saves, and record the call as one node."""
    leaves, tree = flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
    inputs = [leaves[place] for place in places]
    run = Run(f, leaves, tree, places, [each._domain for each in inputs])
    start = next_rank()
    outputs, structure = _first_run(run, inputs)
    tracked = [
        place
        for place, out in enumerate(outputs)
        if isinstance(out, Variable) and out.requires_grad
    ]
    edges = sorted(older([outputs[place]._node for place in tracked], start))
    if not edges:
        return unflatten(structure, outputs)
    run.expect(tracked, outputs)
    node = _node(run, inputs, edges, outputs[tracked[0]]._domain)
    state = current_mode()
    if state is not None and state.watches:
        state.recorded(node, tuple(outputs[place]._raw for place in tracked))
    several = len(tracked) > 1
    for index, place in enumerate(tracked):
        out = outputs[place]
        end = Output(node, index, run.facts, out._domain) if several else node
        outputs[place] = out._domain.Variable._make(out._raw, end)
    return unflatten(structure, outputs)


def _first_run(run: Run, inputs: list[Variable]) -> tuple[list[Any], Any]:
    """Run a function and forget what it saves, unless it takes derivatives itself."""

    def plain() -> list[Variable]:
        # Views become plain Variables: what they show is an argument, their base is not.
        return [each._domain.Variable._make(each._raw, each._node) for each in inputs]

    outer = current_mode()
    try:
        try:
            with entered(recording=True, tape=Forgetful()):
                return run(plain())
        except FreedGraphError:
            with entered(recording=True):
                return run(plain())
    finally:
        set_mode(outer)


def _node(run: Run, inputs: list[Variable], edges: list[Edge], domain: Domain) -> Node:
    """Return the node of a checkpoint, which saves the arguments."""
    call = Call(getattr(run.f, "__name__", "checkpoint"), "checkpoint", domain)
    call.compiled.optional = True  # results may be on several backends: zeros would have to be, too
    call.compiled.backward = call.compiled.guarded = run.backward
    run.sources = tuple(
        edges.index(each._node) if each._node in edges else "constant" for each in inputs
    )
    call.saves(Plan(tuple(f"argument {place}" for place in run.places), run.sources))
    return [next_rank(), None, call, *(each._raw for each in inputs), *edges]


class Run:
    """A function and its arguments, to be run twice."""

    def __init__(
        self,
        f: Callable[..., Any],
        leaves: list[Any],
        tree: Any,
        places: list[int],
        domains: list[Domain],
    ) -> None:
        self.f = f
        # Of the arrays at these places: two backends may have arrays of one library.
        self.domains = domains
        # The node keeps the Variables' arrays, and frees them.
        self.leaves = [None if isinstance(leaf, Variable) else leaf for leaf in leaves]
        self.tree = tree
        self.places = places
        self.sources: tuple[Source, ...] = ()

    def __call__(self, variables: list[Any]) -> tuple[list[Any], Any]:
        """Run the function; return what it gives, as leaves and their structure."""
        filled = list(self.leaves)
        for place, variable in zip(self.places, variables, strict=True):
            filled[place] = variable
        args, kwargs = unflatten(self.tree, filled)
        outputs, structure = flatten(self.f(*args, **kwargs))
        for out in outputs:
            if isinstance(out, View):  # its last writes are the function's, too
                out.refresh()
        return outputs, structure

    def expect(self, tracked: list[int], outputs: list[Any]) -> None:
        """Note which results are differentiated, and what they look like."""
        self.tracked = tracked
        self.facts = [(outputs[place].shape, outputs[place].dtype) for place in tracked]

    def backward(self, g: Any, node: Node, xp: Any = None) -> Pairs:
        """Run the function again, and take the gradients through what it records."""
        create_graph = xp is not None
        edges, start = edges_of(node), next_rank()
        variables = self._inputs(node[FIRST : node[OP].first], edges)
        ends = [x._node for x in variables]  # the function may write to them
        with recording_since(start, also=edges):
            outputs, _ = self(variables)
        self._check(outputs)
        cotangents = g if len(self.tracked) > 1 else [g]
        seeds = [
            (outputs[place]._node, cotangent)
            for place, cotangent in zip(self.tracked, cotangents, strict=True)
            if outputs[place]._node is not None and cotangent is not None
        ]
        found = run_pass(
            seeds,
            targets=[edge for edge in (*edges, *ends) if edge is not None],
            create_graph=create_graph,
            retain_graph=create_graph,
            beyond=False,
        )
        return [(edge, self._gradient(found, i, edge, ends)) for i, edge in enumerate(edges)]

    def _inputs(self, saved: Sequence[Any], edges: Sequence[Edge | None]) -> list[Variable]:
        """Return the arguments, connected to what they were connected to.

        What a manager, or a pullback, takes for a constant has a leaf of its own in its place: it
        is needed for this pass, and for no other one.
        """
        state, variables = current_mode(), []
        kept = None if state is None else state.kept
        for value, source, domain in zip(saved, self.sources, self.domains, strict=True):
            raw = value._raw if isinstance(value, Variable) else value
            edge = edges[source] if isinstance(source, int) else None
            variable: Variable = domain.Variable._make(raw, edge)
            if edge is not None and kept is not None and kept(edge) == (None,):
                variable._node = Leaf.of(variable)
            variables.append(variable)
        return variables

    def _gradient(
        self, found: ByNode[Any], index: int, edge: Edge | None, ends: list[Edge | None]
    ) -> Any:
        """Return the gradient for an edge, and for the leaves that stand for it, or None."""
        if edge is None:
            return None
        g = found.of(edge)
        for end, source in zip(ends, self.sources, strict=True):
            if source == index and end is not edge and end is not None:
                part = found.of(end)
                g = part if g is None else g if part is None else g + part
        return g

    def _check(self, outputs: list[Any]) -> None:
        again = [
            (outputs[place].shape, outputs[place].dtype)
            for place in self.tracked
            if place < len(outputs) and isinstance(outputs[place], Variable)
        ]
        if again != self.facts:
            raise RuleError(
                f"{getattr(self.f, '__name__', 'a checkpointed function')} returned other arrays "
                f"when it was run again: {again} instead of {self.facts}; a checkpointed function "
                "must compute the same thing both times"
            )
