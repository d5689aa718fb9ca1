"""Checkpoints: what a function computes is computed again in the backward pass, and not kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from agnograd._call import Pairs, SharedCall, Source
from agnograd._engine import run_pass
from agnograd._graph import (
    FIRST,
    OP,
    Edge,
    Node,
    Output,
    edges_of,
    forget,
    next_rank,
)
from agnograd._mode import current_mode, enable_grad, entered, is_grad_enabled
from agnograd._paths import older
from agnograd._trees import flatten, unflatten
from agnograd._variable import Variable
from agnograd._views import View
from agnograd.errors import RuleError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["checkpoint"]

F = TypeVar("F", bound=Callable[..., Any])


def checkpoint(f: F) -> F:
    """Return ``f``, but so that the graph keeps its arguments alone.

    The backward pass runs ``f`` once more, records it, and goes through that record. So the values
    inside of ``f`` take no memory between the two, at the cost of a second forward run. Checkpoints
    may be nested, and what ``f`` uses besides its arguments gets its gradient, too.

    Parameters
    ----------
    f : callable
        A function of arrays, and of pytrees of them. It must compute the same thing both times,
        and must not write to its arguments or to what it uses besides them.

    Returns
    -------
    callable
        Takes and returns what ``f`` does.

    Raises
    ------
    RuleError
        In the backward pass, if ``f`` then returns arrays of other shapes or dtypes.

    Examples
    --------
    >>> import agnograd as ag
    >>> @ag.checkpoint
    ... def layer(w, x):
    ...     return (w * x) ** 3
    >>> float(ag.grad(layer)(2.0, 3.0))
    324.0
    """

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        mode = current_mode()
        # In forward mode the values are needed at once: there is nothing to put off.
        if not is_grad_enabled() or (mode is not None and mode.tape is not None):
            return f(*args, **kwargs)
        return _recorded(f, args, kwargs)

    return checkpointed  # type: ignore[return-value]


class Forgetful:
    """A recorder that lets every node forget what it saved."""

    def append(self, node: Node, out: Any) -> bool:
        """Free what a node has just saved; nobody else needs to hear of it."""
        forget(node)
        return False


def _recorded(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``f`` without keeping what it saves, and record the call as one node."""
    leaves, tree = flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
    inputs = [leaves[place] for place in places]
    run = Run(f, leaves, tree, places, [each._domain for each in inputs])
    # Views become plain Variables: what they show is an argument, their base is not.
    plain = [each._domain.Variable._make(each._raw, each._node) for each in inputs]
    start = next_rank()
    with entered(recording=True, tape=Forgetful()):
        outputs, structure = run(plain)
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


def _node(run: Run, inputs: list[Variable], edges: list[Edge], domain: Domain) -> Node:
    """Return the node of a checkpoint, which saves the arguments."""
    call = SharedCall(getattr(run.f, "__name__", "checkpoint"), "checkpoint", domain, single=True)
    call.optional = True  # results may be on several backends: zeros would have to be, too
    call.backward = call.guarded = run.backward
    run.sources = tuple(
        edges.index(each._node) if each._node in edges else "constant" for each in inputs
    )
    call.saves([f"argument {place}" for place in run.places], run.sources)
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
                out._refresh()
        return outputs, structure

    def expect(self, tracked: list[int], outputs: list[Any]) -> None:
        """Note which results are differentiated, and what they look like."""
        self.tracked = tracked
        self.facts = [(outputs[place].shape, outputs[place].dtype) for place in tracked]

    def backward(self, g: Any, node: Node, xp: Any = None) -> Pairs:
        """Run the function again, and take the gradients through what it records."""
        create_graph = xp is not None
        edges = edges_of(node)
        with enable_grad():
            outputs, _ = self(self._inputs(node[FIRST : node[OP].first], edges))
        self._check(outputs)
        cotangents = g if len(self.tracked) > 1 else [g]
        seeds = [
            (outputs[place]._node, cotangent)
            for place, cotangent in zip(self.tracked, cotangents, strict=True)
            if outputs[place]._node is not None and cotangent is not None
        ]
        found = run_pass(
            seeds,
            targets=[edge for edge in edges if edge is not None],
            create_graph=create_graph,
            retain_graph=create_graph,
            beyond=False,
        )
        return [(edge, None if edge is None else found.of(edge)) for edge in edges]

    def _inputs(self, saved: Sequence[Any], edges: Sequence[Edge | None]) -> list[Variable]:
        return [
            value
            if isinstance(value, Variable)
            else domain.Variable._make(value, edges[source] if isinstance(source, int) else None)
            for value, source, domain in zip(saved, self.sources, self.domains, strict=True)
        ]

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
