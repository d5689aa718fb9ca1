"""Cross-entropy, from scores: by the log-softmax, so that nothing overflows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from agnograd.extend import device_of
from agnograd_nn import ops
from agnograd_nn.activations import balanced
from agnograd_nn.normalisation import single

__all__ = ["cross_entropy"]

_REDUCTIONS = ("mean", "sum", "none")


class _Terms(NamedTuple):
    """What the losses of samples are made of; the axis of classes is ``axis``.

    Attributes
    ----------
    logs : array
        The logarithms of the predicted probabilities.
    shares : array
        The smoothed target probabilities; 0 for samples that are ignored.
    weight : array or float
        The weights of classes.
    counted : array or None
        For targets that are indices: ones at the right classes of samples that are not ignored.
    invalid : array or None
        For targets that are indices: whether one is neither a class nor ignored.
    """

    axis: int
    logs: Any
    shares: Any
    weight: Any
    counted: Any
    invalid: Any

    def divisor(self, xp: Any) -> Any:
        """Return what the sum over samples is divided by for their mean.

        It is in single precision, or more: a half cannot count to 65,520.
        """
        if self.counted is not None:
            return xp.sum(single(self.counted * self.weight, xp))
        return math.prod(self.logs.shape) / self.logs.shape[self.axis]

    def products(self, shares: Any, xp: Any) -> Any:
        """Return shares times logarithms; a share of 0 of a probability of 0 is nothing."""
        nothing = xp.logical_and(shares == 0.0, self.logs == -math.inf)
        return shares * xp.where(nothing, 0.0, self.logs)


def _terms(
    x: Any, target: Any, weight: Any, ignore_index: int, label_smoothing: float, xp: Any
) -> _Terms:
    axis = min(1, x.ndim - 1)
    classes = x.shape[axis]
    along = (*(1,) * axis, classes, *(1,) * (x.ndim - axis - 1))
    weight = 1.0 if weight is None else xp.reshape(weight, along)
    if xp.isdtype(target.dtype, "real floating"):
        logs = xp.nn.log_softmax(x, axis=axis)
        shares = target * (1.0 - label_smoothing) + label_smoothing / classes
        return _Terms(axis, logs, shares, weight, None, None)
    target = xp.expand_dims(target, axis=axis)
    device = device_of(target)
    numbers = xp.reshape(xp.arange(classes, dtype=target.dtype, device=device), along)
    right = xp.astype(target == numbers, x.dtype)
    invalid = xp.logical_or(target < 0, target >= classes)
    shares = right * (1.0 - label_smoothing) + label_smoothing / classes
    if ignore_index >= 0 or not xp.isdtype(target.dtype, "unsigned integer"):
        ignored = target == ignore_index
        x = xp.where(ignored, 0.0, x)  # which may be infinite or NaN there
        right, shares = xp.where(ignored, 0.0, right), xp.where(ignored, 0.0, shares)
        invalid = xp.logical_and(invalid, xp.logical_not(ignored))
    logs = xp.nn.log_softmax(x, axis=axis)
    return _Terms(axis, logs, shares, weight, right, invalid)


def cross_entropy(
    xp: Any,
    x: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Return the cross-entropy between targets and the softmax of scores, as PyTorch's does.

    Parameters
    ----------
    x : array, shape (batch, classes, ...) or (classes,)
        Scores.
    target : array
        The indices of the right classes, shape (batch, ...) or (); or the probabilities of
        classes, of the shape of x. An index that is not a class makes a loss of NaN.
    weight : array, shape (classes,), optional
        The weights of classes.
    ignore_index : int
        A target index that counts for nothing.
    reduction : {"mean", "sum", "none"}
        ``"mean"`` divides by the sum of the right classes' weights, and for probabilities by the
        number of samples.
    label_smoothing : float
        The share of a target's probability that all classes get equally (Szegedy and others,
        "Rethinking the inception architecture for computer vision", 2015).

    Returns
    -------
    array, 0-d, or with ``reduction="none"`` of shape (batch, ...) or ()

    Raises
    ------
    ValueError
        If shapes or options are none of these.
    """
    _check(x, target, reduction, label_smoothing, xp)
    terms = _terms(x, target, weight, ignore_index, label_smoothing, xp)
    products = terms.products(terms.shares * terms.weight, xp)
    losses = -xp.sum(products, axis=terms.axis, keepdims=True)
    if terms.invalid is not None:
        losses = xp.where(terms.invalid, math.nan, losses)
    if reduction == "none":
        return xp.squeeze(losses, axis=terms.axis)
    total = xp.sum(single(losses, xp))
    total = total if reduction == "sum" else total / terms.divisor(xp)
    return xp.astype(total, losses.dtype, copy=False)


def _check(x: Any, target: Any, reduction: str, label_smoothing: float, xp: Any) -> None:
    expected = x.shape
    if not xp.isdtype(target.dtype, "real floating"):
        expected = x.shape[:1] + x.shape[2:] if x.ndim > 1 else ()
    if x.ndim < 1 or target.shape != expected:
        raise ValueError(
            f"a {target.dtype} target of shape {target.shape} does not belong to scores of shape "
            f"{x.shape}, which are (batch, classes, ...) or (classes,)"
        )
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(_REDUCTIONS)}, not {reduction!r}")
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"label_smoothing is between 0 and 1, not {label_smoothing!r}")


def _of_samples(g: Any, terms: _Terms, reduction: str, xp: Any) -> Any:
    """Return the gradient of the losses of samples."""
    if reduction == "none":
        g = xp.expand_dims(g, axis=terms.axis)
    elif reduction == "mean":
        g = single(g, xp) / terms.divisor(xp)
    return g if terms.invalid is None else xp.where(terms.invalid, math.nan, g)


def _x(
    g: Any,
    x: Any,
    target: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    xp: Any,
) -> Any:
    terms = _terms(x, target, weight, ignore_index, label_smoothing, xp)
    shares, predicted = terms.shares * terms.weight, xp.exp(terms.logs)
    total = xp.sum(shares, axis=terms.axis, keepdims=True)
    slope = balanced(total * predicted - shares, predicted, terms.axis, xp)
    return _of_samples(g, terms, reduction, xp) * slope


def _target(
    g: Any,
    x: Any,
    target: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    xp: Any,
) -> Any:
    terms = _terms(x, target, weight, ignore_index, label_smoothing, xp)
    along = terms.weight * terms.logs * (label_smoothing - 1.0)
    return _of_samples(g, terms, reduction, xp) * along


def _weight(
    g: Any,
    x: Any,
    target: Any,
    weight: Any,
    out: Any,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    xp: Any,
) -> Any:
    terms = _terms(x, target, weight, ignore_index, label_smoothing, xp)
    each = -_of_samples(g, terms, reduction, xp) * terms.products(terms.shares, xp)
    if reduction == "mean" and terms.counted is not None:  # the divisor has weights in it, too
        each = each - single(g, xp) * out / terms.divisor(xp) * terms.counted
    return xp.sum(each, axis=tuple(i for i in range(x.ndim) if i != terms.axis))


ops.vjp(
    "nn.cross_entropy(x, target, /, weight=None, *, ignore_index=-100, reduction='mean', "
    "label_smoothing=0.0)",
    x=_x,
    target=_target,
    weight=_weight,
    forward=cross_entropy,
)
