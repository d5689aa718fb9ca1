"""Arrays of one number, in the chunks of another array, and single numbers: a layer each."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.layers import ArrayChunkShapeDep

from agnograd_dask._layers import by_chunks, is_plain

__all__ = ["filled", "filled_like"]


def filled(number: int, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes an array of a number; ``otherwise`` is Dask's, for any axes."""

    @functools.wraps(otherwise)
    def made(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        if shape != () or device is not None:
            return otherwise(shape, dtype=dtype, device=device)
        dtype = np.dtype(dtype or np.float64)
        return by_chunks(_filled, (), dtype, number, None, (), None, dtype_name=dtype.str)

    return made


def filled_like(number: int, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes an array of a number in the chunks of another one, without its values.

    ``otherwise`` is Dask's, for unknown sizes.
    """

    @functools.wraps(otherwise)
    def made(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        if device is not None or not is_plain(x) or math.isnan(math.prod(x.shape)):
            return otherwise(x, dtype=dtype, device=device)
        dtype = np.dtype(dtype or x.dtype)
        sizes = ArrayChunkShapeDep(x.chunks)
        pairs = (number, None, sizes, range(x.ndim))
        return by_chunks(_filled, x.chunks, dtype, *pairs, key=x.name, dtype_name=dtype.str)

    return made


def _filled(number: int, shape: tuple[int, ...], dtype_name: str) -> Any:
    return np.full(shape, number, dtype=dtype_name)
