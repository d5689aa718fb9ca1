"""Adding and writing at an index in the standard only: ``Backend``'s defaults.

Where arrays are immutable, or are not read by masks, no array is written to, and nothing depends on
the values of an index: each place of the result selects what belongs there. What is not selected is
left out, not multiplied with zero, which would spread infinities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import getitem
from typing import Any

from agnograd._ops.rule_helpers import device_of, is_basic, is_mask, without_newaxis
from agnograd._util.switches import switch

Rows = Callable[[Any, Any, Any, Any], Any]

# How many elements of what is selected are made at once: 32 MiB in float64.
SELECTED_ELEMENTS = switch("SELECTED_ELEMENTS", 2**22, least=1, most=2**62, module=__name__)


def scatter_add(backend: Any, into: Any, key: Any, values: Any) -> Any:
    """Add ``values`` to ``into[key]``, repeated positions adding up; return the result.

    Positions that cannot repeat are read, added to and written, if the library can.
    """
    xp = backend.namespace()
    able = backend.capabilities
    basic, mask = is_basic(key), is_mask(key, xp)
    if not able.immutable and basic:
        key = without_newaxis(key)
        here = into[key]
        into[key] = here + xp.reshape(values, here.shape)
        return into
    if not able.immutable and mask and able.boolean_indexing:
        into[key] = into[key] + values
        return into
    if not (basic or mask):
        return _at_positions(backend, into, key, values, _add_rows)
    chosen = _chosen(xp, into, key, values)
    if chosen is None:
        return into
    values, where = chosen
    return into + (values if where is None else xp.where(where, values, xp.zeros_like(into)))


def scatter_add_axis(xp: Any, into: Any, indices: Any, values: Any, axis: int) -> Any:
    """Add slices of ``values`` along an axis to those of ``into`` that ``indices`` name."""
    front = xp.moveaxis(into, axis, 0)
    length, *rest = front.shape
    width = math.prod(rest)
    # A narrow dtype may not hold the sum.
    indices = xp.astype(indices, xp.arange(0).dtype)
    indices = xp.where(indices < 0, indices + length, indices)
    values = xp.reshape(xp.moveaxis(values, axis, 0), (indices.shape[0], width))
    rows = _add_rows(xp, xp.reshape(front, (length, width)), indices, values)
    return xp.moveaxis(xp.reshape(rows, front.shape), 0, axis)


def written(backend: Any, x: Any, key: Any, value: Any) -> Any:
    """Return ``x`` with ``value`` at ``key``; where positions repeat, the last one stands."""
    xp = backend.namespace()
    if not hasattr(value, "dtype"):
        value = xp.asarray(value, dtype=x.dtype, device=device_of(x))
    elif value.dtype != x.dtype:
        if xp.isdtype(value.dtype, "complex floating"):
            raise TypeError(
                f"a value of dtype {value.dtype} does not fit into an array of dtype {x.dtype}; "
                "write its real part, or make the array complex first"
            )
        value = xp.astype(value, x.dtype)
    if not (is_basic(key) or is_mask(key, xp)):
        return _at_positions(backend, x, key, value, _write_rows)
    chosen = _chosen(xp, x, key, value)
    if chosen is None:
        return xp.asarray(x, copy=True)
    value, where = chosen
    if where is None:
        return xp.asarray(xp.broadcast_to(value, x.shape), copy=True)
    return xp.where(where, value, x)


# -- basic keys and masks: each place has one value at most --------------------------------------


def _chosen(xp: Any, x: Any, key: Any, values: Any) -> tuple[Any, Any] | None:
    """Return what a basic key or a mask gives each place, and which places; None if it gives none.

    The values broadcast to the shape of ``x``. The second is None where all places are selected.
    """
    if is_mask(key, xp):
        return _masked(xp, x, key, values)
    parts = _parts(without_newaxis(key), x.shape)
    lengths = tuple(len(part) for part in parts if isinstance(part, range))
    if 0 in lengths:
        return None
    values = xp.broadcast_to(_without_leading_ones(xp, values, lengths), lengths)
    values = xp.reshape(values, tuple(len(p) if isinstance(p, range) else 1 for p in parts))
    where = None
    for axis, (part, length) in enumerate(zip(parts, x.shape, strict=True)):
        if part == range(length):
            continue
        ramp = xp.arange(length, device=device_of(x))
        if isinstance(part, range):
            place = (ramp - part.start) // part.step
            hit = (place * part.step + part.start == ramp) & (place >= 0) & (place < len(part))
            values = xp.take(values, xp.where(hit, place, xp.zeros_like(place)), axis=axis)
        else:
            hit = ramp == part
        hit = xp.reshape(hit, tuple(length if i == axis else 1 for i in range(x.ndim)))
        where = hit if where is None else where & hit
    return values, where


def _without_leading_ones(xp: Any, values: Any, shape: tuple[int, ...]) -> Any:
    """Return values without the leading axes of length one that their place does not have."""
    extra = values.ndim - len(shape)
    if extra > 0 and all(length == 1 for length in values.shape[:extra]):
        return xp.reshape(values, values.shape[extra:])
    return values


def _parts(key: Any, shape: tuple[int, ...]) -> list[range | int]:
    """Return what a basic key without new axes selects of each axis: a range, or one place."""
    given = list(key) if isinstance(key, tuple) else [key]
    if not any(part is Ellipsis for part in given):
        given.append(Ellipsis)
    if len(given) - 1 > len(shape):
        raise IndexError(
            f"a key of {len(given) - 1} parts is too long for an array of {len(shape)} axes"
        )
    middle = next(i for i, part in enumerate(given) if part is Ellipsis)
    given[middle : middle + 1] = [slice(None)] * (len(shape) - len(given) + 1)
    parts = []
    for axis, (part, length) in enumerate(zip(given, shape, strict=True)):
        try:
            parts.append(range(length)[part])
        except IndexError as error:
            raise IndexError(
                f"index {part} is out of bounds for axis {axis} of length {length}"
            ) from error
    return parts


def _masked(xp: Any, x: Any, mask: Any, values: Any) -> tuple[Any, Any]:
    """Return what a mask of the leading axes selects: the values in the order of its places."""
    rest = x.shape[mask.ndim :]
    where = xp.reshape(mask, (*mask.shape, *(1 for _ in rest)))
    if values.ndim == len(rest) + 1 and values.shape[0] == 1:  # one value for each place
        values = xp.reshape(values, values.shape[1:])
    if values.ndim <= len(rest):
        return values, where
    # A place in the table for what is selected by nothing: values may be none.
    width = math.prod(rest)
    table = xp.reshape(xp.broadcast_to(values, (values.shape[0], *rest)), (-1, width))
    table = xp.concat([xp.zeros_like(xp.reshape(x, (-1, width))[:1, :]), table], axis=0)
    flat = xp.astype(xp.reshape(mask, (-1,)), xp.arange(0).dtype)
    rows = xp.take(table, xp.cumulative_sum(flat, axis=0) * flat, axis=0)
    return xp.reshape(rows, x.shape), where


# -- integer arrays: a place may be named several times ------------------------------------------


def _at_positions(backend: Any, x: Any, key: Any, values: Any, change: Rows) -> Any:
    """Let a function of rows change the elements of ``x`` that the library's indexing selects."""
    xp = backend.namespace()
    every = xp.reshape(xp.arange(math.prod(x.shape), device=device_of(x)), x.shape)
    selected = backend.operator(getitem)(every, key if isinstance(key, tuple) else (key,))
    values = xp.broadcast_to(_without_leading_ones(xp, values, selected.shape), selected.shape)
    rows, column = xp.reshape(selected, (-1,)), xp.reshape(values, (-1, 1))
    return xp.reshape(change(xp, xp.reshape(x, (-1, 1)), rows, column), x.shape)


def _add_rows(xp: Any, into: Any, indices: Any, values: Any) -> Any:
    """Return ``into`` with row j of ``values`` added to row ``indices[j]``."""

    def add(rows: Any, selects: Any) -> Any:
        selected = xp.where(xp.expand_dims(selects, axis=2), values, xp.zeros_like(values))
        return rows + xp.sum(selected, axis=1)

    return _in_blocks(xp, into, indices, math.prod(values.shape), add)


def _write_rows(xp: Any, into: Any, indices: Any, values: Any) -> Any:
    """Return ``into`` with row j of ``values`` as row ``indices[j]``; the last one stands."""
    count = indices.shape[0]
    if count == 0:
        return into
    numbers = xp.arange(1, count + 1, device=device_of(into))

    def write(rows: Any, selects: Any) -> Any:
        last = xp.max(xp.where(selects, numbers, xp.zeros_like(numbers)), axis=1)
        chosen = xp.take(values, xp.where(last > 0, last - 1, xp.zeros_like(last)), axis=0)
        return xp.where(xp.expand_dims(last > 0, axis=1), chosen, rows)

    return _in_blocks(xp, into, indices, count, write)


def _in_blocks(
    xp: Any, into: Any, indices: Any, width: int, change: Callable[[Any, Any], Any]
) -> Any:
    """Change rows block by block, with which of the indices name each row of the block."""
    length = into.shape[0]
    if length == 0:
        return into
    every = xp.arange(length, device=device_of(into))
    height = max(1, SELECTED_ELEMENTS // max(1, width))
    blocks = []
    for start in range(0, length, height):
        rows = slice(start, min(start + height, length))
        blocks.append(change(into[rows, :], xp.expand_dims(every[rows], axis=1) == indices))
    return xp.concat(blocks, axis=0) if len(blocks) > 1 else blocks[0]
