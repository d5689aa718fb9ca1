"""Draws of the gamma distribution, with implicit derivatives with respect to its shape.

A number z has the derivative that leaves its probability as it is (Figurnov, Mohamed and Mnih,
"Implicit reparameterization gradients", 2018): that of the distribution function by the shape,
divided by the density, with the other sign. It is not how the number of a fixed key changes with
the shape, which jumps where another proposal is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from agnograd.extend import Backend
from agnograd_random import ops
from agnograd_random._exact import Arithmetic
from agnograd_random.standard import draw, draw_members

__all__ = ["loggamma", "standard_gamma"]


def standard_gamma(xp: Any, backend: Backend, key: Any, alpha: Any) -> Any:
    """Return numbers of the gamma distribution with scale 1.

    Parameters
    ----------
    key : key
        Or a stack of keys: an array, of shape (keys..., 2).
    alpha : array, shape (keys..., ...)
        The shape of the distribution of each number, not negative. Its gradient is implicit.

    Returns
    -------
    array, of the shape and dtype of alpha
    """
    return draw("standard_gamma", Arithmetic, xp, backend, key, (alpha,))


def loggamma(xp: Any, backend: Backend, key: Any, alpha: Any) -> Any:
    """Return the logarithms of the numbers of ``standard_gamma``, which for small shapes are 0."""
    return draw("loggamma", Arithmetic, xp, backend, key, (alpha,))


def _log_slope(alpha: Any, log: Any, xp: Any) -> Any:
    """Return the implicit derivative of the logarithm of a number by its shape.

    Where the number is tiny, the distribution function is ``z**alpha / gamma(alpha + 1)``. What
    leaves the range of the dtype is its largest number.
    """
    special = xp.special
    tiny = log < -69.0  # z is less than 1e-30
    z = xp.exp(xp.where(tiny, xp.zeros_like(log), log))
    safe = xp.where(tiny, xp.ones_like(alpha), alpha)
    whole = -special.gammainc_by_shape(safe, z) / (z * special.gamma_density(safe, z))
    near = xp.where(tiny, log, xp.zeros_like(log))
    positive = xp.where(tiny, alpha, xp.ones_like(alpha))
    rise, most = special.psi(positive + 1.0) - near, xp.finfo(alpha.dtype).max
    beyond = rise > most * positive  # and 0, a part that is lost, times it is 0 all the same
    ratio = xp.where(beyond, xp.ones_like(rise), rise) / xp.where(beyond, 1.0, positive)
    return xp.where(tiny, xp.where(beyond, most, ratio), whole)


def _through_log(g: Any, alpha: Any, out: Any, xp: Any) -> Any:
    return g * _log_slope(alpha, out, xp)


def _through(g: Any, alpha: Any, out: Any, xp: Any) -> Any:
    positive = out > 0.0
    log = xp.log(xp.where(positive, out, xp.ones_like(out)))
    slope = out * _log_slope(xp.where(positive, alpha, xp.ones_like(alpha)), log, xp)
    return g * xp.where(positive, slope, xp.zeros_like(out))


def _registered(name: str, forward: Callable[..., Any], rule: Callable[..., Any]) -> None:
    def batch(xp: Any, size: int, mapped: Set[str], key: Any, alpha: Any) -> Any:
        return draw_members(name, xp, size, mapped, key, alpha=alpha)

    ops.vjp(
        f"random.{name}(key, alpha, /)",
        alpha=rule,
        forward=forward,
        batch=batch,
        pattern=lambda key, alpha: alpha * 1.0,
    )


_registered("standard_gamma", standard_gamma, _through)
_registered("loggamma", loggamma, _through_log)
