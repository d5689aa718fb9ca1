"""One run of a function that is being differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import View
from agnograd._engine.ends import given_by, owned, seed_of, seeds_of
from agnograd._engine.run import run_pass
from agnograd._graph.nodes import OP, RANK, ByNode, Edge, Leaf, next_rank
from agnograd._graph.paths import older, reachable
from agnograd._hooks.entering import enable_grad, entered, is_inside, recording_since
from agnograd._hooks.state import Kept, current_mode, is_grad_enabled, set_mode
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._transforms.forward import Tape, place
from agnograd._util.trees import flatten, leaves, map_leaves, unflatten
from agnograd.errors import (
    ArgumentIndexError,
    GradientError,
    NoGradientError,
    UnsupportedArrayError,
)

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain

Function = Callable[..., Any]
ArgNums = int | Sequence[int]


class Input(NamedTuple):
    """A differentiated array, and its node before the function ran, which may write to it."""

    variable: Variable
    node: Edge


class Trace:
    """One run of a function: its differentiated inputs, its result, and the way back.

    Parameters
    ----------
    f : callable
        The function.
    args, kwargs
        Its arguments, pytrees of arrays and anything else.
    argnums : int or sequence of int
        The positions of the arguments to differentiate.
    tape : Tape, optional
        What is notified of every node that the run records.
    tangents
        What is given besides the arguments.
    """

    def __init__(
        self,
        f: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: ArgNums,
        tape: Tape | None = None,
        tangents: Any = (),
    ) -> None:
        asked = (argnums,) if isinstance(argnums, int) else argnums
        # An argument that is named twice is differentiated once.
        self._asked = [_position(each, len(args)) for each in asked]
        self._positions = list(dict.fromkeys(self._asked))
        # Whether results are Variables. Under no_grad they are connected to nothing.
        self.as_variables = is_inside() or _has_variables((args, kwargs, tangents))
        self.start = next_rank()
        lifted = list(args)
        self.inputs: list[list[Input]] = []
        self.trees: list[Any] = []
        for position in range(len(args)):
            if position not in self._positions:
                lifted[position] = map_leaves(_constant, args[position])
        for position in self._positions:
            if args[position] is None:
                raise UnsupportedArrayError(
                    f"argument {position} is None, which has no gradient: pass an array or a "
                    "pytree of arrays, or name other arguments by argnums"
                )
            found, tree = flatten(args[position])
            inputs = [_differentiated(leaf, position) for leaf in found]
            lifted[position] = unflatten(tree, [each.variable for each in inputs])
            self.inputs.append(inputs)
            self.trees.append(tree)
        outer = current_mode()
        try:
            with recording_since(self.start, tape, inside=True):
                self.result = f(*lifted, **map_leaves(_constant, kwargs))
                for leaf in leaves(self.result):
                    if isinstance(leaf, View):
                        leaf.refresh()  # while the tape is notified of it
        finally:
            set_mode(outer)  # as it is already, unless an interrupt came at the end of the block

    def pull(
        self, outputs: Sequence[Variable], cotangents: Sequence[Any], retain: bool
    ) -> tuple[Any, ...]:
        """Return the gradients for each argument that is asked for, in its own structure.

        A pullback outlives the run, and may be called with cotangents that are differentiated
        when the arguments were not: what they are, and whether ops are recorded, is asked now.
        """
        given = [seed_of(*pair) for pair in zip(outputs, cotangents, strict=True)]
        as_variables = self.as_variables or _has_variables(cotangents)
        state: entered = enable_grad()
        create_graph = False
        if as_variables and is_grad_enabled():
            create_graph = self._depends_on_outside(outputs)
            if not create_graph and any(g._node is not None for g in given):
                create_graph, state = True, _apart_from(outputs)
        pairs = list(zip(outputs, given, strict=True))
        seeds = seeds_of([pair for pair in pairs if pair[0]._node is not None], create_graph)
        targets = [each.node for inputs in self.inputs for each in inputs]
        outer = current_mode()
        try:
            with state:
                found = run_pass(
                    seeds,
                    starts=pairs,
                    targets=targets,
                    create_graph=create_graph,
                    retain_graph=retain or create_graph,
                )
        finally:
            set_mode(outer)
        given_out = given_by(seeds)
        gradients = [_gradient(found, each, given_out) for inputs in self.inputs for each in inputs]
        return self.arranged([g if as_variables else g._raw for g in gradients])

    def arranged(self, values: Iterable[Any]) -> tuple[Any, ...]:
        """Return values of all inputs in the structure of each argument that is asked for."""
        left = iter(values)
        found = {
            position: unflatten(tree, [next(left) for _ in inputs])
            for position, tree, inputs in zip(self._positions, self.trees, self.inputs, strict=True)
        }
        return tuple(found[position] for position in self._asked)

    def unheard(self, tape: Tape, outputs: Iterable[Variable]) -> str | None:
        """Return the name of an op that the tape lacks, since another thread or context ran it."""
        nodes = [each.node for inputs in self.inputs for each in inputs]
        ends = [out._node for out in outputs if out._node is not None]
        node = tape.unheard(ends, nodes, self.start)
        return None if node is None else node[OP].name

    def check(self, tape: Tape, outputs: Iterable[Variable]) -> None:
        """Refuse a run of which a part ran elsewhere: its tangents would be zeros.

        Raises
        ------
        GradientError
            If an output depends on an input by an op of another thread or context.
        """
        name = self.unheard(tape, outputs)
        if name is not None:
            raise GradientError(
                f"forward mode has not seen op {name!r}, which another thread or context ran: its "
                "tangent would be lost. Run that part of the function by "
                "contextvars.copy_context().run(...), or use ag.vjp, or mode='reverse'"
            )

    def push(
        self, tape: Tape, tangents: Sequence[Variable], outputs: Sequence[Variable]
    ) -> list[Any]:
        """Return the tangents of outputs for those of all differentiated inputs."""
        create_graph = self.as_variables and is_grad_enabled()
        nodes = [each.node for inputs in self.inputs for each in inputs]
        given = zip(nodes, tangents, strict=True)
        found = tape.push([(n, t if create_graph else t._raw) for n, t in given], create_graph)
        given_out = {id(t._raw): t._raw for t in tangents}
        return [self._tangent(found, output, given_out) for output in outputs]

    def _tangent(self, found: dict[Any, Any], output: Variable, given_out: dict[int, Any]) -> Any:
        domain = output._domain
        tangent = None if output._node is None else found.get(place(output._node))
        if tangent is None:
            tangent = domain.raw.zeros_like(domain.backend.array(output._raw))
        if not isinstance(tangent, Variable):
            tangent = owned(tangent, domain, given_out)
        if not self.as_variables:
            return tangent.data
        return tangent if self._depends_on_outside([tangent]) else tangent.detach()

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


def _apart_from(outputs: Iterable[Variable]) -> entered:
    """Return a state that records, and for which all that a run recorded is a constant.

    Then a pass through what a pullback returned ends at its cotangents: it does not go on into the
    run, which it would free although the pullback may be called again.
    """
    mode = current_mode()
    outer = None if mode is None else mode.kept
    own = {node[RANK] for node in reachable(out._node for out in outputs)}
    kept = partial(_others, own, outer)
    return entered(recording=True, kept=kept)


def _others(own: Set[int], outer: Kept | None, *nodes: Edge | None) -> tuple[Edge | None, ...]:
    return tuple(
        None if node is None or node[RANK] in own else node
        for node in (nodes if outer is None else outer(*nodes))
    )


def _has_variables(tree: Any) -> bool:
    return any(isinstance(leaf, Variable) for leaf in leaves(tree))


def _gradient(found: ByNode[Any], each: Input, given: dict[int, Any]) -> Variable:
    domain = each.variable._domain
    g = found.of(each.node)
    if g is None:
        g = domain.raw.zeros_like(domain.backend.array(each.variable._raw))
    return owned(g, domain, given, each.variable._raw)


def _position(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise ArgumentIndexError(
            f"argnums names argument {argnum}, but {count} positional ones were given; pass what "
            "is differentiated by position"
        )
    return argnum % count


def _differentiated(leaf: Any, position: int) -> Input:
    """Return a Variable of its own for an input: its gradient is only that of this place."""
    domain: Domain = domain_of(leaf)
    if isinstance(leaf, Variable):
        data, tracked = leaf._raw, leaf._node is not None and is_grad_enabled()
    else:
        data, tracked = domain.to_raw(leaf), False
    if data.dtype not in domain.inexact_dtypes:
        raise UnsupportedArrayError(
            f"argument {position} has dtype {data.dtype}, and no gradient: differentiate with "
            "respect to floating-point or complex arrays in native byte order (see argnums), or "
            "convert it first"
        )
    if tracked:
        variable: Variable = domain.convert(leaf, leaf.dtype, copy=False)
    else:
        variable = domain.Variable._make(data, None)
        variable._node = Leaf.of_argument(variable)
    assert variable._node is not None
    return Input(variable, variable._node)


def _constant(leaf: Any) -> Any:
    """Return an array among the other arguments as a Variable; all else as it is."""
    if is_python_scalar(leaf) or isinstance(leaf, Variable | str | list | tuple):
        return leaf
    try:
        domain: Domain = domain_of(leaf)
    except UnsupportedArrayError:
        return leaf
    return domain.Variable._make(domain.to_raw(leaf), None)


def differentiable(outputs: Sequence[Variable], what: str) -> None:
    """Check that a function returned anything that has a derivative.

    Raises
    ------
    NoGradientError
        If all of it is integers or booleans: zeros would look like an answer.
    """
    if not outputs or any(out._domain.is_inexact(out.dtype) for out in outputs):
        return
    found = ", ".join(dict.fromkeys(str(out.dtype) for out in outputs))
    raise NoGradientError(
        f"{what} needs a function that returns floating-point or complex numbers, not {found}: "
        "such a value is constant between its steps, and has no gradient; convert it in the "
        "function with xp.astype if zeros are meant, or return what it was computed from"
    )


def outputs_of(result: Any) -> tuple[list[Variable], Any]:
    """Return the arrays that a function returned as Variables, and their structure."""
    found, tree = flatten(result)
    return [_as_returned(leaf) for leaf in found], tree


def _as_returned(leaf: Any) -> Variable:
    """Return a result as a Variable of its own: who was given the result may write to it."""
    domain: Domain = domain_of(leaf)
    known = isinstance(leaf, Variable)
    raw, node = (leaf._raw, leaf._node) if known else (domain.to_raw(leaf), None)
    returned: Variable = domain.Variable._make(raw, node)
    return returned
