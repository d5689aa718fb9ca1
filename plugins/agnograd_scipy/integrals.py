"""Integrals, as ``scipy.integrate`` has them.

SciPy chooses the intervals, as ``agnograd_scipy.equations`` says of steps, and the namespace
evaluates the formula. Where a value does not vary, its derivative may: so intervals are chosen for
a derivative, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import agnograd as ag
from agnograd.errors import MissingRuleError
from agnograd.extend import device_of, sensitivity
from agnograd_scipy import integrate
from agnograd_scipy._arrays import arrays_in, composed, given, inexact
from agnograd_scipy._host import host_methods, to_host

__all__ = ["fixed_quad", "quad"]

_NODES = 21  # Gauss's formula with as many as SciPy's of Gauss and Kronrod


def quad(
    xp: Any,
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
) -> tuple[Any, float]:
    """Return the integral of a function and an estimate of its error, ``scipy.integrate.quad``.

    SciPy's ``quad_vec`` divides the interval, once for the integral and once for its derivative in
    one direction, if something is tracked; Gauss's formula of 21 points in the parts of both is the
    result.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` of a number or 0-d array returns a number or an array of any shape. It is
        made of array functions.
    a, b : float or 0-d array
        The limits, of which infinite ones are floats. One that is an array has a gradient.
    args : tuple
        Further arguments of ``func``. They have gradients, as everything that it uses.
    epsabs, epsrel : float
        The tolerances.
    limit : int
        How many intervals there are at most.

    Returns
    -------
    array, float

    Raises
    ------
    RuntimeError
        If the tolerances are not met, by the integral or by its derivative.
    """
    args = given(xp, args)
    place, start = _substitution(*(xp.asarray(x) if hasattr(x, "dtype") else x for x in (a, b)))

    def integrand(t: Any) -> Any:
        x, factor = place(t)
        return factor * func(x, *args)

    def evaluated(t: float) -> Any:
        with ag.no_grad():
            return to_host(integrand(t))

    host = host_methods()
    parts, error = host.intervals(evaluated, start, 1.0, epsabs, epsrel, limit)
    ends = {end for part in parts for end in part}
    if _is_tracked(integrand, parts):
        ends |= _of_derivative(integrand, start, epsabs, epsrel, limit)
    nodes, weights = host.gauss(_NODES)
    total: Any = 0.0
    for low, high in pairwise(sorted(ends)):
        middle, half = (low + high) / 2, (high - low) / 2
        for node, weight in zip(nodes, weights, strict=True):
            total = total + half * weight * integrand(middle + half * node)
    return total, error


def _is_tracked(integrand: Callable[[float], Any], parts: list[list[float]]) -> bool:
    """Return whether an integrand has a derivative by something that is tracked."""
    middles = [low / 2 + high / 2 for low, high in parts]
    try:
        return any(sensitivity(lambda t=t: integrand(t)) is not None for t in middles)  # type: ignore[misc]
    except MissingRuleError:  # which the pass will say, if there is one
        return False


def _of_derivative(
    integrand: Callable[[float], Any], start: float, epsabs: float, epsrel: float, limit: int
) -> set[float]:
    """Return the ends of the intervals that SciPy chooses for a derivative of the integrand."""

    def derivative(t: float) -> float:
        return sensitivity(lambda: integrand(t)) or 0.0

    try:
        parts, _ = host_methods().intervals(derivative, start, 1.0, epsabs, epsrel, limit)
    except RuntimeError as error:
        raise RuntimeError(
            f"{error} That is the derivative's error, which stays above the tolerances, while the "
            "integral's does not: the derivative may be infinite somewhere. For the integral "
            "without a derivative, call quad under ag.no_grad(), or detach what func uses"
        ) from error
    return {end for part in parts for end in part}


def _substitution(a: Any, b: Any) -> tuple[Callable[[float], tuple[Any, Any]], float]:
    """Return x and dx/dt as a function of t, which goes to 1 from the second value."""
    below, above = (isinstance(each, float) and math.isinf(each) for each in (a, b))
    if below and above:
        sign = float((b > a) - (b < a))
        return (lambda t: (sign * t / (1 - t * t), sign * (1 + t * t) / (1 - t * t) ** 2)), -1.0
    if below or above:
        end, infinite, factor = (a, b, 1.0) if above else (b, a, -1.0)
        sign = math.copysign(1.0, infinite)
        return (lambda t: (end + sign * t / (1 - t), factor * sign / (1 - t) ** 2)), 0.0
    return (lambda t: (a + t * (b - a), b - a)), 0.0


def fixed_quad(
    xp: Any, func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5
) -> Any:
    """Return the integral by Gauss's formula of n points, the first of SciPy's ``fixed_quad``.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` of an array of shape (n,) returns one of shape (..., n).
    a, b : float or 0-d array
        The limits.
    args : tuple
        Further arguments of ``func``.
    n : int
        The number of points.

    Returns
    -------
    array, shape (...)
    """
    args = given(xp, args)
    a, b, *_ = inexact(xp, a, b, *arrays_in(args))
    nodes, weights = (
        xp.asarray(each, dtype=a.dtype, device=device_of(a)) for each in host_methods().gauss(n)
    )
    half = (b - a) / 2
    return half * xp.sum(weights * func(half * nodes + (a + b) / 2, *args), axis=-1)


composed(integrate, quad, fixed_quad)
