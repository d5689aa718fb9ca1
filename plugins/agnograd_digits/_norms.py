"""Sizes of arrays and of products, which neither overflow nor take what is masked.

Arrays are raw, of any library, and their sizes are computed by that library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import array_api_compat

__all__ = [
    "floating",
    "magnitude",
    "mean_size",
    "namespace_of",
    "pairwise",
    "products",
    "sums",
    "unit_of",
]


def namespace_of(value: Any) -> Any:
    """Return the library's namespace of the standard."""
    return array_api_compat.array_namespace(value)


def floating(value: Any, *, complex: bool = True) -> bool:
    """Return whether a value is an array of real (or complex) floating-point numbers."""
    if not array_api_compat.is_array_api_obj(value):
        return False
    kinds = ("real floating", "complex floating") if complex else ("real floating",)
    return bool(namespace_of(value).isdtype(value.dtype, kinds))


_UNITS: dict[Any, float] = {}


def unit_of(value: Any) -> float:
    """Return the unit roundoff of an array: half the distance from 1 to the next number."""
    kind = type(value), value.dtype  # dtypes of several libraries are not to be compared
    if kind not in _UNITS:
        _UNITS[kind] = float(namespace_of(value).finfo(value.dtype).eps) / 2
    return _UNITS[kind]


def magnitude(gradient: Any, size: Any) -> tuple[float, float]:
    """Return the root of the sum of squares, and the sum, of abs(gradient) * abs(size).

    They are broadcast. Where the gradient is 0, so is the product, whatever the size: an error in
    a branch that was not taken does nothing.
    """
    xp = namespace_of(size)
    # Each is divided by its largest element, or products of float32 would leave its range.
    size, most = _scaled(xp, xp.where(gradient == 0, 0.0 * _finite(xp, size), size))
    gradient, steepest = _scaled(xp, xp.asarray(gradient))
    scale = most * steepest
    if scale == 0.0 or not math.isfinite(scale):
        return scale, scale
    product = size * gradient
    total = float(xp.sum(product))
    return scale * math.sqrt(float(xp.sum(product * product))), scale * total


def _finite(xp: Any, size: Any) -> Any:
    return xp.where(xp.isfinite(size), size, xp.zeros_like(size))


def _scaled(xp: Any, value: Any) -> tuple[Any, float]:
    """Return absolute values divided by the largest, which is returned, too; no narrow floats."""
    value = xp.abs(value)
    if xp.finfo(value.dtype).bits < 32:
        value = xp.astype(value, xp.float32)
    most = float(xp.max(value)) if math.prod(value.shape) else 0.0
    return (value / most if most and math.isfinite(most) else value), most


def mean_size(value: Any, axes: int) -> Any:
    """Return the root of the mean of squares over the last axes, to be broadcast to the value."""
    xp = namespace_of(value)
    last = tuple(range(-min(axes, value.ndim), 0))
    root, count = _root(xp, xp.abs(value), last, True)
    return root / math.sqrt(max(count, 1))


def sums(value: Any, axis: Any, keepdims: bool) -> tuple[Any, int]:
    """Return the root of the sum of squares over axes, and how many elements that are."""
    xp = namespace_of(value)
    if not floating(value):
        value = xp.astype(value, xp.float32)
    return _root(xp, xp.abs(value), axis, keepdims)


def _root(xp: Any, sizes: Any, axis: Any, keepdims: bool) -> tuple[Any, int]:
    most = float(xp.max(sizes)) if math.prod(sizes.shape) else 0.0
    scale = most if most and math.isfinite(most) else 1.0
    scaled = sizes / scale
    root = xp.sqrt(xp.sum(scaled * scaled, axis=axis, keepdims=keepdims)) * scale
    count = math.prod(sizes.shape) // max(math.prod(root.shape), 1)
    return root, count


def products(a: Any, b: Any, out: Any, options: Mapping[str, Any]) -> tuple[Any, int]:
    """Return the root of the sum of squares of the products in inner products, and their number."""
    xp = namespace_of(a)
    a, b = xp.abs(a), xp.abs(b)
    if "axes" in options:
        axes = options["axes"]
        root = xp.sqrt(xp.tensordot(a * a, b * b, axes=axes))
        inner = a.shape[a.ndim - axes :] if isinstance(axes, int) else [a.shape[k] for k in axes[0]]
        return root, max(math.prod(inner), 1)
    if "axis" in options:
        axis = options["axis"]
        return xp.sqrt(xp.vecdot(a * a, b * b, axis=axis)), max(a.shape[axis], 1)
    return xp.sqrt(xp.matmul(a * a, b * b)), max(a.shape[-1], 1)


def pairwise(total: Any, terms: Any, count: int) -> Any:
    """Return the root of the sum of squares of all partial sums of a sum by pairs.

    On level k of L there are count / 2**k of them. If terms have random signs, their squares add
    up to those of the terms; if all have one sign, to 2**k / count times that of the total; the
    last of them is the total itself.
    """
    xp = namespace_of(total)
    levels = math.ceil(math.log2(count)) if count > 1 else 0
    of_total = math.sqrt((2 ** (levels + 1) - 2) / 2**levels)
    of_terms = math.sqrt(max(levels - 1, 0))
    return xp.hypot(of_total * xp.abs(total), of_terms * terms)
