"""What becomes of a pass's gradients: they go into leaves, or are returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from agnograd._engine.ends import Seeds, given_by, listed, nodes_of, owned, seeds_of
from agnograd._engine.run import run_pass
from agnograd._graph.nodes import RANK, Edge, Leaf, domain_at, watch
from agnograd._hooks.entering import enable_grad, no_grad
from agnograd._hooks.state import current_mode, set_mode
from agnograd._util.checks import flags_in, number_in
from agnograd._util.locks import Lock
from agnograd.errors import NoGradientError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._arrays.variable import Variable

_commits = Lock()
_GRAD = repeat("grad")


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
        variable = leaf.variable()
        if variable is not None:
            with no_grad():
                for hook in tuple((leaf.accumulated or {}).values()):
                    hook(variable)


def _added(held: Variable, g: Any, domain: Domain) -> Variable:
    """Return the sum of a new gradient and the one that a leaf holds."""
    if isinstance(g, domain.Variable) or held._node is not None:
        with enable_grad():  # this pass was recorded, or an earlier one, and so is the sum
            return held + g  # type: ignore[no-any-return]
    with domain.backend.on_device(g):
        return domain.Variable._make(held._raw + g, None)  # type: ignore[no-any-return]


def _raw_of(node: Edge) -> Any:
    """Return the raw array of a leaf, if the program still refers to the leaf."""
    variable = node.variable() if isinstance(node, Leaf) else None
    return None if variable is None else variable._raw


def gradients(
    pairs: Sequence[tuple[Variable, Any]],
    wanted: Sequence[Variable],
    *,
    retain_graph: bool,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[Variable | None, ...]:
    """Run a pass from outputs with their cotangents, and return the gradients of some values."""
    targets = nodes_of(wanted, "inputs")
    seeds = seeds_of(pairs, create_graph)
    found = run_pass(
        seeds,
        starts=pairs,
        targets=targets,
        create_graph=create_graph,
        retain_graph=retain_graph,
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
