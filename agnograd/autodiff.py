"""Backward passes over recorded graphs: ``backward`` fills leaves, ``grad`` returns gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from agnograd._checks import flags_in, number_in
from agnograd._engine import run_pass
from agnograd._graph import RANK, Edge, Leaf, domain_at, watch
from agnograd._inspection import Graph, graph_of
from agnograd._locks import Lock
from agnograd._mode import current_mode, enable_grad, no_grad, set_mode
from agnograd._seeds import Seeds, given_by, nodes_of, owned, pairs_of, seeds_of
from agnograd._variable import Variable
from agnograd.errors import ArgumentError, NoGradientError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["Graph", "backward", "grad", "graph"]

_commits = Lock()
_GRAD = repeat("grad")


def backward(
    variables: Variable | Sequence[Variable],
    grad_variables: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Variable | Sequence[Variable] | None = None,
) -> None:
    """Compute the gradients of several values and add them to the ``grad`` of the leaves.

    The gradients change only when the whole pass has succeeded.

    Parameters
    ----------
    variables : Variable or sequence of Variable
        The values to differentiate.
    grad_variables : array, Variable, None, or sequence of array
        Their cotangents, of the same shapes and dtypes. None means a cotangent of 1, which is
        allowed for a real value with a single element.
    retain_graph : bool, optional
        Keep the saved values for another pass. The default is the value of ``create_graph``.
    create_graph : bool
        Record the pass itself, so that you can differentiate the gradients.
    inputs : Variable or sequence of Variable, optional
        Accumulate gradients only into these Variables. They need not be leaves.

    Raises
    ------
    NoGradientError
        If a value carries no gradient, or needs an explicit cotangent.
    GradientError
        If a cotangent does not fit.
    FreedGraphError
        If an earlier pass freed the graph.
    MissingRuleError
        If an op on the way has no derivative rule.
    """
    run_backward(
        pairs_of(listed(variables, "variables"), grad_variables),
        retain_graph=retain_graph,
        create_graph=create_graph,
        inputs=inputs,
    )


def grad(
    outputs: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Variable | None, ...]:
    """Return the gradients of outputs with respect to inputs, without changing any ``grad``.

    Parameters
    ----------
    outputs : Variable or sequence of Variable
        The values to differentiate.
    inputs : Variable or sequence of Variable
        Leaves or intermediate values.
    grad_outputs : array, Variable, None, or sequence of array
        The cotangents of the outputs. None means a cotangent of 1, which is allowed for a real
        value with a single element.
    retain_graph, create_graph : bool
        As in ``backward``.
    allow_unused : bool
        Return None for an input that no output depends on, instead of raising an error.

    Returns
    -------
    tuple of Variable or None
        One gradient for each input, with that input's shape, dtype and device.

    Raises
    ------
    NoGradientError
        If an output or input carries no gradient, or an input is unused without
        ``allow_unused=True``.
    GradientError, FreedGraphError, MissingRuleError
        As in ``backward``.
    """
    flags_in(
        "autodiff.grad",
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=allow_unused,
    )
    pairs = pairs_of(listed(outputs, "outputs"), grad_outputs)
    wanted = listed(inputs, "inputs")
    targets = nodes_of(wanted, "inputs")
    seeds = seeds_of(pairs, create_graph)
    found = run_pass(
        seeds,
        starts=pairs,
        targets=targets,
        create_graph=create_graph,
        retain_graph=create_graph if retain_graph is None else retain_graph,
    )
    reached = [found.get(node[RANK]) for node in targets]
    if None in reached and not allow_unused:
        raise NoGradientError(
            f"inputs[{reached.index(None)}] has no part in the outputs; pass allow_unused=True to "
            "get None"
        )
    given = given_by(seeds)
    return tuple(
        None if end is None else owned(end[1], x._domain, given, x._raw)
        for end, x in zip(reached, wanted, strict=True)
    )


def graph(variables: Variable | Sequence[Variable]) -> Graph:
    """Return everything that values depend on, as plain data.

    Parameters
    ----------
    variables : Variable or sequence of Variable
        The values.

    Returns
    -------
    Graph
        Its ``nodes`` come oldest first. Each has an ``id``, a ``kind`` ("op" or "leaf"), a
        ``name``, a ``chapter``, and what it ``saved`` (None once that is freed). Its ``edges`` lead
        from the ``source`` to the ``target`` that uses its value as input number ``place``. Its
        ``outputs`` are the nodes of the given values. It keeps no node of the graph and no array
        alive.

    Examples
    --------
    >>> import agnograd as ag
    >>> x = ag.Variable(2.0)
    >>> found = ag.autodiff.graph(x * x)
    >>> [node.name for node in found.nodes]
    ['leaf', 'multiply']
    """
    return graph_of(listed(variables, "variables"))


def run_backward(
    pairs: Sequence[tuple[Variable, Any]],
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Variable | Sequence[Variable] | None = None,
    retain_grads: bool = False,
    loss_scale: float | None = None,
) -> None:
    """Run a pass from outputs with their cotangents; commit its gradients if it succeeds."""
    if not (retain_graph is loss_scale is None and create_graph is retain_grads is False):
        flags_in(
            "backward",
            retain_graph=retain_graph,
            create_graph=create_graph,
            retain_grads=retain_grads,
        )
        if loss_scale is not None:
            number_in("backward: loss_scale", loss_scale)
    targets = None if inputs is None else nodes_of(listed(inputs, "inputs"), "inputs")
    seeds = seeds_of(pairs, create_graph, loss_scale)
    found = run_pass(
        seeds,
        starts=pairs,
        targets=targets,
        create_graph=create_graph,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        retain_grads=retain_grads,
    )
    outer = current_mode()
    try:
        commit(found, seeds)
    finally:
        set_mode(outer)


def commit(found: Mapping[int, tuple[Edge, Any]], seeds: Seeds) -> None:
    """Add gradients to those that leaves (and watched values) hold: either all of them or none.

    ``found`` has them by the ranks of their nodes.
    """
    given = given_by(seeds)
    places: list[Any] = []
    sums: list[Variable] = []
    awaited: list[Leaf] = []
    with _commits:  # and no `acquire`: a signal could come between that and a `try`
        for node, g in found.values():
            place: Any
            if type(node) is Leaf:
                place, domain = node, node.domain
                if node.accumulated is not None:
                    awaited.append(node)
            else:
                place, domain = watch(node), domain_at(node)
            if place.grad is None:
                total = owned(g, domain, given, _raw_of(node) if domain.lays_out else None)
            else:
                total = _added(place.grad, g, domain)
            places.append(place)
            sums.append(total)
        # One C call: no signal handler runs between the first and the last assignment.
        any(map(setattr, places, _GRAD, sums))
    for leaf in awaited:
        _tell(leaf)


def _tell(leaf: Leaf) -> None:
    """Call the hooks that wait for a leaf's gradient to be accumulated."""
    variable = leaf.variable()
    if variable is not None:
        with no_grad():
            for hook in tuple((leaf.accumulated or {}).values()):
                hook(variable)


def _added(held: Variable, g: Any, domain: Domain) -> Variable:
    """Return the sum of a new gradient and the one that a leaf holds."""
    if isinstance(g, Variable):
        with enable_grad():  # the pass was recorded, and so is the sum
            connected: Variable = held + g
            return connected
    with domain.backend.on_device(g):
        total: Variable = domain.Variable._make(held._raw + g, None)
        return total


def _raw_of(node: Edge) -> Any:
    """Return the raw array of a leaf, if the program still refers to the leaf."""
    variable = node.variable() if isinstance(node, Leaf) else None
    return None if variable is None else variable._raw


def listed(variables: Any, what: str) -> list[Variable]:
    """Return Variables as a list.

    Raises
    ------
    ArgumentError
        If ``variables`` is neither a Variable nor a sequence.
    NoGradientError
        If something in the sequence is not a Variable.
    """
    if isinstance(variables, Variable):
        return [variables]
    if isinstance(variables, str | bytes | Mapping) or not isinstance(variables, Iterable):
        raise ArgumentError(
            f"{what} is a {type(variables).__qualname__}; it must be a Variable, or a list of them"
        )
    found = list(variables)
    for index, variable in enumerate(found):
        if not isinstance(variable, Variable):
            raise NoGradientError(
                f"{what}[{index}] is a {type(variable).__name__}, not a Variable: wrap arrays in "
                "ag.Variable before they are computed with"
            )
    return found
