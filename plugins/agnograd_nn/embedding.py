"""Embedding: rows of a table by their numbers."""

from __future__ import annotations

from typing import Any

from agnograd.extend import Backend, device_of
from agnograd_nn import ops

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
    single = xp.result_type(weight_dtype, xp.float32)  # a half stops growing at 2,048
    into, rows = (xp.astype(each, single, copy=False) for each in (into, rows))
    total = backend.scatter_add_axis(into, xp.reshape(indices, (-1,)), rows, 0)
    return xp.astype(total, weight_dtype, copy=False)


ops.linear(
    "nn.embedding(indices, weight, /, *, padding_idx=None)",
    weight=_weight,
    accumulate=_add_into,
    forward=embedding,
)
