"""Norms of vectors and of matrices. Where a norm is 0 its gradient is 0, and ties share equally."""

from typing import Any

from agnograd.extend import divide_or_zero, is_tracked, keep_axes
from agnograd.rules._extensions import norms as ops

__all__ = ["ops"]

Shape = tuple[int, ...]
INFINITY = float("inf")


def _shared(found: Any, extreme: Any, axis: Any, xp: Any) -> Any:
    """Return the shares of the elements that are the extreme one, which add up to one."""
    ties = xp.astype(found == extreme, found.dtype)
    return ties / xp.sum(ties, axis=axis, keepdims=True)


def _vector_norm_vjp(
    g: Any, x: Any, out: Any, x_shape: Shape, axis: Any, ord: float, xp: Any
) -> Any:
    """Differentiate (sum abs(x) ** ord) ** (1 / ord), and its limits."""
    g, out = keep_axes(g, x_shape, axis, xp), keep_axes(out, x_shape, axis, xp)
    if ord == 2:
        return divide_or_zero(g, out, xp) * x
    if ord == 0:
        return xp.zeros_like(x)
    size = xp.abs(x)
    direction = divide_or_zero(x, size, xp)
    if ord == 1:
        return g * direction
    if abs(ord) == INFINITY:
        return g * _shared(size, out, axis, xp) * direction
    if ord < 1:  # the derivative at an element that is 0 is infinite: by convention it is 0, too
        size = xp.where(size == 0, 1.0, size)
    return g * (size / xp.where(out == 0, 1.0, out)) ** (ord - 1) * direction


def _matrix_norm_vjp(g: Any, x: Any, out: Any, keepdims: bool, ord: Any, xp: Any) -> Any:
    if not keepdims:
        g, out = g[..., None, None], out[..., None, None]
    if ord == "fro":
        return divide_or_zero(g, out, xp) * x
    if ord == "nuc" or abs(ord) == 2:
        return _spectral_norm_vjp(g, x, ord, xp)
    # The largest (or smallest) sum of absolute values over columns (1) or rows (inf).
    size = xp.abs(x)
    along, across = (-2, -1) if abs(ord) == 1 else (-1, -2)
    sums = xp.sum(size, axis=along, keepdims=True)
    extreme = (xp.max if ord > 0 else xp.min)(sums, axis=across, keepdims=True)
    return g * _shared(sums, extreme, across, xp) * divide_or_zero(x, size, xp)


def _spectral_norm_vjp(g: Any, x: Any, ord: Any, xp: Any) -> Any:
    """Differentiate the sum (nuc), the largest (2) or the smallest (-2) of the singular values."""
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    weights = xp.sign(s)
    if ord != "nuc":
        weights = weights * _shared(s, s[..., :1] if ord > 0 else s[..., -1:], -1, xp)
    values = g[..., 0] * weights
    return xp.linalg.with_singular_values(x, values, u, vh, turns=is_tracked(x))


ops.vjp("linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)", x=_vector_norm_vjp)
ops.vjp('linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")', x=_matrix_norm_vjp)
