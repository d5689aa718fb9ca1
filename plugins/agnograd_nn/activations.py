"""Activation functions, and softmax."""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import is_tracked, switch
from agnograd_nn import ops
from agnograd_nn.normalisation import single

__all__ = ["balanced", "gelu", "log_softmax", "relu", "sigmoid", "silu", "softmax"]

_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of the normal distribution at 0
_INNER = math.sqrt(2.0 / math.pi)
_CUBE = 0.044715
_GONE = 800.0  # from where exp(-x) is 0
_TINY = 1e-30  # half of which is a normal number, if not a half's
_FAR = 40.0  # from where the approximate share is 0 or 1; its cube is a half's number, too

# From how many elements on the sum of as many halves may overflow.
HALF_CLASSES = switch("HALF_CLASSES", 2**15, least=0, most=2**15, module=__name__)


def relu(xp: Any, x: Any) -> Any:
    """Return x where it is positive, else 0; its derivative at 0 is 0."""
    return xp.maximum(x, 0)


def sigmoid(xp: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), without overflow."""
    small = xp.exp(-xp.abs(x))
    # The larger one is chosen in less time than by `where`, whose mask may be in no order.
    return xp.maximum(small, xp.astype(x >= 0, small.dtype)) / (1.0 + small)


def _sigmoid_slope(x: Any, xp: Any) -> Any:
    """Return e / (1 + e)**2, where e = exp(-|x|): nothing cancels in the tails."""
    power = xp.exp(-xp.abs(x))
    total = 1.0 + power
    tail = power / (total * total)
    if not is_tracked(x):
        return tail
    near = xp.tanh(0.5 * x)  # the absolute value has a kink at 0
    return xp.where(xp.abs(x) < 2.0, 0.25 - 0.25 * near * near, tail)


def silu(xp: Any, x: Any) -> Any:
    """Return x times its sigmoid (Hendrycks and Gimpel, "Gaussian error linear units", 2016)."""
    return x * xp.nn.sigmoid(x)


def _silu_slope(x: Any, xp: Any) -> Any:
    within = xp.clip(x, -_GONE, _GONE)  # beyond, the product is 0, and infinity has none
    return xp.nn.sigmoid(x) * (1.0 + within * xp.nn.sigmoid(-x))


def gelu(xp: Any, x: Any, *, approximate: str = "none") -> Any:
    """Return x times its normal distribution function, as PyTorch's gelu does.

    Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Parameters
    ----------
    x : array
    approximate : {"none", "tanh"}
        Whether the distribution function is exact, or approximated by a tanh.
    """
    return x * _share(x, approximate, xp)


def _share(x: Any, approximate: str, xp: Any) -> Any:
    if approximate == "none":
        return 0.5 * xp.special.erfc(x / -math.sqrt(2.0))  # as exact in the tail on all libraries
    if approximate != "tanh":
        raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")
    x = xp.clip(x, -_FAR, _FAR)
    return xp.nn.sigmoid(2.0 * _INNER * (x + _CUBE * x * x * x))  # half of 1 + tanh


def _share_in(out: Any, x: Any, xp: Any) -> Any:
    """Return the exact share of x that ``out`` is: a quotient takes less time than it took.

    Where it has no digits, near 0 and where x may be infinite, the share is a half, 0 or 1.
    """
    size = xp.abs(x)
    usual = xp.logical_and(size > _TINY, size < _FAR)
    return xp.where(usual, out / xp.where(usual, x, 1.0), 0.5 + 0.5 * xp.clip(x, -1.0, 1.0))


def _gelu_slope(x: Any, out: Any, approximate: str, xp: Any) -> Any:
    if approximate == "none":
        within = xp.clip(x, -_FAR, _FAR)  # beyond, the density is 0, and infinity has none
        known = not is_tracked(x) and xp.result_type(x.dtype, xp.float32) == x.dtype
        share = _share_in(out, x, xp) if known else _share(x, approximate, xp)
        return share + _DENSITY * within * xp.exp(-0.5 * within * within)
    within = xp.clip(x, -_FAR, _FAR)
    inner = _INNER * (1.0 + 3.0 * _CUBE * within * within)
    share, rest = _share(x, approximate, xp), _share(-x, approximate, xp)
    return share + within * (2.0 * inner * share * rest)


def softmax(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """Return exp(x) over its sum along an axis, without overflow."""
    if 0 in x.shape:  # an axis of no elements has no largest one
        return x + xp.sum(x, axis=axis, keepdims=True)
    dtype, x = x.dtype, _wide(x, axis, xp)
    powers = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return xp.astype(powers / xp.sum(powers, axis=axis, keepdims=True), dtype, copy=False)


def log_softmax(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """Return the logarithm of the softmax along an axis, without overflow."""
    if 0 in x.shape:
        return x + xp.sum(x, axis=axis, keepdims=True)
    dtype, x = x.dtype, _wide(x, axis, xp)
    x = x - xp.max(x, axis=axis, keepdims=True)
    out = x - xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=True))
    return xp.astype(out, dtype, copy=False)


def _wide(x: Any, axis: int, xp: Any) -> Any:
    """Return an array in whose dtype there are numbers for sums along an axis, as of halves."""
    if not x.shape or x.shape[axis] < HALF_CLASSES:
        return x
    return single(x, xp)


def balanced(gradient: Any, shares: Any, axis: int, xp: Any) -> Any:
    """Return a gradient that adds up to 0 along an axis, of shares that add up to 1.

    Where one of them is nearly 1, one minus it loses its digits: there the gradient is minus the
    sum of the others.
    """
    most = shares > 0.5
    others = xp.sum(xp.where(most, 0.0, gradient), axis=axis, keepdims=True)
    return xp.where(most, -others, gradient)


def _softmax_x(g: Any, out: Any, axis: int, xp: Any) -> Any:
    share = g * out
    share = share - out * xp.sum(share, axis=axis, keepdims=True)
    return balanced(share, out, axis, xp)


def _log_softmax_x(g: Any, out: Any, axis: int, xp: Any) -> Any:
    dtype, g, out = out.dtype, _wide(g, axis, xp), _wide(out, axis, xp)
    shares = xp.exp(out)
    gradient = balanced(g - shares * xp.sum(g, axis=axis, keepdims=True), shares, axis, xp)
    return xp.astype(gradient, dtype, copy=False)


ops.vjp(
    "nn.relu(x, /)",
    x=lambda g, out, xp: xp.where(out <= 0, 0.0, g),
    forward=relu,
    batch="elementwise",
)
ops.elementwise("nn.sigmoid(x, /)", x=_sigmoid_slope, forward=sigmoid)
ops.elementwise("nn.silu(x, /)", x=_silu_slope, forward=silu)
ops.elementwise('nn.gelu(x, /, *, approximate="none")', x=_gelu_slope, forward=gelu)
ops.vjp(
    "nn.softmax(x, /, *, axis=-1)",
    x=_softmax_x,
    forward=softmax,
    batch="axis",
)
ops.vjp(
    "nn.log_softmax(x, /, *, axis=-1)",
    x=_log_softmax_x,
    forward=log_softmax,
    batch="axis",
)
