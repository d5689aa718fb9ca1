"""Normal numbers between bounds, which are differentiated by the bounds."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from agnograd.extend import Backend, device_of
from agnograd_random import ops
from agnograd_random._exact import Arithmetic
from agnograd_random.standard import draw, draw_members
from agnograd_random.threefry import is_of_numbers

__all__ = ["standard_truncated_normal"]


def standard_truncated_normal(xp: Any, backend: Backend, key: Any, lower: Any, upper: Any) -> Any:
    """Return normal numbers of mean 0 and variance 1 between bounds.

    They are quantiles of the distribution, also far from its mean.

    Parameters
    ----------
    key : key
        Or a stack of keys: an array, of shape (keys..., 2).
    lower, upper : array, shape (keys..., ...)
        Of one shape. Where ``lower <= upper`` does not hold, the result is NaN.
    """
    return draw("standard_truncated_normal", Arithmetic, xp, backend, key, (lower, upper))


def _part(key: Any, out: Any, xp: Any) -> Any:
    """Return the uniform numbers of the draw: the part of the probability below."""
    rank = 0 if is_of_numbers(key) else key.ndim - 1
    options = {"dtype": out.dtype, "device": device_of(out)}
    return xp.random.standard_uniform(key, tuple(out.shape[rank:]), **options)


def _by_bound(bound: Any, out: Any, part: Any, xp: Any) -> Any:
    """Return the quotient of densities, times a part; 0 where there is no bound."""
    finite = xp.isfinite(bound)
    bound, out = (xp.where(finite, each, xp.zeros_like(out)) for each in (bound, out))
    found = part * xp.exp(0.5 * (out - bound) * (out + bound))
    return xp.where(finite, found, xp.zeros_like(found))


def _lower(g: Any, key: Any, lower: Any, out: Any, xp: Any) -> Any:
    return g * _by_bound(lower, out, 1.0 - _part(key, out, xp), xp)


def _upper(g: Any, key: Any, upper: Any, out: Any, xp: Any) -> Any:
    return g * _by_bound(upper, out, _part(key, out, xp), xp)


def _batch(xp: Any, size: int, mapped: Set[str], key: Any, lower: Any, upper: Any) -> Any:
    name = "standard_truncated_normal"
    return draw_members(name, xp, size, mapped, key, lower=lower, upper=upper)


ops.vjp(
    "random.standard_truncated_normal(key, lower, upper, /)",
    lower=_lower,
    upper=_upper,
    forward=standard_truncated_normal,
    batch=_batch,
    pattern=lambda key, lower, upper: lower + upper,
)
