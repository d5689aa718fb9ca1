"""Checkpoints: the backward pass computes a function's values again, instead of keeping them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import copy
from itertools import islice
from typing import Any, TypeVar, cast

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import owner_of
from agnograd._arrays.levels import over, whole_over
from agnograd._arrays.variable import Variable
from agnograd._codegen.products import behind_mask
from agnograd._engine.run import run_pass
from agnograd._functions.policies import Keeping, Policy, Restoring, policy_in
from agnograd._functions.purity import fingerprint, variables_of
from agnograd._functions.runs import Prepared, restoring
from agnograd._graph.calls import Call, Pairs, Plan
from agnograd._graph.nodes import (
    FIRST,
    OP,
    Edge,
    Leaf,
    Node,
    Output,
    edges_of,
    forget,
    next_rank,
)
from agnograd._graph.paths import older
from agnograd._hooks.entering import entered, kept_now, recording_since
from agnograd._hooks.state import Recorder, current_mode, is_grad_enabled
from agnograd._util.checks import callable_in, is_variable
from agnograd._util.remaking import remade
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import FreedGraphError, RuleError

F = TypeVar("F", bound=Callable[..., Any])


@remade
def checkpoint(f: F, *, policy: Any = None) -> F:
    """Return a version of ``f`` for which the graph keeps only the arguments.

    The backward pass runs ``f`` again, records it, and goes through that record. So the values
    inside ``f`` take no memory between the two passes, at the cost of a second forward run.
    Checkpoints may be nested. Variables that ``f`` uses besides its arguments also get gradients.

    A policy names results that the graph also keeps: the second run takes them as they are, and
    does not compute the ops again that returned them.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees of arrays. It must compute the same thing both times. It
        must not write to its arguments, or to other arrays that it uses.
    policy : {"products"}, sequence of str, or callable, optional
        The results to keep. "products" are those of ops that sum products: ``matmul``, ``einsum``,
        convolutions, and the like, which take longer than others for the size of their results.
        Names are those that ``checkpoint_name`` gives values in ``f``. A function is called with
        each op (a ``Call``: ``name``, ``chapter`` and ``backend``), and returns whether to keep its
        result. By default nothing is kept. An ``ag.Function`` is always called again.

    Returns
    -------
    callable
        Takes and returns what ``f`` does.

    Raises
    ------
    ArgumentError
        If ``f`` is not a function, or ``policy`` is none of these.
    RuleError
        In the backward pass, if ``f`` now returns arrays of other shapes or dtypes, or, with a
        policy, computes other ops, or if an array that it uses was replaced or, where the backend
        can tell, written to.

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
    asked = policy_in(policy)

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return _called(f, args, kwargs, asked)

    return checkpointed  # type: ignore[return-value]


def _called(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], policy: Policy | None
) -> Any:
    mode = current_mode()
    while mode is not None and mode.tape is None:
        mode = mode.beneath
    # Forward mode, at any level, needs the values at once.
    if mode is not None or not is_grad_enabled():
        return f(*args, **kwargs)
    return Checkpoint(f, args, kwargs, is_variable).recorded(policy)


class _Forgetting(Recorder):
    """Frees what a node has just saved; nobody else needs to be notified.

    What a level records below stays: there the function is not run again.
    """

    def __init__(self, level: int, memo: Keeping | None) -> None:
        self.level, self.memo = level, memo

    def __call__(self, node: Node, out: Any, *call: Any) -> Node | None:
        if node[OP].domain.level < self.level:
            return node
        if self.memo is not None:
            self.memo.note(node)
        forget(node)
        return None


def _same(uses: list[tuple[Any, Any]], others: list[tuple[Any, Any]]) -> bool:
    """Return whether arrays are the same ones, with the same elements as far as that is known."""
    return len(uses) == len(others) and all(
        x is y and before == after for (x, before), (y, after) in zip(uses, others, strict=True)
    )


def _taken_over(x: Variable) -> Variable:
    """Return a Variable as one of the level that takes over all ops, if one stands on its own.

    Results belong there, too, also if the function calls no op.
    """
    level = whole_over(x._domain)
    return x if level is x._domain else cast("Variable", level.raised(x, True))


class Checkpoint(Prepared):
    """A function and its arguments, to be run twice; a node keeps the Variables among them."""

    # Of a checkpoint with a policy: the names of all ops in their order, and where the results
    # that are kept belong, with their structures. The results themselves are in the node.
    ops: Sequence[str] | None = None
    kept: Sequence[tuple[int, Any]] = ()

    def recorded(self, policy: Policy | None = None) -> Any:
        """Run the function without keeping what it saves, and record the call as one node."""
        inputs, before = [_taken_over(x) for x in self.take()], self._uses()
        start = next_rank()
        outputs, results = self._first(inputs, policy)
        # If they are not the same, the function itself writes to one.
        self.used = before if _same(before, self._uses()) else []
        # Which results are differentiated, and what they look like.
        self.tracked = [
            place
            for place, out in enumerate(outputs)
            if isinstance(out, Variable) and out.requires_grad
        ]
        tracked = [outputs[place] for place in self.tracked]
        edges = sorted(older([out._node for out in tracked], start))
        if edges:
            self.facts = [(out.shape, out.dtype) for out in tracked]
            node = self._node(inputs, results, edges, tracked[0]._domain)
            state = current_mode()
            if state is not None and state.watches:
                node = state.recorded(node, tuple(out._raw for out in tracked))
            for index, out in enumerate(tracked):
                end = Output(node, index, self.facts, out._domain) if len(tracked) > 1 else node
                outputs[self.tracked[index]] = out._domain.Variable._make(out._raw, end)
        return unflatten(self.structure, outputs)

    @restoring
    def _first(
        self, inputs: list[Variable], policy: Policy | None
    ) -> tuple[list[Any], dict[int, Any]]:
        """Run the function and forget what it saves, unless it takes derivatives itself.

        Return what it returned, and the results that the policy keeps.
        """

        def plain() -> list[Variable]:
            # Views become plain Variables: what they show is an argument, their base is not.
            return [each._domain.Variable._make(each._raw, each._node) for each in inputs]

        mode = current_mode()
        level = 0 if mode is None or mode.level is None else mode.level.level
        memo = None if policy is None else Keeping(policy)
        try:
            with entered(recording=True, tape=_Forgetting(level, memo), memo=memo):
                outputs = self(plain())
        except FreedGraphError:
            memo = None if policy is None else Keeping(policy)
            with entered(recording=True, memo=memo):
                outputs = self(plain())
        if memo is None:
            return outputs, {}
        self.ops = memo.ops
        return outputs, memo.kept

    def _node(
        self, inputs: list[Variable], results: dict[int, Any], edges: list[Edge], domain: Domain
    ) -> Node:
        # An input from a level below keeps what it is connected to there.
        inputs = [
            over(domain, x._domain).raised(x, True) if x._domain.level < domain.level else x
            for x in inputs
        ]
        # Two backends may have arrays of one library.
        self.domains = [each._domain for each in inputs]
        self.sources = tuple(
            edges.index(each._node) if each._node in edges else "constant" for each in inputs
        )
        call = Call(getattr(self.f, "__name__", "checkpoint"), "checkpoint", domain)
        if domain.level:  # of an interpretation
            backend: Any = domain.backend
            call = backend.call(call, tuple(each._raw for each in inputs))
        compiled = call.compiled
        compiled.optional = True  # results may be on several backends: zeros would have to be, too
        compiled.backward = self.backward
        compiled.guarded = functools.partial(self.backward, masked=True)
        names = [f"argument {place}" for place in self.places]
        kept, self.kept = [], []
        for place, result in results.items():
            arrays, structure = flatten(result)
            self.kept.append((place, structure))
            kept += arrays
        names += [f"result {index}" for index in range(len(kept))]
        call.saves(Plan(tuple(names), (*self.sources, *("constant" for _ in kept))))
        return [next_rank(), None, call, *(each._raw for each in inputs), *kept, *edges]

    def _uses(self) -> list[tuple[Any, Any]]:
        """Return the arrays that the function uses and the node does not keep, with marks."""
        variables = (value for _, value in variables_of(self.f))
        used = [x for x in (*self.leaves, *variables) if owner_of(x) is not None]
        # A hash, since many checkpoints may use an array, and each would keep its bytes.
        return [(x, None if isinstance(x, Variable) else hash(fingerprint(x))) for x in used]

    def backward(self, g: Any, node: Node, xp: Any = None, masked: bool = False) -> Pairs:
        """Run the function again, and take the gradients through what it records."""
        if self.used and not _same(self.used, self._uses()):
            raise RuleError(
                f"{self.name} uses an array that was written to or replaced since: write to a "
                "copy, or pass the array as an argument"
            )
        create_graph = xp is not None
        edges, start = edges_of(node), next_rank()
        cotangents = g if len(self.tracked) > 1 else [g]
        after = [each._raw if is_variable(each) else each for each in cotangents]
        saved = node[FIRST : node[OP].first]
        variables = self._inputs(saved[: len(self.places)], edges, after)
        memo = self._restored(saved[len(self.places) :])
        # Of arguments to which the pass goes on; the function may write to them.
        asked = [isinstance(at, int) and edges[at] is not None for at in self.sources]
        stand_ins = [x._node if on else None for x, on in zip(variables, asked, strict=True)]
        with recording_since(start, also=edges), entered(memo=memo):
            # The values themselves are not needed again.
            ends = self._ends(self._again(after)(variables))
        seeds = [
            (end, cotangent)
            for end, cotangent in zip(ends, cotangents, strict=True)
            if end is not None and cotangent is not None
        ]
        if masked:
            seeds = [(behind_mask(edge), cotangent) for edge, cotangent in seeds]
        found = run_pass(
            seeds,
            targets=[edge for edge in (*edges, *stand_ins) if edge is not None],
            create_graph=create_graph,
            retain_graph=create_graph,
            beyond=False,
        )
        pairs = []
        for index, edge in enumerate(edges):
            own = zip(self.sources, stand_ins, strict=True)
            nodes = [edge, *(end for at, end in own if at == index and end is not edge)]
            parts = [g for each in nodes if each and (g := found.of(each)) is not None]
            pairs.append((edge, sum(parts[1:], parts[0]) if parts else None))
        return pairs

    def _restored(self, saved: Sequence[Any]) -> Restoring | None:
        """Return what gives the second run the results that were kept."""
        if self.ops is None:
            return None
        arrays = iter([each._raw if isinstance(each, Variable) else each for each in saved])
        kept = {
            place: unflatten(structure, islice(arrays, structure.num_leaves))
            for place, structure in self.kept
        }
        return Restoring(self.name, self.ops, kept)

    def _inputs(
        self, saved: Sequence[Any], edges: Sequence[Edge | None], after: list[Any]
    ) -> list[Variable]:
        """Return the arguments, connected to what they were connected to.

        What a manager, or a pullback, takes for a constant has a leaf of its own in its place: it
        is needed for this pass, and for no other one.
        """
        kept, variables = kept_now(), []
        for value, source, domain in zip(saved, self.sources, self.domains, strict=True):
            edge, raw = edges[source] if isinstance(source, int) else None, value
            if isinstance(value, Variable):  # under create_graph: connected also off the pass's way
                raw, edge = value._raw, edge or value._node
            raw = domain.backend.again(raw, after, kept=edge is not None)
            variable: Variable = domain.Variable._make(raw, edge)
            if edge is not None and kept is not None and kept(edge) == (None,):
                variable._node = Leaf.of(variable)
            variables.append(variable)
        return variables

    def _again(self, after: list[Any]) -> Checkpoint:
        """Return what runs the function again, on arguments of a lazy library that are new."""
        run, owners = copy(self), map(owner_of, self.leaves)
        run.leaves = [
            x if domain is None else domain.backend.again(x, after, kept=False)
            for x, domain in zip(self.leaves, owners, strict=True)
        ]
        return run

    def _ends(self, outputs: list[Any]) -> list[Edge | None]:
        """Return the nodes of the results that are differentiated, which must be as before."""
        again = [
            (outputs[place].shape, outputs[place].dtype)
            for place in self.tracked
            if place < len(outputs) and isinstance(outputs[place], Variable)
        ]
        if again != self.facts:
            raise RuleError(
                f"{self.name} returned other arrays when it was run again: {again} instead of "
                f"{self.facts}; a checkpointed function must compute the same thing both times"
            )
        return [outputs[place]._node for place in self.tracked]
