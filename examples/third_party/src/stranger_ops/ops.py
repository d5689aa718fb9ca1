"""Two ops beyond the standard, with their derivative rules: ``erf`` and ``logsumexp``."""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import Backend, OpSet, keep_axes, reduced_axes

__all__ = ["ops"]

ops = OpSet("stranger", samples="stranger_ops.samples")

_SLOPE = 2.0 / math.sqrt(math.pi)  # of erf at 0
_LAST = 6.0  # from here on erf is 1 in double precision
_TERMS = 160  # by which the series has converged at _LAST


def _erf(xp: Any, backend: Backend, x: Any, /) -> Any:
    """Compute erf by SciPy on NumPy's arrays, and by array-API functions on all others."""
    if backend.name == "numpy":
        from scipy.special import erf

        return erf(x)
    # A&S 7.1.6: all terms are positive, so that nothing cancels.
    near = xp.clip(x, -_LAST, _LAST)
    square = near * near
    total = xp.ones_like(near)
    for n in range(_TERMS, 0, -1):
        total = 1.0 + total * square * (2.0 / (2 * n + 1))
    return _SLOPE * near * xp.exp(-square) * total


ops.elementwise("erf(x, /)", x=lambda x, xp: _SLOPE * xp.exp(-(x * x)), forward=_erf)


def _logsumexp(
    xp: Any, backend: Backend, x: Any, /, *, axis: Any = None, keepdims: bool = False
) -> Any:
    """Compute log(sum(exp(x))) without overflow."""
    top = xp.max(x, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    with backend.quiet():  # the logarithm of 0 is meant
        out = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)) + top
    return out if keepdims else xp.squeeze(out, axis=reduced_axes(axis, x.ndim))


def _logsumexp_x(g: Any, x: Any, out: Any, axis: Any, xp: Any) -> Any:
    """Give each element its share: the softmax, which is 0 where nothing has a share."""
    out = keep_axes(out, x.shape, axis, xp)
    out = xp.where(out == -math.inf, xp.zeros_like(out), out)
    return keep_axes(g, x.shape, axis, xp) * xp.exp(x - out)


ops.vjp(
    "logsumexp(x, /, *, axis=None, keepdims=False)",
    x=_logsumexp_x,
    forward=_logsumexp,
)
