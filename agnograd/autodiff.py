"""Backward passes over recorded graphs: ``backward`` into leaves, ``grad`` into return values."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from agnograd._engine import run_pass
from agnograd._graph import RANK, Edge, Leaf, domain_at, watch
from agnograd._inspection import Graph, graph_of
from agnograd._mode import enable_grad, no_grad
from agnograd._seeds import Seeds, given_by, nodes_of, owned, pairs_of, seeds_of
from agnograd._variable import Variable
from agnograd.errors import NoGradientError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["Graph", "backward", "grad", "graph"]

_commits = threading.RLock()
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
        Their cotangents, of the same shapes and dtypes; None means one, for a real value of a
        single element.
    retain_graph : bool, optional
        Keep saved values for another pass; by default what ``create_graph`` says.
    create_graph : bool
        Record the pass itself, so that the gradients can be differentiated.
    inputs : Variable or sequence of Variable, optional
        Accumulate into these alone, leaves or not.

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
        pairs_of(_listed(variables), grad_variables),
        retain_graph=retain_graph,
        create_graph=create_graph,
        inputs=None if inputs is None else _listed(inputs),
    )


def grad(
    outputs: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Variable | None, ...]:
    """Return the gradients of outputs with respect to inputs, and change no ``grad``.

    Parameters
    ----------
    outputs : Variable or sequence of Variable
        The values to differentiate.
    inputs : Variable or sequence of Variable
        Leaves or intermediate values.
    grad_outputs : array, Variable, None, or sequence of array
        The cotangents of the outputs; None means one, for a real value of a single element.
    retain_graph, create_graph : bool
        As in ``backward``.
    allow_unused : bool
        Give None for an input that no output depends on, instead of an error.

    Returns
    -------
    tuple of Variable or None
        One gradient for each input, of its shape, dtype and device.

    Raises
    ------
    NoGradientError
        If an output or input carries no gradient, or an input is unused and that is not allowed.
    GradientError, FreedGraphError, MissingRuleError
        As in ``backward``.
    """
    pairs = pairs_of(_listed(outputs), grad_outputs)
    wanted = _listed(inputs)
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
    """Return all that values depend on, as plain data.

    Parameters
    ----------
    variables : Variable or sequence of Variable
        The values.

    Returns
    -------
    Graph
        ``nodes``, the oldest first, each with its ``id``, ``kind`` ("op" or "leaf"), ``name``,
        ``chapter``, and what it ``saved`` (None once that is freed); ``edges`` from the ``source``
        to the ``target`` that uses its value as input number ``place``; and the nodes of the
        ``outputs``. It holds no node and no array.

    Examples
    --------
    >>> import agnograd as ag
    >>> x = ag.Variable(2.0)
    >>> found = ag.autodiff.graph(x * x)
    >>> [node.name for node in found.nodes]
    ['leaf', 'multiply']
    """
    return graph_of(_listed(variables))


def run_backward(
    pairs: Sequence[tuple[Variable, Any]],
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Variable] | None = None,
    retain_grads: bool = False,
    loss_scale: float | None = None,
) -> None:
    """Run a pass from outputs with their cotangents, and commit its gradients if it succeeds."""
    targets = None if inputs is None else nodes_of(inputs, "inputs")
    seeds = seeds_of(pairs, create_graph, loss_scale)
    found = run_pass(
        seeds,
        starts=pairs,
        targets=targets,
        create_graph=create_graph,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        retain_grads=retain_grads,
    )
    commit(found, seeds)


def commit(found: Mapping[int, tuple[Edge, Any]], seeds: Seeds) -> None:
    """Add gradients to what leaves (and watched values) hold, all of them or none.

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
    """Return the sum of the gradient that a leaf holds and another one."""
    if isinstance(g, Variable):
        with enable_grad():  # the pass was recorded, and so is the sum
            connected: Variable = held + g
            return connected
    with domain.backend.on_device(g):
        total: Variable = domain.Variable._make(held._raw + g, None)
        return total


def _raw_of(node: Edge) -> Any:
    """Return the raw array of a leaf, if the program still has it."""
    variable = node.variable() if isinstance(node, Leaf) else None
    return None if variable is None else variable._raw


def _listed(variables: Any) -> list[Variable]:
    found = [variables] if isinstance(variables, Variable) else list(variables)
    for index, variable in enumerate(found):
        if not isinstance(variable, Variable):
            raise NoGradientError(
                f"element {index} is {type(variable).__name__}, not a Variable: wrap arrays in "
                "ag.Variable before they are computed with"
            )
    return found
