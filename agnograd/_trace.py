"""One run of a function that is being differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from agnograd._engine import run_pass
from agnograd._fit import is_python_scalar
from agnograd._forward import Tape, place
from agnograd._graph import ByNode, Edge, Leaf, next_rank
from agnograd._mode import enable_grad, is_grad_enabled, recording_since
from agnograd._namespace import domain_of
from agnograd._paths import older
from agnograd._seeds import given_by, owned, seed_of, seeds_of
from agnograd._trees import flatten, leaves, map_leaves, unflatten
from agnograd._variable import Variable
from agnograd.errors import UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["ArgNums", "Function", "Trace", "outputs_of"]

Function = Callable[..., Any]
ArgNums = int | Sequence[int]

# Inside of a transformed function everything is a Variable: what a nested transformation of raw
# arrays returns may depend on the outer one's arguments, and must stay connected to them.
_inside: ContextVar[bool] = ContextVar("agnograd_inside", default=False)


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
        What hears of every node that the run records.
    """

    def __init__(
        self,
        f: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: ArgNums,
        tape: Tape | None = None,
    ) -> None:
        positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        self.positions = tuple(_position(each, len(args)) for each in positions)
        # Whether results are Variables. Under no_grad they are connected to nothing.
        self.as_variables = _inside.get() or any(
            isinstance(leaf, Variable) for leaf in leaves((args, kwargs))
        )
        self.connects = self.as_variables and is_grad_enabled()
        self.start = next_rank()
        lifted = list(args)
        self.inputs: list[list[Input]] = []
        self.trees: list[Any] = []
        for position in range(len(args)):
            if position not in self.positions:
                lifted[position] = map_leaves(_constant, args[position])
        for position in self.positions:
            found, tree = flatten(args[position])
            inputs = [_differentiated(leaf, position) for leaf in found]
            lifted[position] = unflatten(tree, [each.variable for each in inputs])
            self.inputs.append(inputs)
            self.trees.append(tree)
        token = _inside.set(True)
        try:
            with recording_since(self.start, tape):
                self.result = f(*lifted, **map_leaves(_constant, kwargs))
        finally:
            _inside.reset(token)

    def pull(
        self, outputs: Sequence[Variable], cotangents: Sequence[Any], retain: bool
    ) -> tuple[Any, ...]:
        """Return the gradients for each differentiated argument, in its own structure."""
        given = [seed_of(*pair) for pair in zip(outputs, cotangents, strict=True)]
        create_graph = self.connects and self._depends_on_outside([*outputs, *given])
        pairs = list(zip(outputs, given, strict=True))
        seeds = seeds_of([pair for pair in pairs if pair[0]._node is not None], create_graph)
        targets = [each.node for inputs in self.inputs for each in inputs]
        with enable_grad():
            found = run_pass(
                seeds,
                starts=pairs,
                targets=targets,
                create_graph=create_graph,
                retain_graph=retain or create_graph,
            )
        given_out = given_by(seeds)
        return tuple(
            unflatten(tree, [self._gradient(found, each, given_out) for each in inputs])
            for tree, inputs in zip(self.trees, self.inputs, strict=True)
        )

    def push(
        self, tape: Tape, tangents: Sequence[Variable], outputs: Sequence[Variable]
    ) -> list[Any]:
        """Return the tangents of outputs for those of all differentiated inputs."""
        create_graph = self.connects
        nodes = [each.node for inputs in self.inputs for each in inputs]
        given = zip(nodes, tangents, strict=True)
        found = tape.push([(n, t if create_graph else t._raw) for n, t in given], create_graph)
        return [self._tangent(found, output) for output in outputs]

    def _tangent(self, found: dict[Any, Any], output: Variable) -> Any:
        domain = output._domain
        tangent = None if output._node is None else found.get(place(output._node))
        if tangent is None:
            tangent = domain.raw.zeros_like(domain.backend.array(output._raw))
        if not isinstance(tangent, Variable):
            tangent = domain.Variable._make(tangent, None)
        if not self.as_variables:
            return domain.backend.own(tangent.data)
        return tangent if self._depends_on_outside([tangent]) else tangent.detach()

    def _gradient(self, found: ByNode[Any], each: Input, given: dict[int, Any]) -> Any:
        domain = each.variable._domain
        g = found.of(each.node)
        if g is None:
            g = domain.raw.zeros_like(domain.backend.array(each.variable._raw))
        gradient = owned(g, domain, given, each.variable._raw)
        return gradient if self.as_variables else gradient._raw

    def out(self, value: Any) -> Any:
        """Return results as the caller gave the arguments: raw arrays or Variables."""

        def given_back(leaf: Any) -> Any:
            if not isinstance(leaf, Variable):
                return leaf
            if not self.as_variables:
                return leaf.data
            return leaf if self.connects and self._depends_on_outside([leaf]) else leaf.detach()

        return map_leaves(given_back, value)

    def _depends_on_outside(self, variables: Iterable[Variable]) -> bool:
        """Whether values depend on anything tracked that was there before this run.

        What depends on this run's own inputs alone is cut loose: otherwise every result would
        hold the graph that made it, and so would all that is computed from it.
        """
        return any(older([variable._node for variable in variables], self.start))


def _position(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise IndexError(f"argnums names argument {argnum}, but {count} positional ones were given")
    return argnum % count


def _differentiated(leaf: Any, position: int) -> Input:
    """Return a Variable of its own for an input: its gradient is that of this place alone."""
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
        variable._node = Leaf.of(variable)
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


def outputs_of(result: Any) -> tuple[list[Variable], Any]:
    """Return the arrays that a function returned as Variables, and their structure."""
    found, tree = flatten(result)
    outputs = []
    for leaf in found:
        if not isinstance(leaf, Variable):
            domain: Domain = domain_of(leaf)
            leaf = domain.Variable._make(domain.to_raw(leaf), None)
        outputs.append(leaf)
    return outputs, tree
