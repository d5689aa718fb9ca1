"""MLX's functions as the standard has them: what it names otherwise, or lacks."""

from collections.abc import Callable
from functools import wraps
from math import nan, prod
from types import ModuleType
from typing import Any

import mlx.core as mx
from agnograd.extend import with_keywords

from agnograd_mlx import _linalg

__all__ = ["xp"]

Array = mx.array


def _signed(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function that gives indices, which are unsigned in MLX, as what may be below 0."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Array:
        return function(*args, **options).astype(mx.int32)

    return call


def _argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if not descending:
        return mx.argsort(x, axis=axis).astype(mx.int32)
    # Equal elements keep their order if all is reversed twice.
    last = x.shape[axis] - 1
    backwards = mx.argsort(mx.flip(x, axis=axis), axis=axis).astype(mx.int32)
    return mx.flip(last - backwards, axis=axis)


def _sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    found = mx.sort(x, axis=axis)
    return mx.flip(found, axis=axis) if descending else found


def _cumulative(function: Callable[..., Array], initial: int) -> Callable[..., Array]:
    def call(
        x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Array:
        axis = 0 if axis is None else axis % x.ndim
        x = x if dtype is None else x.astype(dtype)
        found = function(x, axis=axis)
        if not include_initial:
            return found
        first = mx.full([1 if k == axis else n for k, n in enumerate(x.shape)], initial)
        return mx.concatenate([first.astype(found.dtype), found], axis=axis)

    return call


def _diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    if n == 0:
        return x
    parts = [part for part in (prepend, x, append) if part is not None]
    joined = mx.concatenate(parts, axis=axis) if len(parts) > 1 else x
    return mx.diff(joined, n=n, axis=axis)


def _clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    found = mx.array(x) if min is None and max is None else mx.clip(x, min, max)
    return found.astype(x.dtype)


def _expm1(x: Array, /) -> Array:
    if x.dtype != mx.complex64:
        return mx.expm1(x)
    real, imag = mx.real(x), mx.imag(x)
    # cos(b) - 1 = -2 sin(b/2)**2 loses no digits.
    cosine = -2 * mx.sin(imag / 2) ** 2
    return mx.expm1(real) * (cosine + 1) + cosine + 1j * (mx.exp(real) * mx.sin(imag))


def _hypot(x1: Any, x2: Any, /) -> Array:
    x1, x2 = mx.abs(mx.array(x1)), mx.abs(mx.array(x2))
    large, small = mx.maximum(x1, x2), mx.minimum(x1, x2)
    ratio = small / mx.where(large == 0, mx.ones_like(large), large)
    return mx.where(mx.isinf(large), large, large * mx.sqrt(1 + ratio * ratio))


def _signbit(x: Array, /) -> Array:
    return mx.view(x.astype(mx.float32), mx.int32) < 0


def _copysign(x1: Any, x2: Any, /) -> Array:
    size = mx.abs(mx.array(x1))
    return mx.where(_signbit(mx.array(x2, dtype=size.dtype)), -size, size)


def _result_type(*given: Any) -> Any:
    """Return the dtype of arrays and dtypes; Python's numbers affect only its kind."""
    typed = [each for each in given if not isinstance(each, bool | int | float | complex)]
    dtype = mx.result_type(*typed)
    for each in given:
        if isinstance(each, complex):
            dtype = mx.complex64
        elif isinstance(each, float) and not mx.issubdtype(dtype, mx.inexact):
            dtype = mx.float32
    return dtype


def _moveaxis(x: Array, source: Any, destination: Any, /) -> Array:
    if isinstance(source, int):
        return mx.moveaxis(x, source, destination)
    places = {to % x.ndim: at % x.ndim for at, to in zip(source, destination, strict=True)}
    rest = iter(axis for axis in range(x.ndim) if axis not in places.values())
    order = [places[axis] if axis in places else next(rest) for axis in range(x.ndim)]
    return mx.permute_dims(x, order)


def _reduction(function: Callable[..., Array], of_nothing: complex) -> Callable[..., Array]:
    """Return a reduction that never gives MLX an array without elements: at times it hangs."""

    @wraps(function)
    def call(x: Array, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        if dtype is not None:
            return call(x.astype(dtype), axis=axis, keepdims=keepdims).astype(dtype)
        if x.size:
            return function(x, axis=axis, keepdims=keepdims)
        axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        gone = {k % x.ndim for k in axes} if x.ndim else set()
        kept = [1 if k in gone else n for k, n in enumerate(x.shape) if keepdims or k not in gone]
        dtype = function(mx.zeros((1,), dtype=x.dtype)).dtype
        return mx.full(kept, of_nothing, dtype=dtype)

    return call


_mean = _reduction(mx.mean, nan)


def _var(
    x: Array, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    centred = mx.abs(x - _mean(x, axis=axis, keepdims=True))
    found = _mean(centred * centred, axis=axis, keepdims=keepdims)
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    count = prod(x.shape[k] for k in axes)
    return found * (count / max(count - correction, 0)) if correction else found


def _std(x: Array, /, **options: Any) -> Array:
    return mx.sqrt(_var(x, **options))


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes arrays in a tuple, too."""

    @wraps(function)
    def call(arrays: Any, /, **options: Any) -> Any:
        return function(list(arrays), **options)

    return call


_GIVEN = {
    "bool": mx.bool_,
    "argmax": _signed(mx.argmax),
    "argmin": _signed(mx.argmin),
    "argsort": _argsort,
    "searchsorted": _signed(mx.searchsorted),
    "sort": _sort,
    "cumulative_sum": _cumulative(mx.cumsum, 0),
    "cumulative_prod": _cumulative(mx.cumprod, 1),
    "diff": _diff,
    "clip": _clip,
    "expm1": _expm1,
    "hypot": _hypot,
    "signbit": _signbit,
    "copysign": _copysign,
    "result_type": _result_type,
    "moveaxis": _moveaxis,
    "vecdot": _linalg.vecdot,
    "sum": _reduction(mx.sum, 0),
    "prod": _reduction(mx.prod, 1),
    "mean": _mean,
    "any": _reduction(mx.any, False),
    "all": _reduction(mx.all, True),
    "var": _var,
    "std": _std,
    "concat": _listed(mx.concat),
    "stack": _listed(mx.stack),
}


def _standard(library: ModuleType, given: dict[str, Any]) -> ModuleType:
    return with_keywords(
        library,
        lacks={"device": ["*"], "copy": ["astype", "reshape"]},
        given=given,
        device=mx.default_device(),
        copied=mx.array,
    )


xp = _standard(
    mx,
    _GIVEN | {"fft": _standard(mx.fft, {}), "linalg": _standard(mx.linalg, _linalg.FUNCTIONS)},
)
