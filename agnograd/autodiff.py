"""Backward passes over recorded graphs: ``backward`` fills leaves, ``grad`` returns gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._engine.ends import given_by, nodes_of, owned, pairs_of, run_backward, seeds_of
from agnograd._engine.run import run_pass
from agnograd._graph.inspection import Graph, graph_of
from agnograd._graph.nodes import RANK
from agnograd._util.checks import flags_in, variables_in
from agnograd.errors import NoGradientError

__all__ = ["Graph", "backward", "grad", "graph"]


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
        pairs_of(variables_in("variables", variables), grad_variables),
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
    pairs = pairs_of(variables_in("outputs", outputs), grad_outputs)
    wanted = variables_in("inputs", inputs)
    targets, seeds = nodes_of(wanted, "inputs"), seeds_of(pairs, create_graph)
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
    given, ends = given_by(seeds), zip(reached, wanted, strict=True)
    return tuple(end and owned(end[1], x._domain, given, x._raw) for end, x in ends)


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
    return graph_of(variables_in("variables", variables))
