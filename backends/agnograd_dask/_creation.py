"""Arrays of one number, in the chunks of another array, and single numbers: a layer each."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.array.core import normalize_chunks
from dask.layers import ArrayChunkShapeDep

from agnograd_dask._axes import spread
from agnograd_dask._layers import Layered, by_chunks, is_plain

__all__ = ["filled", "filled_like"]


def filled(number: int, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes an array of a number, in the chunks that Dask's ``otherwise`` makes."""

    @functools.wraps(otherwise)
    def made(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if device not in (None, "cpu") or not all(
            type(size) is int and size >= 0 for size in shape
        ):
            return otherwise(shape, dtype=dtype, device=device)
        dtype = np.dtype(dtype or np.float64)
        one = _one(number, dtype)
        if not shape:
            return one
        return _known(spread(one, shape, normalize_chunks("auto", shape, dtype=dtype)), one)

    return made


def filled_like(number: int, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes an array of a number in the chunks of another one, without its values.

    ``otherwise`` is Dask's, for unknown sizes.
    """

    @functools.wraps(otherwise)
    def made(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        if device not in (None, "cpu") or not is_plain(x) or math.isnan(math.prod(x.shape)):
            return otherwise(x, dtype=dtype, device=device)
        dtype = np.dtype(dtype or x.dtype)
        sizes = ArrayChunkShapeDep(x.chunks)
        pairs = (number, None, sizes, range(x.ndim))
        out = by_chunks(_filled, x.chunks, dtype, *pairs, key=x.name, dtype_name=dtype.str)
        return _known(out, _one(number, dtype))

    return made


def _one(number: int, dtype: Any) -> Layered:
    return by_chunks(_filled, (), dtype, number, None, (), None, dtype_name=dtype.str)


def _known(x: Layered, one: Layered) -> Layered:
    """Return an array that is the same number everywhere, as one that was broadcast from it."""
    if x.ndim:
        x.source, x.source_of = one, x.name
    return x


def _filled(number: int, shape: tuple[int, ...], dtype_name: str) -> Any:
    return np.full(shape, number, dtype=dtype_name)
