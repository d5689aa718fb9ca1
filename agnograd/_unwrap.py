"""Arguments that are neither Variables of the op's own backend nor its raw arrays."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

from agnograd._graph import Edge
from agnograd._namespace import is_array
from agnograd._variable import Variable
from agnograd.errors import MixedBackendsError

if TYPE_CHECKING:
    from agnograd._call import Call

__all__ = ["is_operand", "unwrap", "unwrap_each"]


def unwrap(call: Call, name: str, value: Any, beside: Any = None) -> tuple[Any, Edge | None]:
    """Return an argument as the backend takes it, and the node that made it.

    Views are brought up to date, scalars of another library become Python scalars, and arrays of
    another library constants ``beside`` the only other one if the backend accepts them; what is no
    array at all is left to the backend to judge.

    Raises
    ------
    MixedBackendsError
        If the argument is an array, or a Variable, of another backend.
    """
    domain = call.domain
    if isinstance(value, Variable):
        if value._domain is domain:
            return value._raw, value._node
        raise _mixed(call, name, f"a Variable on {value._domain.backend.name}")
    if isinstance(value, domain.array_types):
        return value, None
    if isinstance(value, Number) and hasattr(value, "item"):
        return value.item(), None
    if is_array(value):
        if domain.backend.accepts(value):
            return domain.backend.constant(value, beside), None
        kind = type(value)
        raise _mixed(call, name, f"an array of type {kind.__module__}.{kind.__qualname__}")
    return value, None


def unwrap_each(
    call: Call, name: str, values: Sequence[Any]
) -> tuple[list[Any], tuple[Edge | None, ...]]:
    """Unwrap every array of a sequence, which may also be one array with a leading axis."""
    domain = call.domain
    arrays: list[Any] = []
    edges: list[Edge | None] = []
    for index, value in enumerate(values):
        if type(value) is domain.Variable:
            arrays.append(value._raw)
            edges.append(value._node)
        else:
            array, edge = unwrap(call, f"{name}[{index}]", value)
            arrays.append(array)
            edges.append(edge)
    return arrays, tuple(edges)


def is_operand(call: Call, value: Any) -> bool:
    """Return whether a binary operator takes this operand, or leaves it to the operand's type."""
    if isinstance(value, (Variable, Number, *call.domain.array_types)):
        return True
    return is_array(value) or call.domain.backend.accepts(value)


def _mixed(call: Call, name: str, what: str) -> MixedBackendsError:
    backend = call.domain.backend.name
    return MixedBackendsError(
        f"{call.name}: argument {name!r} is {what}, but the op runs on backend {backend!r}; "
        f"move it there first, with its gradient, by ag.asarray(x, backend={backend!r})"
    )
