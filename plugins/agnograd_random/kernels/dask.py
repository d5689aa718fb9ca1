"""Draws of Dask's arrays: each block is drawn by NumPy when it is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from agnograd.extend import Backend
from agnograd_random import standard
from agnograd_random._draws import DRAWS
from agnograd_random.kernels import numpy as host
from agnograd_random.threefry import FOLD, SPLIT, key_words

__all__ = ["exp", "expit", "fold_in", "order", "split"]


def _words(key: Any, axes: int) -> tuple[Any, Any]:
    """Return the words of keys, with as many axes of length 1 behind them."""
    words = key_words(key, None, np) if not isinstance(key, da.Array) else None
    if words is not None and words[0].ndim == 1:
        return words[0][0], words[1][0]
    if words is None:
        words = key[..., :1].astype(np.int32), key[..., 1:].astype(np.int32)
    shape = (*words[0].shape[:-1], *(1,) * axes)
    return words[0].reshape(shape), words[1].reshape(shape)


def _places(shape: tuple[int, ...]) -> Any:
    return da.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in DRAWS:
        raise AttributeError(name)

    def kernel(
        xp: Any, backend: Backend, key: Any, *args: Any, dtype: Any = None, device: Any = None
    ) -> Any:
        *given, shape = (*args, ()) if len(args) == DRAWS[name] else args
        bits = standard.precision(name, dtype, given, xp)
        stack = () if isinstance(key, int | tuple | list) else key.shape[:-1]
        own = given[0].shape[len(stack) :] if given else standard.shape_of(shape)
        standard.check_count(name, math.prod(own))
        kind = np.uint32 if name == "bits" else (np.float64 if bits == 64 else np.float32)
        if not math.prod((*stack, *own)):
            return da.zeros((*stack, *own), dtype=kind)
        first, second = _words(key, len(own))
        function = partial(host.elements, name, bits=bits)
        return da.core.elemwise(function, first, second, _places(own), *given, dtype=kind)

    return kernel


def _word(which: int, lane: int, first: Any, second: Any, place: Any) -> Any:
    arrays = np.broadcast_arrays(first, second, place)
    flat = [np.ravel(each).astype(np.int32).view(np.uint32) for each in arrays]
    found = host.Words((flat[0], flat[1]), flat[2])(lane)[which]
    return np.reshape(found.view(np.uint32), arrays[0].shape)


def _keys(lane: int, first: Any, second: Any, place: Any) -> Any:
    """Return keys that are made by enciphering places."""
    words = [
        da.core.elemwise(partial(_word, which, lane % 2**32), first, second, place, dtype=np.uint32)
        for which in range(2)
    ]
    return da.stack(words, axis=-1)


def split(key: Any, num: Any = 2) -> Any:
    """Return new keys."""
    own = standard.shape_of(num)
    if 0 in own or 0 in getattr(key, "shape", ()):
        return NotImplemented
    return _keys(SPLIT, *_words(key, len(own)), _places(own))


def fold_in(key: Any, data: Any) -> Any:
    """Return new keys for numbers."""
    if not isinstance(data, da.Array) or 0 in data.shape or 0 in getattr(key, "shape", ()):
        return NotImplemented
    return _keys(FOLD, *_words(key, 0), data.astype(np.int32))


def order(key: Any, count: int) -> Any:
    """Return a random order of numbers."""
    if not isinstance(key, da.Array) or key.ndim != 1 or count == 0:
        return NotImplemented
    places = da.arange(count, dtype=np.int64, chunks=count)  # in one block
    return da.core.elemwise(_order, key[0], key[1], places, dtype=np.int64)


def _order(first: Any, second: Any, places: Any) -> Any:
    if not places.size:  # Dask asks for the kind of the result
        return places
    return host.order(np.asarray([first, second]).reshape(2), places.size)


def _elementwise(function: Callable[..., Any], x: Any) -> Any:
    return da.core.elemwise(function, x, dtype=x.dtype)


exp = partial(_elementwise, host.exp)
expit = partial(_elementwise, host.expit)
