"""Activation functions, and softmax."""

from __future__ import annotations

import math
from typing import Any

from agnograd_nn._ops import ops

__all__ = ["gelu", "log_softmax", "relu", "sigmoid", "silu", "softmax"]

_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of the normal distribution at 0
_INNER = math.sqrt(2.0 / math.pi)
_CUBE = 0.044715


def relu(xp: Any, x: Any) -> Any:
    """Return x where it is positive, else 0; its derivative at 0 is 0."""
    return xp.maximum(x, 0)


def sigmoid(xp: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), without overflow."""
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, small) / (1.0 + small)


def silu(xp: Any, x: Any) -> Any:
    """Return x times its sigmoid (Hendrycks and Gimpel, "Gaussian error linear units", 2016)."""
    return x * xp.nn.sigmoid(x)


def _silu_slope(x: Any, xp: Any) -> Any:
    s = xp.nn.sigmoid(x)
    return s * (1.0 + x * (1.0 - s))


def _density(x: Any, xp: Any) -> Any:
    return _DENSITY * xp.exp(-0.5 * x * x)


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
        return xp.special.ndtr(x)
    if approximate != "tanh":
        raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")
    return 0.5 + 0.5 * xp.tanh(_INNER * (x + _CUBE * x * x * x))


def _gelu_slope(x: Any, approximate: str, xp: Any) -> Any:
    share = _share(x, approximate, xp)
    if approximate == "none":
        return share + x * _density(x, xp)
    inner = _INNER * (1.0 + 3.0 * _CUBE * x * x)
    return share + 2.0 * x * inner * share * (1.0 - share)


def softmax(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """Return exp(x) over its sum along an axis, without overflow."""
    powers = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return powers / xp.sum(powers, axis=axis, keepdims=True)


def log_softmax(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """Return the logarithm of the softmax along an axis, without overflow."""
    x = x - xp.max(x, axis=axis, keepdims=True)
    return x - xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=True))


def _softmax_x(g: Any, out: Any, axis: int, xp: Any) -> Any:
    share = g * out
    return share - out * xp.sum(share, axis=axis, keepdims=True)


def _log_softmax_x(g: Any, out: Any, axis: int, xp: Any) -> Any:
    return g - xp.exp(out) * xp.sum(g, axis=axis, keepdims=True)


ops.vjp(
    "nn.relu(x, /)",
    x=lambda g, out, xp: xp.where(out <= 0, 0.0, g),
    forward=relu,
)
ops.elementwise("nn.sigmoid(x, /)", x=lambda out: out * (1.0 - out), forward=sigmoid)
ops.elementwise("nn.silu(x, /)", x=_silu_slope, forward=silu)
ops.elementwise('nn.gelu(x, /, *, approximate="none")', x=_gelu_slope, forward=gelu)
ops.vjp(
    "nn.softmax(x, /, *, axis=-1)",
    x=_softmax_x,
    forward=softmax,
)
ops.vjp(
    "nn.log_softmax(x, /, *, axis=-1)",
    x=_log_softmax_x,
    forward=log_softmax,
)
