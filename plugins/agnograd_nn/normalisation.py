"""Layer and batch normalisation.

With x' = (x - mean) / std, the gradient of x is (g' - mean(g') - x' mean(g' x')) / std, for g' the
gradient of x' (Ioffe and Szegedy, "Batch normalization", 2015, section 3). x' is computed again.
Of halves everything is computed in single precision: the square of 256 does not fit a half.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from agnograd.extend import itself, with_rank
from agnograd_nn import ops

__all__ = ["layer_norm", "narrowed", "single", "standardised", "through_standardised"]

Shape = tuple[int, ...]
Axes = tuple[int, ...]


def single(x: Any, xp: Any) -> Any:
    """Return an array in single precision, or more."""
    return xp.astype(x, xp.result_type(x.dtype, xp.float32), copy=False)


def narrowed(out: Any, given: Sequence[Any], xp: Any) -> Any:
    """Return an array in the dtype that arrays, some of which may be None, are promoted to."""
    dtype = xp.result_type(*(each.dtype for each in given if each is not None))
    return xp.astype(out, dtype, copy=False)


def standardised(x: Any, axes: Axes, eps: float, xp: Any) -> tuple[Any, Any]:
    """Return x with mean 0 and variance 1 over axes, and what its deviations were divided by."""
    x = single(x, xp)
    deviation = x - xp.mean(x, axis=axes, keepdims=True)
    scale = xp.sqrt(xp.mean(deviation * deviation, axis=axes, keepdims=True) + eps)
    return deviation / scale, scale


def through_standardised(g: Any, x: Any, axes: Axes, eps: float, xp: Any) -> Any:
    """Return the gradient of x, from that of ``standardised`` x."""
    values, scale = standardised(x, axes, eps, xp)
    along = values * xp.mean(g * values, axis=axes, keepdims=True)
    return (g - xp.mean(g, axis=axes, keepdims=True) - along) / scale


def layer_norm(
    xp: Any,
    x: Any,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    *,
    eps: float = 1e-5,
) -> Any:
    """Return x with mean 0 and variance 1 over its last axes, times weight, plus bias.

    As PyTorch's layer_norm does (Ba, Kiros and Hinton, "Layer normalization", 2016).

    Parameters
    ----------
    x : array
    normalized_shape : int or tuple of int
        The shape of the last axes of x.
    weight, bias : array, shape ``normalized_shape``, optional
    eps : float
        What is added to the variance.

    Raises
    ------
    ValueError
        If x does not end in ``normalized_shape``.
    """
    given = (x, weight, bias)
    out = standardised(x, _last(normalized_shape, x.shape), eps, xp)[0]
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return narrowed(out, given, xp)


def _last(normalized_shape: int | Shape, shape: Shape) -> Axes:
    ending = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    axes = tuple(range(-len(ending), 0))
    if not axes or tuple(shape[-len(ending) :]) != ending:
        raise ValueError(f"an array of shape {shape} does not end in normalized_shape {ending}")
    return axes


def _x(g: Any, x: Any, weight: Any, normalized_shape: Any, eps: float, xp: Any) -> Any:
    g = g if weight is None else g * weight
    return through_standardised(g, x, _last(normalized_shape, x.shape), eps, xp)


def _weight(g: Any, x: Any, normalized_shape: Any, eps: float, xp: Any) -> Any:
    return g * standardised(x, _last(normalized_shape, x.shape), eps, xp)[0]


def _layer_norm_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    x: Any,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    *,
    eps: float = 1e-5,
) -> Any:
    shape = x.shape["x" in mapped :]
    _last(normalized_shape, shape)  # an error if the axis of members would be one of them
    if mapped == {"x"}:
        return xp.nn.layer_norm(x, normalized_shape, weight, bias, eps=eps)
    out, rank = xp.nn.layer_norm(single(x, xp), normalized_shape, eps=eps), len(shape)
    if weight is not None:
        out = out * (with_rank(xp, weight, rank) if "weight" in mapped else weight)
    if bias is not None:
        out = out + (with_rank(xp, bias, rank) if "bias" in mapped else bias)
    return narrowed(out, (x, weight, bias), xp)


ops.vjp(
    "nn.layer_norm(x, /, normalized_shape, weight=None, bias=None, *, eps=1e-5)",
    x=_x,
    weight=_weight,
    bias=itself("g"),
    forward=layer_norm,
    batch=_layer_norm_batch,
)
