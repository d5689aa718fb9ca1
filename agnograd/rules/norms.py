"""Norms of vectors and of matrices. Where a norm is 0 its gradient is 0, and ties share equally."""

import math
from typing import Any

from agnograd.extend import device_of, divide_or_zero, is_tracked, keep_axes
from agnograd.rules._extensions import norms as ops
from agnograd.rules.statistical import direction, wide

__all__ = ["ops"]

Shape = tuple[int, ...]
INFINITY = float("inf")


def _shared(found: Any, extreme: Any, axis: Any, xp: Any) -> Any:
    """Return the shares of the elements that are the extreme one, which add up to one."""
    ties = xp.astype(found == extreme, wide(found.dtype, math.prod(found.shape), xp))
    return ties / xp.sum(ties, axis=axis, keepdims=True)


def _along(g: Any, x: Any, axis: Any, xp: Any) -> Any:
    if 0 in x.shape:
        return xp.zeros_like(x)
    along, scale = direction(x, axis, xp)
    return along * (g * scale)


def _scaled(size: Any, axis: Any, ord: float, xp: Any) -> tuple[Any, Any]:
    """Divide absolute values by the one that decides their norm, so that powers stay in range.

    It is the largest one, or of a negative order the smallest. It counts as a constant: where an
    array is multiplied with a number, the gradient of its norm is what it was. Where it is 0, so is
    the norm: that is the second result, and the values are ones.
    """
    fixed = size.detach() if is_tracked(size) else size
    decides = (xp.max if ord > 0 else xp.min)(fixed, axis=axis, keepdims=True)
    none = decides == 0
    unscaled = xp.logical_or(none, xp.logical_not(xp.isfinite(decides)))
    return xp.where(none, 1.0, size / xp.where(unscaled, 1.0, decides)), none


def _vector_norm_vjp(
    g: Any, x: Any, out: Any, x_shape: Shape, axis: Any, ord: float, xp: Any
) -> Any:
    """Differentiate (sum abs(x) ** ord) ** (1 / ord), and its limits."""
    g = keep_axes(g, x_shape, axis, xp)
    if ord == 2:
        return _along(g, x, axis, xp)
    if ord == 0 or 0 in x_shape:
        return xp.zeros_like(x)
    size = xp.abs(x)
    signs = divide_or_zero(x, size, xp)
    if ord == 1:
        return g * signs
    if abs(ord) == INFINITY:
        return g * _shared(size, keep_axes(out, x_shape, axis, xp), axis, xp) * signs
    size, none = _scaled(size, axis, ord, xp)
    signs = xp.where(none, 0.0, signs)
    out = xp.linalg.vector_norm(size, axis=axis, keepdims=True, ord=ord)
    if ord % 2:  # some derivative at an element that is 0 is infinite or none: by convention, all
        size = xp.where(size == 0, 1.0, size)  # are 0, as is its sign
    ratio = out / size if ord < 1 else size / out
    return g * ratio ** abs(ord - 1) * signs


def _matrix_norm_vjp(g: Any, x: Any, keepdims: bool, ord: Any, xp: Any) -> Any:
    if not keepdims:
        g = g[..., None, None]
    if ord == "fro":
        return _along(g, x, (-2, -1), xp)
    if ord == "nuc" or abs(ord) == 2:
        return _spectral_norm_vjp(g, x, ord, xp)
    # The largest (or smallest) sum of absolute values over columns (1) or rows (inf).
    size = xp.abs(x)
    along, across = (-2, -1) if abs(ord) == 1 else (-1, -2)
    sums = xp.sum(size, axis=along, keepdims=True)
    extreme = (xp.max if ord > 0 else xp.min)(sums, axis=across, keepdims=True)
    return g * _shared(sums, extreme, across, xp) * divide_or_zero(x, size, xp)


def _spectral_norm_vjp(g: Any, x: Any, ord: Any, xp: Any) -> Any:
    """Differentiate the sum (nuc), the largest (2) or the smallest (-2) of the singular values.

    A matrix of zeros, whose singular vectors may be any, is left out, and so are values that have
    no weight: their derivatives are 0 in every order.
    """
    zero = xp.all(x == 0, axis=(-2, -1), keepdims=True)
    rows, columns = x.shape[-2:]
    other = xp.eye(rows, columns, dtype=x.dtype, device=device_of(x))
    other = other * xp.astype(xp.arange(1, columns + 1, device=device_of(x)), x.dtype)
    x = xp.where(zero, other, x)
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    weights = xp.sign(s)
    if ord != "nuc":
        weights = weights * _shared(s, s[..., :1] if ord > 0 else s[..., -1:], -1, xp)
    values = xp.where(weights == 0, 0.0, g[..., 0] * weights)
    gradient = xp.linalg.with_singular_values(x, values, u, vh, turns=is_tracked(x))
    return xp.where(zero, 0.0, gradient)


ops.vjp(
    "linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)",
    x=_vector_norm_vjp,
    batch="axis",
)
ops.vjp('linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")', x=_matrix_norm_vjp, batch="last")
