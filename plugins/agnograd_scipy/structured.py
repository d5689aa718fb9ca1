"""Matrices that repeat their elements, and matrices of blocks, of ``scipy.linalg``.

They are linear in what they are made of: selections of its elements, and sums of these.
"""

from __future__ import annotations

from typing import Any

from agnograd.extend import device_of, operand
from agnograd_scipy import linalg
from agnograd_scipy._arrays import filled

__all__: list[str] = []


def _ready(xp: Any, *values: Any) -> list[Any]:
    """Return arrays and nested lists as arrays of one dtype."""
    found = [operand(xp, each) if hasattr(each, "dtype") else each for each in values]
    known = next((each for each in found if hasattr(each, "dtype")), None)
    device = None if known is None else device_of(known)
    arrays = [x if hasattr(x, "dtype") else xp.asarray(x, device=device) for x in found]
    dtype = xp.result_type(*arrays)
    return [xp.astype(each, dtype, copy=False) for each in arrays]


def _together(xp: Any, rank: int, *arrays: Any) -> list[Any]:
    """Return arrays of the same batch axes, before the last ``rank`` ones."""
    batches = [each.shape[: each.ndim - rank] for each in arrays]
    batch = xp.broadcast_shapes(*batches) if len({*batches}) > 1 else batches[0]
    return [xp.broadcast_to(each, (*batch, *each.shape[each.ndim - rank :])) for each in arrays]


def _selected(xp: Any, x: Any, places: Any) -> Any:
    """Return the elements of the last axis at places of two axes."""
    flat = xp.take(x, xp.reshape(places, (-1,)), axis=-1)
    return xp.reshape(flat, (*x.shape[:-1], *places.shape))


def _places(xp: Any, rows: int, columns: int, sign: int, like: Any) -> Any:
    """Return row + sign * column as a matrix."""
    row = xp.arange(rows, device=device_of(like))[:, None]
    return row + sign * xp.arange(columns, device=device_of(like))[None, :]


def toeplitz(xp: Any, c: Any, r: Any = None) -> Any:
    """Return matrices with constant diagonals, ``scipy.linalg.toeplitz``.

    Parameters
    ----------
    c : array, shape (..., m)
        The first column.
    r : array, shape (..., n), optional
        The first row, whose first element is not read; by default the conjugate of ``c``.
    """
    if r is None:
        (c,) = _ready(xp, c)
        r = xp.conj(c) if xp.isdtype(c.dtype, "complex floating") else c
    c, r = (x if x.ndim else xp.reshape(x, (1,)) for x in _ready(xp, c, r))
    c, r = _together(xp, 1, c, r)
    if not (c.shape[-1] and r.shape[-1]):
        shape = (*c.shape[:-1], c.shape[-1], r.shape[-1])
        return xp.zeros(shape, dtype=c.dtype, device=device_of(c))
    values = xp.concat([xp.flip(r[..., 1:], axis=-1), c], axis=-1)
    places = _places(xp, c.shape[-1], r.shape[-1], -1, c) + (r.shape[-1] - 1)
    return _selected(xp, values, places)


def hankel(xp: Any, c: Any, r: Any = None) -> Any:
    """Return matrices whose elements are constant along rising diagonals, ``scipy.linalg.hankel``.

    Parameters
    ----------
    c : array, shape (..., m)
        The first column. Several axes are a batch, as in SciPy from 1.19 on.
    r : array, shape (..., n), optional
        The last row, whose first element is not read; by default zeros.
    """
    if r is None:
        (c,) = _ready(xp, c)
        r = xp.zeros_like(c)
    c, r = (x if x.ndim else xp.reshape(x, (1,)) for x in _ready(xp, c, r))
    c, r = _together(xp, 1, c, r)
    if not (c.shape[-1] and r.shape[-1]):
        shape = (*c.shape[:-1], c.shape[-1], r.shape[-1])
        return xp.zeros(shape, dtype=c.dtype, device=device_of(c))
    values = xp.concat([c, r[..., 1:]], axis=-1)
    return _selected(xp, values, _places(xp, c.shape[-1], r.shape[-1], 1, c))


def circulant(xp: Any, c: Any) -> Any:
    """Return matrices whose columns are the first one, turned, ``scipy.linalg.circulant``.

    Parameters
    ----------
    c : array, shape (..., n)
        The first column.
    """
    (c,) = _ready(xp, c)
    c = c if c.ndim else xp.reshape(c, (1,))
    n = c.shape[-1]
    if not n:
        return xp.zeros((*c.shape, 0), dtype=c.dtype, device=device_of(c))
    return _selected(xp, c, _places(xp, n, n, -1, c) % n)


def block_diag(xp: Any, *arrays: Any) -> Any:
    """Return matrices with others on their diagonals, ``scipy.linalg.block_diag``.

    Parameters
    ----------
    *arrays : array, shape (..., m, n)
        The blocks; arrays of one axis are rows, and those of none have one element.
    """
    if not arrays:
        return xp.zeros((1, 0))
    blocks = [xp.reshape(x, (1,) * (2 - x.ndim) + x.shape) for x in _ready(xp, *arrays)]
    blocks = _together(xp, 2, *blocks)
    columns, before, rows = sum(x.shape[-1] for x in blocks), 0, []
    for x in blocks:
        axis, after = x.ndim - 1, columns - before - x.shape[-1]
        parts = [filled(x, axis, before, 0, xp), x, filled(x, axis, after, 0, xp)]
        rows.append(xp.concat(parts, axis=axis))
        before += x.shape[-1]
    return xp.concat(rows, axis=-2)


linalg.composed("linalg.toeplitz(c, r=None)", toeplitz)
linalg.composed("linalg.hankel(c, r=None)", hankel)
linalg.composed("linalg.circulant(c)", circulant)
linalg.composed("linalg.block_diag(*arrays)", block_diag)
