"""Forward mode that keeps no graph: a tangent goes along with each value.

While the function runs, each op that is recorded pushes tangents at once. Then a ``Dual`` stands
for it: the tangent of its result, without what it was computed from. An op pushes only if all that
it depends on has a tangent or is a constant. All else stays recorded, and so does what is computed
from it: what other transformations run, whose passes need their own graph, what other threads
compute, and what depends on tracked arrays that the function closes over. In the end, one push
takes the tangents through that.

A pass inside the function may want to go through a ``Dual``. It cannot: the function is run
again, and all of it is recorded. So no gradient is added to leaves outside before that is decided:
the first pass that would do so also makes the function run again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from sys import getrefcount
from typing import Any, NoReturn

from agnograd._arrays.domain import Domain
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import ALONE, InPlace
from agnograd._codegen.tangents import Along, Tangent, Tangents
from agnograd._engine.ends import owned
from agnograd._functions.derivative import FunctionRule
from agnograd._graph.nodes import (
    OP,
    RANK,
    UNWATCHED,
    ByNode,
    Edge,
    Leaf,
    Node,
    NoOp,
    domain_at,
    maker_of,
    next_rank,
)
from agnograd._graph.paths import reachable
from agnograd._hooks.state import REFERENCE, Recorder, current_mode, is_grad_enabled
from agnograd._ops.op import Op
from agnograd._transforms.passes import tangent_of
from agnograd._transforms.pushforward import Pushforward
from agnograd._transforms.trace import Function, Trace
from agnograd.errors import GradientError


class Dual(Leaf):
    """What stands for an op that ran: the tangent of its result. Its op is the run's ``Duals``."""

    __slots__ = ("tangent",)
    tangent: Tangent | None
    # As of a leaf that no Variable belongs to: nobody sets these.
    grad = accumulated = facts = None
    variable = staticmethod(lambda: None)  # type: ignore[assignment]


class _Outside(list[Any]):
    """The node of what depends only on what was there before the run, and has no tangent."""


class _GraphNeededError(BaseException):
    """A pass inside the function needs what is not kept. No ``except Exception`` stops it."""


class Duals(NoOp, Recorder):
    """The recorder of one run whose values have tangents."""

    pushes = True
    began: int  # the arguments are older

    def __init__(self, trace: Trace, given: Sequence[Variable]) -> None:
        # Without results, and arguments that are written to: their nodes refer to this. While the
        # function runs, tangents are raw.
        self.trace, self.as_variables = copy(trace), trace.as_variables
        self.trace.inputs = [x._here() for x in trace.inputs]
        self.trace.as_variables = False
        self.began = next_rank()
        self.arguments = ByNode[Tangent]()
        for x, tangent in zip(trace.inputs, given, strict=True):
            if x._node is not None:
                self.arguments.put(x._node, Tangent(tangent._raw))
        self.along: dict[int, Along] = {}
        # Whether tangents are to be connected to what was there before, under no_grad a constant.
        self.connects = is_grad_enabled()
        self.needs_graph = self.over = False

    def watched(self) -> NoOp:
        """Return what stands for it where someone watches: a pass that gets there is refused."""
        return self

    def ended(self, targets: Sequence[Edge]) -> None:
        """Refuse a pass to all leaves, or to what duals may have been computed from."""
        if targets and not any(type(t) is Dual or t[RANK] > self.began for t in targets):
            return
        if self.over:
            raise GradientError(
                "a value that was computed inside ag.jvp has no graph afterwards: let the "
                "function return what is needed, or use ag.vjp"
            )
        self._run_again()

    def commits(self, leaves: Iterable[Edge]) -> None:
        """Add no gradients to what was there before: a run that comes later would do it again."""
        if not self.over and any(leaf[RANK] > self.began for leaf in leaves):
            self._run_again()

    def _run_again(self) -> NoReturn:
        self.needs_graph = True
        raise _GraphNeededError("ag.jvp kept no graph for this pass, and calls the function again")

    def __call__(
        self,
        node: Node,
        out: Any,
        op: Op | None = None,
        inputs: Sequence[Any] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Push tangents through an op that ran; return what stands for its results.

        That is its node, recorded as it is, if they cannot be pushed here.
        """
        mode, call = current_mode(), node[OP]
        if mode is None or mode.hooks is not None or mode.kept is not None:
            return _kept(node)  # plugins, and gradient managers, look at nodes
        depends, given = False, []
        for edge in node[call.first :]:
            tangent = None
            if type(edge) is Dual and edge[OP] is self:  # most often
                depends, tangent = True, edge.tangent
            elif edge is None:
                pass
            elif self.knows(edge):
                depends, tangent = True, self.of(edge)
            elif self.connects or (
                edge[RANK] < self.began and type(maker_of(edge)) is not _Outside
            ):
                return _kept(node)
            given.append(tangent)
        if not depends:
            return node if self.connects else _Outside(node)
        if type(out) is InPlace:
            if (written := _written(call.domain, out, *given)) is not None:
                return self._dual(written, call.domain)
            out = out.array  # which the result will be like
        found = _by_jvp(node, out, given) if op is None and any(given) else None
        try:
            found = found or self._pushed(node, out, given, op, inputs, options or {})
        except Exception:
            return _kept(node)  # the error comes up where the tangent is needed
        if op is not None and op.view is not None and given[0] is not None and given[0].written:
            found = [_apart(call.domain, each, given[0]) for each in found]
        if isinstance(out, tuple | list):
            return tuple([self._dual(tangent, call.domain) for tangent in found])
        return self._dual(found[0], call.domain)

    def knows(self, edge: Edge) -> bool:
        """Return whether a value is an argument, or an op's whose tangents were pushed."""
        return edge[OP] is self if type(edge) is Dual else edge[RANK] in self.arguments

    def of(self, edge: Edge) -> Tangent | None:
        """Return the tangent of such a value."""
        return edge.tangent if type(edge) is Dual else self.arguments.of(edge)

    def _dual(self, tangent: Tangent | None, domain: Domain) -> Dual:
        dual = Dual((next_rank(), None, self))
        dual.domain, dual.alive, dual.tangent = domain, Leaf.EACH, tangent
        return dual

    # -- one op ------------------------------------------------------------------------------------

    def _pushed(
        self,
        node: Node,
        out: Any,
        given: Tangents,
        op: Op | None,
        inputs: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Tangents:
        """Return the tangent of each result of an op."""
        if not any(given):
            return [None for _ in out] if isinstance(out, tuple | list) else [None]
        if op is not None:
            along = self.along.get(id(op)) or self.along.setdefault(id(op), Along(op))
            with node[OP].domain.backend.quiet():
                found = along(node, out, given, inputs, options)
            if found is not None:
                return found
        return self._transposed(node, out, given)

    def _transposed(self, node: Node, out: Any, given: Tangents) -> Tangents:
        """Push tangents through one node by its rules, whatever the op is."""
        call, ends = node[OP], ByNode[Any]()
        edges: list[Edge | None] = []
        for edge, tangent in zip(node[call.first :], given, strict=True):
            edges.append(None if tangent is None else edge)
            if tangent is not None:
                ends.put(edge, tangent.raw)
        taken = [*node[: call.first], *edges]
        if isinstance(out, tuple | list):
            found = self._through(ends, [*call.domain.wrap_outputs(out, taken)])
        else:
            found = self._through(ends, [call.domain.Variable._make(out, taken)])
        return [Tangent(each) for each in found]

    def _through(self, ends: ByNode[Any], outputs: Sequence[Variable]) -> list[Any]:
        """Push raw tangents of nodes through what was recorded; return those of the outputs."""
        trace, given = copy(self.trace), []
        trace.nodes = [node for node, _ in ends.values()]
        for node, raw in ends.values():
            given.append(None if raw is None else domain_at(node).Variable._make(raw, None))
        return Pushforward(trace, outputs)(given)

    # -- the results -------------------------------------------------------------------------------

    def tangents(self, trace: Trace, outputs: Sequence[Variable]) -> list[Any]:
        """Return the tangents of what the function returned, in the run that has ended."""
        self.over = True
        self.as_variables = self.trace.as_variables = trace.as_variables
        found: list[Any] = [None] * len(outputs)
        waiting, ends = [], ByNode[Any]()
        for place, output in enumerate(outputs):
            node = output._node
            if node is None:
                continue
            if self.knows(node):
                found[place] = self._raw(node)
            else:
                waiting.append(place)
        unknown = [outputs[place]._node for place in waiting]
        for node in reachable(unknown, self.trace.start) if waiting else ():
            if self.knows(node):
                ends.put(node, self._raw(node))
        if self.as_variables:  # the graph of tangents leads to these, which are constants there
            for node, _ in ends.values():
                node[OP] = UNWATCHED if type(node) is Dual else node[OP]
        if ends:
            pushed = self._through(ends, [outputs[place] for place in waiting])
            for place, raw in zip(waiting, pushed, strict=True):
                found[place] = raw
        given = {id(tangent.raw): tangent.raw for _, tangent in self.arguments.values()}
        results = []
        for output, raw in zip(outputs, found, strict=True):
            domain = output._domain
            if raw is None:
                raw = domain.raw.zeros_like(domain.backend.array(output._raw))
            results.append(owned(raw, domain, given))
        return results if self.as_variables else [each.data for each in results]

    def _raw(self, node: Edge) -> Any:
        tangent = self.of(node)
        return None if tangent is None else tangent.raw


def _by_jvp(node: Node, out: Any, given: Tangents) -> Tangents | None:
    """Return the tangents of a function's results, if it says itself how to compute them."""
    rule = getattr(node[OP].compiled.backward, "__self__", None)
    if not isinstance(rule, FunctionRule):
        return None
    found = rule.push(node, out, [None if each is None else each.raw for each in given])
    return None if found is None else list(map(Tangent, found))


def _kept(node: Node) -> Node:
    """Return a node that is recorded, to which the tangents of its edges belong as they are."""
    for edge in node[node[OP].first :]:
        if type(edge) is Dual and edge.tangent is not None:
            edge.tangent.kept = True
    return node


def _written(
    domain: Domain, out: InPlace, old: Tangent | None, new: Tangent | None = None
) -> Tangent | None:
    """Let a tangent be written when its array is; None if something else refers to it."""
    if old is None or old.kept or getrefcount(old.raw) != ALONE:
        return None
    if not domain.backend.alone(old.raw):
        return None
    out.along = ((old.raw, 0 if new is None else new.raw),)
    return Tangent(old.raw, written=True)


def _apart(domain: Domain, part: Tangent | None, whole: Tangent) -> Tangent | None:
    """Return the tangent of a small part of an array so that the array's can be written to."""
    if part is None or 2 * math.prod(part.raw.shape) > math.prod(whole.raw.shape):
        return part
    return Tangent(domain.copy(part.raw), part.masked)


def run_with_tangents(
    f: Function, args: tuple[Any, ...], leaves: Sequence[Any], keeps_graph: bool = False
) -> tuple[Trace, Callable[[Sequence[Variable]], list[Any]]]:
    """Run a function with tangents of its arguments; return what gives those of its outputs."""
    given: list[Variable] = []
    duals: Duals | None = None

    def recorder(trace: Trace) -> Recorder:
        nonlocal duals
        given[:] = map(tangent_of, trace.inputs, leaves)
        connects = trace.as_variables and is_grad_enabled()  # to what was there before the run
        if not (keeps_graph or connects or REFERENCE):
            duals = Duals(trace, given)
        return duals or Recorder()

    try:
        trace = Trace(f, args, {}, tuple(range(len(args))), recorder, leaves)
    except (Exception, _GraphNeededError):
        if duals is None or not duals.needs_graph:
            raise
    if duals is None:
        return trace, lambda outputs: Pushforward(trace, outputs)(given)
    if duals.needs_graph:
        duals.over = True
        return run_with_tangents(f, args, leaves, keeps_graph=True)
    return trace, partial(duals.tangents, trace)
