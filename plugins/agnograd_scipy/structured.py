"""Matrices that repeat their elements, and matrices of blocks, of ``scipy.linalg``.

They are linear in what they are made of: selections of its elements, and sums of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd.extend import conjugate_if_complex, device_of, operand
from agnograd_scipy import linalg
from agnograd_scipy._arrays import composed, filled

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


def _ends(xp: Any, c: Any, r: Any, default: Callable[[Any], Any]) -> list[Any]:
    """Return a column and a row as arrays of the same batch axes."""
    if r is None:
        (c,) = _ready(xp, c)
        r = default(c)
    arrays = (x if x.ndim else xp.reshape(x, (1,)) for x in _ready(xp, c, r))
    return _together(xp, 1, *arrays)


def _rest(r: Any) -> Any:
    """Return a row without its first element; the standard has no such slice of an empty one."""
    return r[..., 1:] if r.shape[-1] else r


def _along_diagonals(xp: Any, values: Any, shape: tuple[int, int], sign: int, first: int) -> Any:
    """Return matrices whose element (i, j) is that of ``values`` at ``first + i + sign * j``."""
    if 0 in shape:
        batch = values.shape[:-1]
        return xp.zeros((*batch, *shape), dtype=values.dtype, device=device_of(values))
    rows, columns = (xp.arange(length, device=device_of(values)) for length in shape)
    places = xp.reshape(rows[:, None] + sign * columns[None, :] + first, (-1,))
    return xp.reshape(xp.take(values, places, axis=-1), (*values.shape[:-1], *shape))


def toeplitz(xp: Any, c: Any, r: Any = None) -> Any:
    """Return matrices with constant diagonals, ``scipy.linalg.toeplitz``.

    Parameters
    ----------
    c : array, shape (..., m)
        The first column.
    r : array, shape (..., n), optional
        The first row, whose first element is not read; by default the conjugate of ``c``.
    """
    c, r = _ends(xp, c, r, lambda c: conjugate_if_complex(c, xp))
    shape = c.shape[-1], r.shape[-1]
    values = xp.concat([xp.flip(_rest(r), axis=-1), c], axis=-1)
    return _along_diagonals(xp, values, shape, -1, shape[1] - 1)


def hankel(xp: Any, c: Any, r: Any = None) -> Any:
    """Return matrices whose elements are constant along rising diagonals, ``scipy.linalg.hankel``.

    Parameters
    ----------
    c : array, shape (..., m)
        The first column. Several axes are a batch, as in SciPy from 1.19 on.
    r : array, shape (..., n), optional
        The last row, whose first element is not read; by default zeros.
    """
    c, r = _ends(xp, c, r, xp.zeros_like)
    values = xp.concat([c, _rest(r)], axis=-1)
    return _along_diagonals(xp, values, (c.shape[-1], r.shape[-1]), 1, 0)


def circulant(xp: Any, c: Any) -> Any:
    """Return matrices whose columns are the first one, turned, ``scipy.linalg.circulant``.

    Parameters
    ----------
    c : array, shape (..., n)
        The first column.
    """
    (c,) = _ready(xp, c)
    return toeplitz(xp, c, xp.flip(xp.roll(c, -1, axis=-1), axis=-1) if c.ndim else c)


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


composed(linalg, toeplitz, hankel, circulant, block_diag)
