"""Adding at an index, only in the standard: the default for libraries that have no such thing."""

from __future__ import annotations

import math
from operator import getitem
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agnograd._ops.rule_helpers import is_basic, without_newaxis
from agnograd._plugins.selection import add_rows, added, is_mask, written

if TYPE_CHECKING:
    from agnograd._plugins.backend import Backend


def scatter_add(backend: Backend, into: Any, key: Any, values: Any) -> Any:
    """Add ``values`` to ``into[key]``, repeated positions adding up; return the result.

    Positions that cannot repeat are read, added to and written, if the library can.
    """
    xp: Any = backend.namespace()
    if not backend.capabilities.immutable:
        if is_basic(key):
            key = without_newaxis(key)
            here = into[key]
            into[key] = here + xp.reshape(values, here.shape)
            return into
        if is_mask(xp, key) and backend.capabilities.boolean_indexing:
            into[key] = into[key] + values
            return into
    return added(xp, into, key, values, backend.operator(getitem))


def scatter_add_axis(xp: ModuleType, into: Any, indices: Any, values: Any, axis: int) -> Any:
    """Add slices of ``values`` along an axis to those of ``into`` that ``indices`` name."""
    front = xp.moveaxis(into, axis, 0)
    values = xp.moveaxis(values, axis, 0)
    rest = math.prod(front.shape[1:])
    length = front.shape[0]
    # A narrow dtype may not hold the sum.
    indices = xp.astype(indices, xp.arange(0).dtype)
    indices = xp.where(indices < 0, indices + length, indices)
    rows = add_rows(
        xp,
        xp.reshape(front, (length, rest)),
        indices,
        xp.reshape(values, (indices.shape[0], rest)),
    )
    return xp.moveaxis(xp.reshape(rows, front.shape), 0, axis)


def set_at(backend: Backend, x: Any, key: Any, value: Any) -> Any:
    """Return a copy of ``x`` with ``value`` at ``key``."""
    xp: Any = backend.namespace()
    if _selects(backend, xp, key):
        return written(xp, x, key, value, backend.operator(getitem))
    out = xp.asarray(x, copy=True)
    out[key] = value
    return out


def put_at(backend: Backend, x: Any, key: Any, value: Any) -> Any:
    """Return ``x`` with ``value`` at ``key``, written in place where the library can."""
    xp = backend.namespace()
    if _selects(backend, xp, key):
        return written(xp, x, key, value, backend.operator(getitem))
    x[key] = value
    return x


def _selects(backend: Backend, xp: ModuleType, key: Any) -> bool:
    """Return whether the library cannot write at a key."""
    able = backend.capabilities
    return able.immutable or (not able.boolean_indexing and is_mask(xp, key))
