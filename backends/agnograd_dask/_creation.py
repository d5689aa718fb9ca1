"""Arrays of one number, in the chunks of another array, and single numbers: a layer each."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.array.core import normalize_chunks

from agnograd_dask._axes import spread
from agnograd_dask._layers import Chunks, Layered, by_chunks, is_plain

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
        return _full(number, shape, normalize_chunks("auto", shape, dtype=dtype), dtype)

    return made


def filled_like(number: int, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes an array of a number in the chunks of another one, without its values.

    ``otherwise`` is Dask's, for unknown sizes.
    """

    @functools.wraps(otherwise)
    def made(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        if device not in (None, "cpu") or not is_plain(x) or math.isnan(math.prod(x.shape)):
            return otherwise(x, dtype=dtype, device=device)
        return _full(number, x.shape, x.chunks, np.dtype(dtype or x.dtype))

    return made


def _full(number: int, shape: tuple[int, ...], chunks: Chunks, dtype: Any) -> Layered:
    """Return an array that is the same number everywhere, broadcast from one element."""
    one = by_chunks(_one, (), dtype, number, None, dtype_name=dtype.str)
    if not shape:
        return one
    out: Layered = spread(one, shape, chunks)
    out.source, out.source_of = one, out.name
    return out


def _one(number: int, dtype_name: str) -> Any:
    return np.full((), number, dtype=dtype_name)
