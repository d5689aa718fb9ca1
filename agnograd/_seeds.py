"""The two ends of a pass: cotangents that users hand in, gradients that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agnograd._graph import Edge
from agnograd._variable import Variable
from agnograd.errors import GradientError, NoGradientError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = [
    "Seeds",
    "cotangent_list",
    "given_by",
    "nodes_of",
    "owned",
    "raw_seed",
    "seed_of",
    "seeds_of",
]

# Where a pass starts, and with which cotangents.
Seeds = Sequence[tuple[Edge, Any]]


def cotangent_list(cotangents: Any, outputs: Sequence[Variable]) -> list[Any]:
    """Return one cotangent, or None, for each output."""
    if cotangents is None:
        return [None] * len(outputs)
    found = list(cotangents) if isinstance(cotangents, list | tuple) else [cotangents]
    if len(found) != len(outputs):
        raise GradientError(
            f"{len(found)} cotangents were given for {len(outputs)} outputs; give one for each, "
            "or None for a real value of one element"
        )
    return found


def nodes_of(variables: Sequence[Variable], what: str) -> list[Edge]:
    """Return the nodes that made Variables; all of them must have one."""
    nodes: list[Edge] = []
    for index, variable in enumerate(variables):
        if variable._node is None:
            raise NoGradientError(
                f"{what}[{index}] requires no gradient: set requires_grad before computing with it"
            )
        nodes.append(variable._node)
    return nodes


def seeds_of(
    outputs: Sequence[Variable],
    cotangents: Sequence[Any],
    create_graph: bool,
    loss_scale: float | None,
) -> list[tuple[Edge, Any]]:
    """Return where a pass starts: the outputs' nodes and their checked cotangents."""
    seeds: list[tuple[Any, Any]] = []
    for output, cotangent in zip(outputs, cotangents):  # noqa: B905 - by name it takes a third of a µs
        if output._node is None:
            nodes_of(outputs, "outputs")  # an error, which says which one it is
        g = seed_of(output, cotangent)
        if loss_scale is not None:
            g = g * loss_scale
        seeds.append((output._node, g if create_graph else raw_seed(g)))
    return seeds


def seed_of(output: Variable, cotangent: Any) -> Variable:
    """Return the cotangent of an output as a Variable, one by default."""
    domain = output._domain
    value = output._raw
    if cotangent is None:
        if value.shape and output.size != 1:
            raise NoGradientError(
                f"a gradient is implied for values of one element alone, not of shape "
                f"{value.shape}: pass the gradient, with that shape, or reduce the value with "
                "xp.sum or xp.mean"
            )
        if domain.is_complex(value.dtype):
            raise NoGradientError(
                "a complex value has no implied gradient: pass one, or differentiate its real or "
                "imaginary part, or its absolute value"
            )
        made: Variable = domain.Variable._make(domain.ones(value), None)
        return made
    if not isinstance(cotangent, Variable):
        if isinstance(cotangent, bool | int | float | complex | list | tuple):
            cotangent = domain.library.asarray(cotangent, dtype=value.dtype, device=output.device)
        cotangent = domain.Variable._make(domain.to_raw(cotangent), None)
    elif cotangent._domain is not domain:
        cotangent = domain.Variable._make(domain.to_raw(cotangent), None)
    raw = cotangent._raw
    if raw.shape != value.shape or raw.dtype != value.dtype:
        raise GradientError(
            f"a cotangent of shape {raw.shape} and dtype {raw.dtype} does not fit a value of shape "
            f"{value.shape} and dtype {value.dtype}; it must have the value's"
        )
    checked: Variable = cotangent
    return checked


def raw_seed(g: Variable) -> Any:
    """Return a cotangent for a pass over raw arrays: as results are, for speed."""
    raw, domain = g._raw, g._domain
    if type(raw) is domain.number_type or raw.shape:
        return raw
    return domain.backend.scalar(raw)


def owned(g: Any, domain: Domain, given: dict[int, Any], x: Any = None) -> Variable:
    """Return a gradient as users get it: a Variable that shares memory with nothing else.

    Parameters
    ----------
    g : array or Variable
        A raw gradient, which is copied if it is a view, or given out already, as the cotangents are
        that users handed in. One that is a Variable stays connected.
    domain : Domain
        Its backend's.
    given : dict
        What is given out already, by its identity: see ``given_by``. The gradient is added.
    x : array, optional
        The raw array as which the gradient is laid out.
    """
    # Asked of its type first, since it takes half of the time.
    if type(g) not in domain.viewable_types and isinstance(g, Variable):
        raw = g._raw if x is None else domain.backend.laid_out(g._raw, x)
        return g if raw is g._raw else domain.Variable._make(raw, g._node)
    own = g if x is None else domain.backend.laid_out(g, x)
    if id(own) in given:
        own = domain.copy(own)
    else:
        own = domain.backend.own(own)
        given[id(own)] = own
        if own is not g:
            given[id(g)] = g
    # As Domain.wrap, without a call: a loop has many small passes.
    variable: Variable = next(domain.blank)
    variable._raw, variable._node = own, None
    return variable


def given_by(seeds: Seeds) -> dict[int, Any]:
    """Return the cotangents that a pass began with, by their identity."""
    return {id(g): g for _, g in seeds}
