"""Embedding: rows of a table by their numbers."""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any

from agnograd.extend import Backend, device_of, is_tracked
from agnograd_nn import ops
from agnograd_nn.normalisation import single

__all__ = ["embedding"]

Shape = tuple[int, ...]


def embedding(xp: Any, indices: Any, weight: Any, *, padding_idx: int | None = None) -> Any:
    """Return the rows of a table that indices name.

    Parameters
    ----------
    indices : array
        Integers, of any shape.
    weight : array, shape (rows, columns)
    padding_idx : int, optional
        The row that has no gradient.

    Returns
    -------
    array, shape (*indices.shape, columns)
    """
    rows = xp.take(weight, xp.reshape(indices, (-1,)), axis=0)
    return xp.reshape(rows, (*indices.shape, weight.shape[1]))


def _counted(g: Any, indices: Any, padding_idx: int | None, rows: int, xp: Any) -> Any:
    """Return the gradient with zeros for the row that has none."""
    if padding_idx is None:
        return g
    return xp.where(xp.expand_dims(indices == padding_idx % rows, axis=-1), 0.0, g)


def _weight(g: Any, indices: Any, padding_idx: int | None, weight_shape: Shape, xp: Any) -> Any:
    g = _counted(g, indices, padding_idx, weight_shape[0], xp)
    return xp.scatter_add_axis(g, indices, axis=0, shape=weight_shape)


def _add_into(
    into: Any,
    g: Any,
    indices: Any,
    padding_idx: int | None,
    weight_shape: Shape,
    weight_dtype: Any,
    xp: Any,
    backend: Backend,
) -> Any:
    if into is None:
        into = xp.zeros(weight_shape, dtype=weight_dtype, device=device_of(g))
    g = _counted(g, indices, padding_idx, weight_shape[0], xp)
    rows = xp.reshape(g, (-1, weight_shape[1]))
    into, rows = single(into, xp), single(rows, xp)  # a half stops growing at 2,048
    total = backend.scatter_add_axis(into, xp.reshape(indices, (-1,)), rows, 0)
    return xp.astype(total, weight_dtype, copy=False)


def _batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    indices: Any,
    weight: Any,
    *,
    padding_idx: int | None = None,
) -> Any:
    if "weight" not in mapped:
        return xp.nn.embedding(indices, weight, padding_idx=padding_idx)
    _, rows, columns = weight.shape
    if "indices" not in mapped:  # the tables lie beside each other
        table = xp.reshape(xp.moveaxis(weight, 0, 1), (rows, size * columns))
        out = xp.nn.embedding(indices, table, padding_idx=padding_idx)
        return xp.moveaxis(xp.reshape(out, (*indices.shape, size, columns)), -2, 0)
    shape = indices.shape[1:]
    places = xp.reshape(indices, (size, math.prod(shape), 1))
    wide = xp.broadcast_to(places, (*places.shape[:-1], columns))
    out = xp.take_along_axis(weight, wide, axis=1)
    if padding_idx is not None and is_tracked(out):
        out = xp.where(places == padding_idx % rows, out.detach(), out)
    return xp.reshape(out, (size, *shape, columns))


ops.linear(
    "nn.embedding(indices, weight, /, *, padding_idx=None)",
    weight=_weight,
    accumulate=_add_into,
    batch=_batch,
    forward=embedding,
)
