"""The two ends of a pass: cotangents that users hand in, gradients that they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from agnograd._engine.run import run_pass
from agnograd._graph.nodes import Edge, Leaf, Value, domain_at, watch
from agnograd._hooks.entering import enable_grad, no_grad
from agnograd._hooks.state import current_mode, set_mode
from agnograd._plugins.backend import RawDomain
from agnograd._util.checks import flags_in, number_in, variables_in
from agnograd._util.locks import Lock
from agnograd.errors import GradientError, NoGradientError

# Where a pass starts, and with which cotangents.
Seeds = Sequence[tuple[Edge, Any]]

_commits = Lock()
_GRAD = repeat("grad")


def run_backward(
    pairs: Sequence[tuple[Value, Any]],
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Value | Sequence[Value] | None = None,
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
    targets = None if inputs is None else nodes_of(variables_in("inputs", inputs), "inputs")
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
    """Add gradients to those that leaves, and watched values, hold: all of them or none."""
    given = given_by(seeds)
    places: list[Any] = []
    sums: list[Value] = []
    awaited: list[Leaf] = []
    mode = current_mode()
    if mode is not None and mode.tape is not None:
        mode.tape.commits(node for node, _ in found.values())
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
                x = node.variable() if domain.lays_out and isinstance(node, Leaf) else None
                like = None if x is None else x._raw
                if type(g) in domain.plain_types:  # most often; as `owned`, in fewer calls
                    total = next(domain.blank)
                    total._raw, total._node = domain.own(g, given, like), None
                else:
                    total = owned(g, domain, given, like)
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


def _added(held: Any, g: Any, domain: RawDomain) -> Any:
    """Return the sum of a new gradient and the one that a leaf holds."""
    if isinstance(g, domain.Variable) or held._node is not None:
        with enable_grad():  # this pass was recorded, or an earlier one, and so is the sum
            return held + g
    with domain.backend.on_device(g):
        return domain.Variable._make(held._raw + g, None)


def pairs_of(outputs: Sequence[Value], cotangents: Any) -> list[tuple[Value, Any]]:
    """Return each output with its cotangent, or None."""
    if cotangents is None:
        return [(output, None) for output in outputs]
    found = list(cotangents) if isinstance(cotangents, list | tuple) else [cotangents]
    if len(found) != len(outputs):
        raise GradientError(
            f"{len(found)} cotangents were given for {len(outputs)} outputs; give one for each, "
            "or None for a real value of one element"
        )
    return list(zip(outputs, found, strict=True))


def nodes_of(variables: Sequence[Value], what: str) -> list[Edge]:
    """Return the nodes that made Variables; all of them must have one."""
    nodes: list[Edge] = []
    for index, variable in enumerate(variables):
        if variable._node is None:
            dtype = variable._raw.dtype
            reason = "set requires_grad before computing with it"
            if not variable._domain.is_inexact(dtype):
                reason = (
                    f"it is of {dtype}, and a conversion to that (astype), a comparison "
                    "or a count ends gradients; differentiate what it was computed from"
                )
            raise NoGradientError(f"{what}[{index}] requires no gradient: {reason}")
        nodes.append(variable._node)
    return nodes


def seeds_of(
    pairs: Sequence[tuple[Value, Any]], create_graph: bool, loss_scale: float | None = None
) -> list[tuple[Edge, Any]]:
    """Return where a pass starts: the outputs' nodes and their checked cotangents."""
    seeds: list[tuple[Any, Any]] = []
    checked = seed_of if create_graph else raw_seed
    for output, cotangent in pairs:
        node = output._node
        if node is None:
            nodes_of([output for output, _ in pairs], "outputs")  # an error: which one it is
        g = checked(output, cotangent)
        seeds.append((node, g if loss_scale is None else g * loss_scale))
    return seeds


def seed_of(output: Value, cotangent: Any, what: str = "a cotangent") -> Any:
    """Return the cotangent of an output, or a tangent, as a Variable, one by default."""
    domain = output._domain
    if domain.level and cotangent is not None:
        cotangent = domain.raised(cotangent, True)
    raw = raw_seed(output, cotangent, what)
    return cotangent if isinstance(cotangent, domain.Variable) else domain.Variable._make(raw, None)


def raw_seed(output: Value, cotangent: Any, what: str = "a cotangent") -> Any:
    """Return the cotangent of an output as a raw array, as results are, for speed."""
    domain, value = output._domain, output._raw
    if type(cotangent) is domain.Variable:
        raw = cotangent._raw
        if type(raw) is domain.number_type is type(value):
            return raw
    elif cotangent is None:
        raw = _implied(output)
    elif isinstance(cotangent, bool | int | float | complex | list | tuple):
        try:
            raw = domain.library.asarray(cotangent, dtype=value.dtype, device=domain.device(value))
        except (TypeError, ValueError) as error:
            raise GradientError(
                f"{what} of numbers is needed, of shape {value.shape}, not a list that makes no "
                f"array: {error}"
            ) from error
    else:
        raw = domain.to_raw(cotangent)
    if raw.shape != value.shape or (raw.dtype is not value.dtype and raw.dtype != value.dtype):
        raise GradientError(
            f"{what} of shape {raw.shape} and dtype {raw.dtype} does not fit a value of shape "
            f"{value.shape} and dtype {value.dtype}; it must have the value's"
        )
    if type(raw) is domain.number_type or raw.shape:
        return raw
    return domain.backend.scalar(raw)


def _implied(output: Value) -> Any:
    """Return the cotangent of an output for which none is given: one."""
    value = output._raw
    if value.shape and output._domain.size(value) != 1:
        raise NoGradientError(
            f"a gradient is implied only for values of one element, not of shape "
            f"{value.shape}: pass the gradient, with that shape, or reduce the value with "
            "xp.sum or xp.mean"
        )
    if output._domain.is_complex(value.dtype):
        raise NoGradientError(
            "a complex value has no implied gradient: pass one, or differentiate its real or "
            "imaginary part, or its absolute value"
        )
    return output._domain.ones(value)


def owned(g: Any, domain: RawDomain, given: dict[int, Any], x: Any = None) -> Any:
    """Return a gradient as users get it: a Variable that shares memory with nothing else.

    A Variable stays connected. All else is as for ``Domain.own``.
    """
    if not isinstance(g, domain.Variable):
        variable = next(domain.blank)
        variable._raw, variable._node = domain.own(g, given, x), None
        return variable
    raw = g._raw if x is None else domain.backend.laid_out(g._raw, x)
    return g if raw is g._raw else domain.Variable._make(raw, g._node)


def given_by(seeds: Seeds) -> dict[int, Any]:
    """Return the cotangents that a pass began with, by their identity."""
    given = {}
    for _, g in seeds:  # for which a comprehension would be a call, in every small pass
        given[id(g)] = g
    return given
