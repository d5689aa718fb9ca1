"""One run of a function that is being differentiated, and both ways between its ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import ExitStack, nullcontext
from functools import partial
from itertools import islice
from typing import Any

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import View
from agnograd._codegen.products import behind_mask
from agnograd._engine.ends import given_by, owned, seed_of, seeds_of
from agnograd._engine.run import run_pass
from agnograd._graph.nodes import RANK, ByNode, Edge, Leaf, next_rank
from agnograd._graph.paths import older, reachable
from agnograd._hooks.entering import enable_grad, entered, is_inside, recording_since
from agnograd._hooks.state import Kept, Recorder, current_mode, is_grad_enabled
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._transforms.runs import kept_now, restoring
from agnograd._transforms.sensitivity import irregular
from agnograd._util.trees import flatten, leaves, map_leaves, unflatten
from agnograd.errors import ArgumentIndexError, NoGradientError, UnsupportedArrayError

Function = Callable[..., Any]
ArgNums = int | Sequence[int]


class Trace:
    """One run of a function: its differentiated inputs, its result, and the ways between them.

    In ``forward`` mode, passes inside the function free nothing: pushes go through the same nodes.
    It may also be a function that is given this trace before the run, and returns its recorder.
    Results are Variables if ``tangents``, which are given besides the arguments, have any.
    """

    @restoring
    def __init__(
        self,
        f: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: ArgNums,
        forward: bool | Callable[[Trace], Recorder] = False,
        tangents: Any = (),
    ) -> None:
        asked = (argnums,) if isinstance(argnums, int) else argnums
        for each in asked:
            if not -len(args) <= each < len(args):
                raise ArgumentIndexError(
                    f"argnums names argument {each}, but {len(args)} positional ones were given; "
                    "pass what is differentiated by position"
                )
        self._asked = [each % len(args) for each in asked]
        # Whether results are Variables. Under no_grad they are connected to nothing.
        self.as_variables = is_inside() or any(
            map(_has_variables, (*args, *kwargs.values(), *tangents))
        )
        self.start = next_rank()
        self.inputs: list[Variable] = []
        self._trees: dict[int, Any] = {}
        lifted = []
        for position, arg in enumerate(args):
            if position not in self._asked:
                lifted.append(map_leaves(_constant, arg))
                continue
            if arg is None:
                raise UnsupportedArrayError(
                    f"argument {position} is None, which has no gradient: pass arrays, or name "
                    "other arguments by argnums"
                )
            found, self._trees[position] = flatten(arg)
            inputs = [_differentiated(leaf, position) for leaf in found]
            lifted.append(unflatten(self._trees[position], inputs))
            self.inputs += inputs
        # As they are before the function runs, which may write to the inputs.
        self.nodes: list[Edge] = [each._node for each in self.inputs if each._node is not None]
        tape = forward(self) if callable(forward) else keeping if forward else None
        with recording_since(self.start, tape, inside=True):
            options = {name: map_leaves(_constant, value) for name, value in kwargs.items()}
            self.result = f(*lifted, **options)
            for leaf in leaves(self.result):
                if isinstance(leaf, View):
                    leaf.refresh()  # while it is recorded

    @restoring
    def pull(
        self, outputs: Sequence[Variable], cotangents: Sequence[Any], retain: bool
    ) -> list[Any]:
        """Return the gradient of each input.

        A pullback outlives the run, and may be called with cotangents that are differentiated
        when the arguments were not: what they are, and whether ops are recorded, is asked now.
        """
        given = [seed_of(*pair) for pair in zip(outputs, cotangents, strict=True)]
        as_variables = self.as_variables or any(map(_has_variables, cotangents))
        state: entered = enable_grad()
        create_graph = False
        if as_variables and is_grad_enabled():
            create_graph = self._depends_on_outside(outputs)
            if not create_graph and any(g._node is not None for g in given):
                create_graph, state = True, _apart_from(outputs)
        pairs = list(zip(outputs, given, strict=True))
        seeds = seeds_of([pair for pair in pairs if pair[0]._node is not None], create_graph)
        with state:
            found = run_pass(
                seeds,
                starts=pairs,
                targets=self.nodes,
                create_graph=create_graph,
                retain_graph=retain or create_graph,
            )
        given_out = given_by(seeds)
        gradients = [
            _owned(found.of(node), x, given_out, x._raw)
            for x, node in zip(self.inputs, self.nodes, strict=True)
        ]
        return [g if as_variables else g._raw for g in gradients]

    def arranged(self, values: Iterable[Any]) -> tuple[Any, ...]:
        """Return values of all inputs in the structure of each argument that is asked for."""
        left = iter(values)
        found = {
            position: unflatten(tree, islice(left, tree.num_leaves))
            for position, tree in self._trees.items()
        }
        return tuple(found[position] for position in self._asked)

    def out(self, value: Any) -> Any:
        """Return results as the caller gave the arguments: raw arrays or Variables."""

        def given_back(leaf: Any) -> Any:
            if not isinstance(leaf, Variable):
                return leaf
            if not self.as_variables:
                return leaf.data
            connects = is_grad_enabled() and self._depends_on_outside([leaf])
            return leaf if connects else leaf.detach()

        return map_leaves(given_back, value)

    def _depends_on_outside(self, variables: Iterable[Variable]) -> bool:
        """Whether values depend on anything tracked that was there before this run.

        What depends only on this run's own inputs is cut loose: otherwise every result would
        hold the graph that made it, and so would all that is computed from it.
        """
        return any(older([variable._node for variable in variables], self.start))


def keeping(node: Edge, *_: Any) -> Edge:
    """Keep a node as it is: what a recorder does where a graph is needed."""
    return node


def _has_variables(tree: Any) -> bool:
    return tree is not None and any(isinstance(leaf, Variable) for leaf in leaves(tree))


def _apart_from(outputs: Iterable[Variable]) -> entered:
    """Return a state that records, and for which all that a run recorded is a constant.

    Then a pass through what a pullback returned ends at its cotangents: it does not go on into the
    run, which it would free although the pullback may be called again.
    """
    own = {node[RANK] for node in reachable(out._node for out in outputs)}
    return entered(recording=True, kept=partial(_others, own, kept_now()))


def _others(own: Set[int], outer: Kept | None, *nodes: Edge | None) -> tuple[Edge | None, ...]:
    return tuple(
        None if node is None or node[RANK] in own else node
        for node in (nodes if outer is None else outer(*nodes))
    )


class Pushforward:
    """What takes tangents of a run's inputs to those of its outputs: its pullback, transposed.

    A pullback is linear in the cotangents. So it is recorded for some of them, and another pass
    transposes it: one set of rules serves both directions (Townsend, "A new trick for calculating
    Jacobian vector products", 2017).
    """

    @restoring
    def __init__(self, trace: Trace, outputs: Sequence[Variable]) -> None:
        self.trace, self.outputs = trace, outputs
        # Whether tangents are Variables, connected to all that they depend on.
        self.connects = trace.as_variables and is_grad_enabled()
        self.start = next_rank()
        self.probes = [_probe(output) for output in outputs]
        seeds = [
            (output._node, probe)
            for output, probe in zip(outputs, self.probes, strict=True)
            if output._node is not None and probe._node is not None
        ]
        with entered(hooks=False):  # of nobody's interest: only its graph is used
            found = self._run(seeds, trace.nodes, create_graph=True, shows=False)
        self.gradients = [found.of(node) for node in trace.nodes]

    def __call__(self, tangents: Sequence[Variable | None]) -> list[Any]:
        """Return the tangents of the outputs; None stands for zeros.

        What a tangent of 0 leaves out is guarded, as behind a mask, only if there is NaN among the
        results, or if nobody can know yet.
        """
        lazy = any(output._domain.backend.capabilities.lazy for output in self.outputs)
        found = self._pushed(tangents, guarded=lazy)
        if not lazy and any(map(_may_be_nan, found)):
            found = self._pushed(tangents, guarded=True)
        return list(self.trace.out(found))

    def _pushed(self, tangents: Sequence[Variable | None], guarded: bool) -> list[Variable]:
        seeds = [
            (behind_mask(g._node) if guarded else g._node, t if self.connects else t._raw)
            for g, t in zip(self.gradients, tangents, strict=True)
            if g is not None and t is not None and g._node is not None
        ]
        ends = [probe._node for probe in self.probes]
        found = self._run(seeds, [end for end in ends if end is not None], self.connects)
        given = {id(each._raw): each._raw for each in tangents if each is not None}
        return [
            _owned(None if end is None else found.of(end), output, given)
            for end, output in zip(ends, self.outputs, strict=True)
        ]

    @restoring
    def _run(
        self, seeds: Any, targets: Sequence[Edge], create_graph: bool, shows: bool = True
    ) -> ByNode[Any]:
        """Run a pass; what was recorded before is a constant, if nobody differentiates tangents."""
        state = recording_since(self.start)
        if not self.connects:
            state = entered(recording=True, kept=partial(_newer, self.start))
        domains = dict.fromkeys(each._domain for each in (*self.trace.inputs, *self.outputs))
        with ExitStack() as stack, state:
            for domain in domains:  # what rules compute of the probes may be infinite
                stack.enter_context(domain.backend.quiet())
            return run_pass(
                seeds, targets=targets, create_graph=create_graph, retain_graph=True, shows=shows
            )


def _newer(start: int, *nodes: Edge | None) -> tuple[Edge | None, ...]:
    return tuple(None if node is None or node[RANK] > start else node for node in nodes)


def _probe(output: Variable) -> Variable:
    """Return a cotangent: irregular values, since rules may treat zeros, and only zeros, apart."""
    if not output._domain.is_inexact(output.dtype):
        return output.detach()
    probe: Variable = output._domain.wrap(irregular(output._raw, output._domain))
    probe._node = Leaf.of(probe)
    return probe


def _may_be_nan(tangent: Variable) -> bool:
    """Return whether there is NaN in an array, or nobody can know yet, since it is traced."""
    domain, raw = tangent._domain, tangent._raw
    try:
        inexact = domain.is_inexact(tangent.dtype)
        return inexact and bool(domain.item(domain.raw.any(domain.raw.isnan(raw))))
    except TypeError:  # of a tracer in jax.jit
        return True


def _owned(value: Any, of: Variable, given: dict[int, Any], laid_out_as: Any = None) -> Variable:
    """Return the gradient or the tangent of a Variable as users get it; None counts as zeros."""
    if value is None:
        value = of._domain.raw.zeros_like(of._domain.backend.array(of._raw))
    return owned(value, of._domain, given, laid_out_as)


def _differentiated(leaf: Any, position: int) -> Variable:
    """Return a Variable of its own for an input: its gradient is only that of this place."""
    domain = domain_of(leaf)
    data = leaf._raw if isinstance(leaf, Variable) else domain.to_raw(leaf)
    if data.dtype not in domain.inexact_dtypes:
        raise UnsupportedArrayError(
            f"argument {position} has dtype {data.dtype}, and no gradient: differentiate with "
            "respect to floating-point or complex arrays in native byte order (see argnums), or "
            "convert it first"
        )
    variable: Variable = domain.Variable._make(data, None)
    if isinstance(leaf, Variable) and leaf._node is not None and is_grad_enabled():
        mode = current_mode()
        forward = mode is not None and mode.tape is not None
        with entered(tape=keeping) if forward else nullcontext():  # passes end at this node
            variable = domain.convert(leaf, leaf.dtype, copy=False)
    if variable._node is None:  # or a manager takes it for a constant
        variable._node = Leaf.of_argument(variable)
    return variable


def _constant(leaf: Any) -> Any:
    """Return an array among the other arguments as a Variable; all else as it is."""
    if is_python_scalar(leaf) or isinstance(leaf, Variable | str | list | tuple):
        return leaf
    try:
        domain = domain_of(leaf)
    except UnsupportedArrayError:
        return leaf
    return domain.wrap(domain.to_raw(leaf))


def outputs_of(result: Any, what: str) -> tuple[list[Variable], Any]:
    """Return the arrays that a function returned as Variables, and their structure."""
    found, tree = flatten(result)
    return as_outputs(found, what), tree


def as_outputs(found: Sequence[Any], what: str) -> list[Variable]:
    """Return Variables of their own: who was given the results may write to them."""
    outputs: list[Variable] = []
    for leaf in found:
        domain = domain_of(leaf)
        known = isinstance(leaf, Variable)
        raw, node = (leaf._raw, leaf._node) if known else (domain.to_raw(leaf), None)
        outputs.append(domain.Variable._make(raw, node))
    if not outputs or any(out._domain.is_inexact(out.dtype) for out in outputs):
        return outputs
    dtypes = ", ".join(dict.fromkeys(str(out.dtype) for out in outputs))
    raise NoGradientError(
        f"{what} needs a function that returns floating-point or complex numbers, not {dtypes}: "
        "such a value is constant between its steps, and has no gradient; convert it in the "
        "function with xp.astype if zeros are meant, or return what it was computed from"
    )
