"""Arrays in host memory: what communicators send, and what they sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from agnograd.extend import backend_of, device_of

__all__ = [
    "Host",
    "dtype_of",
    "empty_like",
    "from_bytes",
    "from_host",
    "is_whole",
    "joined",
    "parted",
    "pieces",
    "stacked",
    "sum_of",
    "to_host",
    "total_of",
]

Host = np.ndarray[Any, np.dtype[Any]]

# As in the NumPy backend, and twice as much, which is all that glibc keeps by itself: gradients and
# their means are there at the same time. Without this, passes wait for pages to be cleared.
np.empty((1 << 25) - (1 << 13), np.uint8)


def to_host(array: Any) -> Host:
    """Return an array of any backend in host memory, its elements in C order."""
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape(array.shape)
    host = np.asarray(backend_of(array).to_host(array))
    return np.ascontiguousarray(host).reshape(host.shape)


def dtype_of(array: Any) -> np.dtype[Any]:
    """Return the dtype that an array of any backend has in host memory."""
    if not isinstance(array, np.ndarray):
        array = to_host(array[..., :0] if array.ndim else array)
    found: np.dtype[Any] = array.dtype
    return found


def from_host(host: Host, like: Any) -> Any:
    """Return an array in host memory as one of the backend, dtype and device of another."""
    if isinstance(like, np.ndarray | np.generic):
        return host
    xp = backend_of(like).namespace()
    return xp.asarray(host, dtype=like.dtype, device=device_of(like))


def from_bytes(data: Any, dtype: str, shape: Sequence[int]) -> Host:
    """Return bytes as an array that shares their memory."""
    return np.frombuffer(data, dtype=np.dtype(dtype)).reshape(shape)


def sum_of(arrays: Iterable[Host]) -> Host:
    """Return the sum of arrays in their order, so that it is the same bit for bit everywhere."""
    first, *others = arrays
    total = first.copy()
    for each in others:
        np.add(total, each, out=total)
    return total


def empty_like(host: Host) -> Host:
    """Return new memory of the shape and dtype of an array, in C order."""
    return np.empty(host.shape, host.dtype)


def is_whole(array: Any) -> bool:
    """Return whether an array is NumPy's, in C order, and in memory of its own that may change."""
    if type(array) is not np.ndarray:
        return False
    flags = array.flags
    return flags.owndata and flags.c_contiguous and flags.writeable


def joined(arrays: Sequence[Host]) -> Host:
    """Return the elements of arrays of one dtype one after the other, in new memory."""
    return np.concatenate([each.reshape(-1) for each in arrays])


def parted(flat: Host, into: Sequence[Host]) -> None:
    """Put parts of a flat array into arrays in C order, one after the other."""
    for part, place in pieces(into, 0, flat.size):
        np.copyto(part, flat[place])


def pieces(arrays: Sequence[Host], start: int, stop: int) -> Iterator[tuple[Host, slice]]:
    """Yield the elements ``start`` to ``stop`` of arrays in C order, numbered as if joined.

    They come as flat views, each with its numbers.
    """
    begin = 0
    for each in arrays:
        first, last = max(start, begin), min(stop, begin + each.size)
        if first < last:
            yield each.reshape(-1)[first - begin : last - begin], slice(first, last)
        begin += each.size


def total_of(arrays: Sequence[Any], like: Any) -> Host:
    """Return the sum of arrays of any backend in host memory; zeros like another if none."""
    if not arrays:
        return np.zeros(tuple(like.shape), dtype_of(like))
    return sum(map(to_host, arrays[1:]), to_host(arrays[0]))


def stacked(arrays: Sequence[Host]) -> Host:
    """Return arrays one after the other along the first axis, in new memory."""
    return np.concatenate(arrays)
