"""Functions of elements, and Python's operators, as layers of chunks."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import array_api_compat.dask.array as compat
import dask.array as da
import numpy as np

from agnograd_dask._axes import spread, viewed
from agnograd_dask._layers import Layered, by_chunks, common_chunks, is_plain, source
from agnograd_dask._products import matmul

__all__ = ["astype", "clip", "elementwise", "of_operator"]

_NUMBERS = {bool, int, float, complex}


def elementwise(function: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy function of elements as one of Dask's arrays and of numbers.

    ``otherwise`` is Dask's, for other operands, options and chunks, and for its errors.
    """

    @functools.wraps(otherwise)
    def computed(*args: Any, **options: Any) -> Any:
        arrays = [x for x in args if type(x) not in _NUMBERS]
        if options or not arrays or not is_plain(*arrays):
            return otherwise(*args, **options)
        try:
            dtype = function(*map(_sample, args)).dtype
        except Exception:  # Dask raises its own
            return otherwise(*args)
        sources = [source(x) for x in args]
        chunks = common_chunks(*(x.chunks for x in sources if type(x) not in _NUMBERS))
        if chunks is None:
            return otherwise(*args)
        pairs: list[Any] = []
        for x in sources:
            number = type(x) in _NUMBERS
            pairs += [x, None if number else range(len(chunks) - x.ndim, len(chunks))]
        out = by_chunks(function, chunks, dtype, *pairs)
        if all(x is y for x, y in zip(args, sources, strict=True)):
            return out
        return spread(out, np.broadcast_shapes(*(x.shape for x in arrays)))

    return computed


def _sample(x: Any) -> Any:
    """Return a number, or an empty vector in place of an array, which NumPy promotes alike."""
    return x if type(x) in _NUMBERS else _empty(x.dtype)


@functools.lru_cache(maxsize=64)
def _empty(dtype: Any) -> Any:
    return np.empty((0,), dtype=dtype)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Return an array in a dtype."""
    loses = x.dtype.kind == "c" != np.dtype(dtype).kind  # NumPy warns of that, and so does Dask
    if device not in (None, "cpu") or x.dtype == dtype or loses or not is_plain(x):
        return compat.astype(x, dtype, copy=copy, device=device)
    x, shape = source(x), x.shape
    out = by_chunks(_cast, x.chunks, dtype, x, range(x.ndim), to=np.dtype(dtype))
    return spread(out, shape)


def _cast(chunk: Any, to: Any) -> Any:
    return chunk.astype(to)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Return an array within bounds; array-api-compat's broadcasts bounds in few chunks."""
    bounds = [bound for bound in (min, max) if bound is not None]
    if x.dtype.kind != "f" or not all(type(b) in _NUMBERS or is_plain(b) for b in bounds):
        return compat.clip(x, min, max)
    out = x if bounds else _positive(x)
    out = out if min is None else _maximum(out, min)
    out = out if max is None else _minimum(out, max)
    return astype(out, x.dtype, copy=False)


_positive = elementwise(np.positive, da.positive)
_maximum, _minimum = elementwise(np.maximum, da.maximum), elementwise(np.minimum, da.minimum)


def of_operator(function: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return one of Python's operators, or ``otherwise``, Dask's, as in ``elementwise``."""
    return matmul(otherwise) if function is operator.matmul else elementwise(function, otherwise)


def _add_operators() -> None:
    """Give ``Layered`` operators that make layers: rules compute with these."""
    one = ("abs", "invert", "neg", "pos")
    two = ("add", "and", "floordiv", "mod", "mul", "or", "pow", "sub", "truediv", "xor")
    for short in (*one, *two, "eq", "ge", "gt", "le", "lt", "ne", "matmul"):
        special = f"__{short}__"
        wrap = functools.partial(of_operator, getattr(operator, special))
        setattr(Layered, special, wrap(getattr(da.Array, special)))
        if short in (*two, "matmul"):
            reflected = getattr(da.Array, f"__r{short}__")
            swapped = wrap(lambda x1, x2, reflected=reflected: reflected(x2, x1))
            setattr(Layered, f"__r{short}__", lambda x, other, swapped=swapped: swapped(other, x))

    def read(x: Any, key: Any) -> Any:
        out = viewed(x, key)
        return da.Array.__getitem__(x, key) if out is None else out

    Layered.__getitem__ = read


_add_operators()
