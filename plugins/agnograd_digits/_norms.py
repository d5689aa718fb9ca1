"""Sizes of arrays and of products, which neither overflow nor take what is masked.

Arrays are raw, of any library, and their sizes are computed by that library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import array_api_compat

__all__ = [
    "DOUBLE",
    "fit",
    "floating",
    "inner",
    "magnitude",
    "mean_size",
    "namespace_of",
    "partial_sums",
    "products",
    "sums",
    "unit_of",
]


DOUBLE = 2.0**-53  # the unit roundoff of double precision


# By type, and by type and dtype: to ask takes as long as to compute with a small array. Dtypes of
# several libraries are not to be compared with each other.
_NAMESPACES: dict[type, Any] = {}
_KINDS: dict[tuple[type, Any], str] = {}
_UNITS: dict[tuple[type, Any], float] = {}


def namespace_of(value: Any) -> Any:
    """Return the library's namespace of the standard."""
    kind = type(value)
    if kind not in _NAMESPACES:
        _NAMESPACES[kind] = array_api_compat.array_namespace(value)
    return _NAMESPACES[kind]


def floating(value: Any, *, complex: bool = True) -> bool:
    """Return whether a value is an array of real (or complex) floating-point numbers."""
    kind = type(value), getattr(value, "dtype", None)
    if kind not in _KINDS:
        _KINDS[kind] = _kind_of(value)
    return _KINDS[kind] == "real" or (complex and _KINDS[kind] == "complex")


def _kind_of(value: Any) -> str:
    if not array_api_compat.is_array_api_obj(value):
        return "other"
    isdtype, dtype = namespace_of(value).isdtype, value.dtype
    kinds = ("real", "complex")
    return next((kind for kind in kinds if isdtype(dtype, f"{kind} floating")), "other")


def fit(a: Any, b: Any) -> bool:
    """Return whether two arrays can be broadcast."""
    pairs = zip(a.shape[::-1], b.shape[::-1], strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def unit_of(value: Any) -> float:
    """Return the unit roundoff of an array: half the distance from 1 to the next number."""
    kind = type(value), value.dtype
    if kind not in _UNITS:
        _UNITS[kind] = float(namespace_of(value).finfo(value.dtype).eps) / 2
    return _UNITS[kind]


def magnitude(gradient: Any, size: Any) -> tuple[float, float]:
    """Return the root of the sum of squares, and the sum, of abs(gradient) * abs(size).

    They are broadcast. Where the gradient is 0, so is the product, whatever the size: an error in
    a branch that was not taken does nothing.
    """
    xp = namespace_of(size)
    size = xp.abs(size)
    size, most = _scaled(xp, xp.where(gradient == 0, xp.zeros_like(size), size))
    gradient, steepest = _scaled(xp, xp.abs(gradient))
    scale = most * steepest
    if scale == 0.0 or not math.isfinite(scale):
        return scale, scale
    product = size * gradient
    return scale * math.sqrt(float(xp.sum(product * product))), scale * float(xp.sum(product))


def inner(a: Any, b: Any) -> float:
    """Return the sum of products of real numbers, or of the parts of complex ones."""
    xp = namespace_of(a)
    if not floating(a, complex=False):
        return inner(xp.real(a), xp.real(b)) + inner(xp.imag(a), xp.imag(b))
    a, most = _scaled(xp, a)
    b, steepest = _scaled(xp, b)
    return most * steepest * float(xp.sum(a * b))


def _scaled(xp: Any, value: Any) -> tuple[Any, float]:
    """Return real numbers divided by the largest absolute value, and that; no narrow floats.

    Products of float32 would leave its range otherwise. What is not finite stays as it is.
    """
    if unit_of(value) > 1e-7:
        value = xp.astype(value, xp.float32)
    most = float(xp.max(xp.abs(value))) if math.prod(value.shape) else 0.0
    return (value / most if most and math.isfinite(most) else value), most


def mean_size(value: Any, axes: int) -> Any:
    """Return the root of the mean of squares over the last axes, to be broadcast to the value."""
    last = tuple(range(-min(axes, value.ndim), 0))
    root, count, scale = sums(value, last, True)
    return root / math.sqrt(max(count, 1)) * scale


def sums(value: Any, axes: tuple[int, ...], keepdims: bool) -> tuple[Any, int, float]:
    """Return the root of the sum of squares over axes, divided by a scale.

    Returns
    -------
    root : array
        The roots.
    count : int
        How many elements each is of.
    scale : float
        What the roots are to be multiplied by.
    """
    xp = namespace_of(value)
    if not floating(value):
        value = xp.astype(value, xp.float32)
    scaled, most = _scaled(xp, xp.abs(value))
    root = xp.sqrt(xp.sum(scaled * scaled, axis=axes, keepdims=keepdims))
    count = math.prod(value.shape) // max(math.prod(root.shape), 1)
    return root, count, most if most and math.isfinite(most) else 1.0


def products(a: Any, b: Any, options: Mapping[str, Any]) -> tuple[Any, int, float]:
    """Return the same for the products in inner products: of matrices, along an axis, or axes."""
    xp = namespace_of(a)
    (a, most), (b, largest) = _scaled(xp, xp.abs(a)), _scaled(xp, xp.abs(b))
    a, b = a * a, b * b
    if "axes" in options:
        axes = options["axes"]
        last = range(a.ndim - axes, a.ndim) if isinstance(axes, int) else axes[0]
        own = [a.shape[k] for k in last]
        squares, count = xp.tensordot(a, b, axes=axes), math.prod(own)
    elif "axis" in options:
        squares, count = xp.vecdot(a, b, axis=options["axis"]), a.shape[options["axis"]]
    else:
        squares, count = xp.matmul(a, b), a.shape[-1]
    scale = most * largest
    return xp.sqrt(squares), count, scale if scale and math.isfinite(scale) else 1.0


def partial_sums(
    total: Any, terms: Any, count: int, scale: float, *, in_order: bool = False
) -> tuple[Any, float]:
    """Return the root of the sum of squares of all partial sums of a sum, divided by a scale.

    On level k of L of a sum by pairs there are count / 2**k of them. If terms have random signs,
    their squares add up to those of the terms; if all have one sign, to 2**k / count times that of
    the total; the last of them is the total itself. If terms are added in their order, the same
    holds of k terms for k from 2 to count.

    Parameters
    ----------
    total : array
        The sum.
    terms : array
        The root of the sum of squares of its terms, divided by ``scale``.
    count : int
        How many terms there are, at least 2.
    scale : float
        What the terms are to be multiplied by.
    in_order : bool
        Whether they are added one by one.
    """
    xp = namespace_of(total)
    least = float(xp.finfo(total.dtype).smallest_normal)
    if scale < least:  # which the dtype may not hold
        terms, scale = terms * (scale / least), least
    if in_order:
        of_total, of_terms = math.sqrt(count / 3), math.sqrt(count / 2)
    else:
        levels = math.ceil(math.log2(count))
        of_total = math.sqrt((2 ** (levels + 1) - 2) / 2**levels)
        of_terms = math.sqrt(levels - 1)
    # Divided by more than both, so that nothing overflows that the total has not.
    factor = 2 * max(of_total, of_terms)
    size = of_total / factor * (xp.abs(total) / scale)
    if of_terms:  # 0 times infinity would be NaN
        size = xp.hypot(size, of_terms / factor * terms)
    return size, factor * scale
