"""Arguments that are neither Variables of the op's own backend nor its raw arrays."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from operator import index
from typing import TYPE_CHECKING, Any

from agnograd._asarray import holds_variable
from agnograd._graph import Edge
from agnograd._mode import is_grad_enabled
from agnograd._namespace import is_array, owner_of
from agnograd._variable import Variable
from agnograd.errors import MixedBackendsError, NoGradientError, UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._call import Call
    from agnograd._domain import Domain

__all__ = ["as_integer", "is_operand", "option", "unwrap", "unwrap_each"]


def unwrap(call: Call, name: str, value: Any, beside: Any = None) -> tuple[Any, Edge | None]:
    """Return an argument as the backend takes it, and the node that made it.

    Views are brought up to date, scalars of another library become Python scalars, lists with
    Variables in them are stacked, and arrays of another library constants ``beside`` the only other
    one if the backend accepts them; what is no array at all is left to the backend to judge.

    Raises
    ------
    MixedBackendsError
        If the argument is an array, or a Variable, of another backend.
    """
    domain = call.domain
    if isinstance(value, Variable):
        if value._domain is domain:
            return value._raw, value._node
        what = f"a Variable on {value._domain.backend.name}"
        raise _mixed(call, name, what, value._domain)
    if isinstance(value, domain.array_types):
        return value, None
    if isinstance(value, Number) and hasattr(value, "item"):
        return value.item(), None
    if isinstance(value, list | tuple) and holds_variable(value):
        return unwrap(call, name, domain.namespace.asarray(value))
    if is_array(value):
        if domain.backend.accepts(value):
            return domain.backend.constant(value, beside), None
        kind = type(value)
        what = f"an array of type {kind.__module__}.{kind.__qualname__}"
        raise _mixed(call, name, what, owner_of(value))
    if getattr(type(value), "__array_function__", None) is not None:
        raise _answering(call, name, type(value))
    return value, None


def unwrap_each(
    call: Call, name: str, values: Sequence[Any]
) -> tuple[list[Any], tuple[Edge | None, ...]]:
    """Unwrap every array of a sequence, which may also be one array with a leading axis."""
    domain = call.domain
    arrays: list[Any] = []
    edges: list[Edge | None] = []
    for place, value in enumerate(values):
        if type(value) is domain.Variable:
            arrays.append(value._raw)
            edges.append(value._node)
        else:
            array, edge = unwrap(call, f"{name}[{place}]", value)
            arrays.append(array)
            edges.append(edge)
    return arrays, tuple(edges)


def is_operand(call: Call, value: Any) -> bool:
    """Return whether a binary operator takes this operand, or leaves it to the operand's type."""
    if isinstance(value, (Variable, Number, *call.domain.array_types)):
        return True
    if isinstance(value, list | tuple) and holds_variable(value):
        return True
    return is_array(value) or call.domain.backend.accepts(value)


def option(call: Call, name: str, value: Any) -> Any:
    """Return what was given for a parameter that takes no array; an integer of NumPy's as Python's.

    Raises
    ------
    NoGradientError
        If it is a tracked Variable, whose gradient would be lost.
    """
    if not isinstance(value, Variable):
        return as_integer(value)
    if value.requires_grad and is_grad_enabled():
        raise NoGradientError(
            f"{call.name}: {name!r} requires a gradient, and is no input that has one: pass "
            f"{name}={name}.item(), or detach() what is no single number"
        )
    return value.data if value.shape else value.item()


def as_integer(value: Any) -> Any:
    """Return an integer of NumPy's, which is no instance of ``int``, as Python's; others as is."""
    try:
        return value if isinstance(value, bool) else index(value)
    except TypeError:
        return value


def _answering(call: Call, name: str, kind: type) -> UnsupportedArrayError:
    return UnsupportedArrayError(
        f"{call.name}: argument {name!r} is a {kind.__module__}.{kind.__qualname__}, which answers "
        f"NumPy's functions and is no array of backend {call.domain.backend.name!r}: call NumPy's "
        "function instead of the namespace's (xarray does with skipna=False), or pass the array "
        "that it holds"
    )


def _mixed(call: Call, name: str, what: str, owner: Domain | None) -> MixedBackendsError:
    backend = call.domain.backend.name
    return MixedBackendsError(
        f"{call.name}: argument {name!r} is {what}, but the op runs on backend {backend!r}; "
        f"{call.domain.how_to_meet(owner)}"
    )
