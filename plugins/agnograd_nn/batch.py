"""Batch normalisation, whose running statistics are arguments and results."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import partial
from typing import Any

from agnograd.extend import device_of, in_full
from agnograd_nn import ops
from agnograd_nn.members import merged, parted
from agnograd_nn.normalisation import narrowed, single, standardised, through_standardised

__all__ = ["batch_norm"]

Shape = tuple[int, ...]
# The cotangents of the result and of both statistics; None where nothing depends on one.
Cotangents = Sequence[Any]


def batch_norm(
    xp: Any,
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    *,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """Return x with mean 0 and variance 1 in each channel, times weight, plus bias; and statistics.

    As PyTorch's batch_norm does (Ioffe and Szegedy, "Batch normalization", 2015), but that no
    argument is changed: the new running statistics are results.

    Parameters
    ----------
    x : array, shape (batch, channels, ...)
    running_mean, running_var : array, shape (channels,), optional
        The statistics of earlier batches; needed unless ``training``.
    weight, bias : array, shape (channels,), optional
    training : bool
        Whether x is normalised by its own mean and variance, and not by the running ones.
    momentum : float
        The weight of this batch in the new running statistics.
    eps : float
        What is added to the variance.

    Returns
    -------
    out : array, of the shape of x
    running_mean, running_var : array, shape (channels,)
        The statistics for the next call: with ``training`` the old ones moved towards those of
        this batch (or these themselves, if there are none), of which the variance is unbiased;
        else as they were.

    Raises
    ------
    ValueError
        If there are no statistics to normalise by: not given, or of a single value.
    """
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var are given together, or neither")
    if training and not _count(x.shape):  # of no values nothing is learned
        out = xp.asarray(x, copy=True)
        unknown = xp.full(x.shape[1:2], math.nan, dtype=x.dtype, device=device_of(x))
        mean, var = (
            unknown if each is None else xp.asarray(each, copy=True)
            for each in (running_mean, running_var)
        )
    elif training:
        if _count(x.shape) == 1:
            raise ValueError(f"training needs more than one value per channel, not shape {x.shape}")
        axes = _axes(x.ndim)
        out = standardised(x, axes, eps, xp)[0]
        values = single(x, xp)
        mean, var = xp.mean(values, axis=axes), xp.var(values, axis=axes, correction=1.0)
        if running_mean is not None:
            mean = (1.0 - momentum) * running_mean + momentum * mean
            var = (1.0 - momentum) * running_var + momentum * var
        mean, var = narrowed(mean, (x, running_mean), xp), narrowed(var, (x, running_var), xp)
    else:
        if running_mean is None:
            raise ValueError("batch_norm needs running_mean and running_var, or training=True")
        out = _by_running(x, running_mean, running_var, eps, xp)
        mean, var = xp.asarray(running_mean, copy=True), xp.asarray(running_var, copy=True)
    given = (x, weight, bias) if training else (x, running_mean, running_var, weight, bias)
    out = out if weight is None else out * _wide(weight, x.ndim, xp)
    out = out if bias is None else out + _wide(bias, x.ndim, xp)
    return narrowed(out, given, xp), mean, var


def _batch_norm_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    *,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """Normalise each member by its own statistics: they lie along the axis of channels."""
    given = {"x": x, "running_mean": running_mean, "running_var": running_var}
    whole = []
    for name, each in {**given, "weight": weight, "bias": bias}.items():
        if each is not None:
            each = each if name in mapped else in_full(xp, size, each)
            each = merged(each, 1 if name == "x" else 0, xp)
        whole.append(each)
    out, mean, var = xp.nn.batch_norm(*whole, training=training, momentum=momentum, eps=eps)
    channels = x.shape[1 + ("x" in mapped)]
    mean, var = (parted(each, 0, size, channels, xp) for each in (mean, var))
    return parted(out, 1, size, channels, xp), mean, var


def _axes(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank))


def _count(shape: Shape) -> int:
    return math.prod(shape[axis] for axis in _axes(len(shape)))


def _wide(values: Any, rank: int, xp: Any) -> Any:
    """Return one value for each channel, along the axis of channels."""
    return xp.reshape(values, (-1, *(1,) * (rank - 2)))


def _by_running(x: Any, mean: Any, var: Any, eps: float, xp: Any) -> Any:
    deviation = single(x, xp) - _wide(mean, x.ndim, xp)
    return deviation / _wide(xp.sqrt(single(var, xp) + eps), x.ndim, xp)


def _x(
    g: Cotangents,
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    training: bool,
    momentum: float,
    eps: float,
    xp: Any,
) -> Any:
    if training and not _count(x.shape):
        return xp.zeros_like(x)
    g_out, g_mean, g_var = g
    parts = []
    if g_out is not None:
        g_out = g_out if weight is None else g_out * _wide(weight, x.ndim, xp)
        if not training:
            return g_out / _wide(xp.sqrt(single(running_var, xp) + eps), x.ndim, xp)
        parts.append(through_standardised(g_out, x, _axes(x.ndim), eps, xp))
    if training:
        share = 1.0 if running_mean is None else momentum
        count = _count(x.shape)
        if g_mean is not None:
            each = single(g_mean, xp) * (share / count)
            parts.append(xp.zeros_like(x) + _wide(each, x.ndim, xp))
        if g_var is not None:
            x = single(x, xp)
            deviation = x - xp.mean(x, axis=_axes(x.ndim), keepdims=True)
            each = single(g_var, xp) * (2.0 * share / (count - 1))
            parts.append(_wide(each, x.ndim, xp) * deviation)
    return sum(parts[1:], parts[0]) if parts else xp.zeros_like(x)


def _running(
    place: int,
    g: Cotangents,
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    training: bool,
    momentum: float,
    eps: float,
    xp: Any,
) -> Any:
    """Return the gradient of a running statistic: the mean in place 1, the variance in place 2."""
    kept = g[place]
    if training and not _count(x.shape):
        return xp.zeros_like(running_mean) if kept is None else kept
    if training:
        return xp.zeros_like(running_mean) if kept is None else (1.0 - momentum) * kept
    if g[0] is None:
        return kept
    values = single(g[0], xp)
    values = values if place == 1 else values * (x - _wide(running_mean, x.ndim, xp))
    total = xp.sum(values, axis=_axes(x.ndim))
    total = total if weight is None else total * weight
    square = single(running_var, xp) + eps
    through = -total / xp.sqrt(square) if place == 1 else -0.5 * total / (square * xp.sqrt(square))
    return through if kept is None else through + kept


def _weight(
    g: Cotangents,
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    training: bool,
    eps: float,
    xp: Any,
) -> Any:
    if g[0] is None:
        return xp.zeros_like(weight)
    if training and not _count(x.shape):
        values = x
    elif training:
        values = standardised(x, _axes(x.ndim), eps, xp)[0]
    else:
        values = _by_running(x, running_mean, running_var, eps, xp)
    return xp.sum(g[0] * values, axis=_axes(x.ndim))


def _bias(g: Cotangents, bias: Any, xp: Any) -> Any:
    return xp.zeros_like(bias) if g[0] is None else xp.sum(g[0], axis=_axes(g[0].ndim))


ops.vjp(
    "nn.batch_norm(x, running_mean=None, running_var=None, /, weight=None, bias=None, *, "
    "training=False, momentum=0.1, eps=1e-5)",
    x=_x,
    running_mean=partial(_running, 1),
    running_var=partial(_running, 2),
    weight=_weight,
    bias=_bias,
    forward=batch_norm,
    outputs="optional",
    batch=_batch_norm_batch,
)
