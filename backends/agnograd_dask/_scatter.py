"""Adding at indices: one sum for each chunk of values, and Dask's tree of these sums."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

__all__ = ["along_first"]


def along_first(length: int, positions: Any, values: Any) -> Any:
    """Return zeros with slices of values added at positions, from 0 on, of an axis of a length."""
    positions = positions.rechunk((values.chunks[0],))
    chunk, place, *rest = range(values.ndim + 1)
    sums = da.blockwise(
        _sum_of_chunk,
        (chunk, place, *rest),
        values,
        (chunk, *rest),
        positions,
        (chunk,),
        new_axes={place: length},
        adjust_chunks={chunk: 1},
        length=length,
        dtype=values.dtype,
        meta=values._meta.reshape((0,) * (values.ndim + 1)),
    )
    return sums.sum(axis=0)


def _sum_of_chunk(values: Any, positions: Any, length: int) -> Any:
    total = np.zeros_like(values, shape=(1, length, *values.shape[1:]))
    np.add.at(total[0], positions, values)
    return total
