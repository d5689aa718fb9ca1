"""Numbers of distributions: programs of standard draws, differentiable in their parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnograd.extend import Backend, device_of, is_python_scalar, itself
from agnograd_random import ops
from agnograd_random._exact import Arithmetic
from agnograd_random.standard import check_array, shape_of

__all__ = [
    "beta",
    "broadcast",
    "dirichlet",
    "exponential",
    "gamma",
    "gumbel",
    "normal",
    "truncated_normal",
    "uniform",
]


def exp(xp: Any, backend: Backend, x: Any) -> Any:
    """Return the exponential, with the same bits on every backend."""
    return Arithmetic(xp, xp.finfo(x.dtype).bits).exp(x)


def expit(xp: Any, backend: Backend, x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``, with the same bits on every backend."""
    return Arithmetic(xp, xp.finfo(x.dtype).bits).expit(x)


def scaled(xp: Any, backend: Backend, x: Any, loc: Any, scale: Any) -> Any:
    """Return ``loc + scale * x``, with the same bits on every backend."""
    return loc + scale * x


def quotient(xp: Any, backend: Backend, x1: Any, x2: Any) -> Any:
    """Return ``x1 / x2``, with the same bits on every backend."""
    return x1 / x2


def _settled(
    name: str, xp: Any, shape: Any, *given: Any, dtype: Any = None, device: Any = None, **other: Any
) -> tuple[tuple[int, ...], dict[str, Any], list[Any]]:
    """Return the shape of a result, the options of its draw, and the parameters in its dtype."""
    for each in other:
        raise TypeError(f"{name}() got an unexpected keyword argument {each!r}")
    arrays = [check_array(name, each) for each in given if not is_python_scalar(each)]
    numbers = any(isinstance(each, complex) for each in given)
    if numbers or any(xp.isdtype(each.dtype, "complex floating") for each in arrays):
        raise ValueError(f"random.{name}: parameters are real numbers, not complex ones")
    if dtype is None and arrays:
        floating = [each.dtype for each in arrays if xp.isdtype(each.dtype, "real floating")]
        dtype = xp.result_type(*floating) if floating else None
    if arrays:
        device = device_of(arrays[0]) if device is None else device
        dtype = xp.asarray(0.0).dtype if dtype is None else dtype
        given = tuple(
            each if is_python_scalar(each) else xp.astype(each, dtype, copy=False) for each in given
        )
    common = broadcast(name, *(each.shape for each in arrays))
    shape = common if shape is None else shape_of(shape)
    if broadcast(name, shape, common) != shape:
        raise ValueError(f"random.{name}: parameters of shape {common} do not fit shape {shape}")
    return shape, {"dtype": dtype, "device": device}, list(given)


def broadcast(name: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape to which shapes are broadcast."""
    rank = max(map(len, shapes), default=0)
    found = []
    for lengths in zip(
        *((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True
    ):
        longer = {*lengths} - {1}
        if len(longer) > 1:
            raise ValueError(
                f"random.{name}: shapes {', '.join(map(str, shapes))} do not broadcast"
            )
        found.append(longer.pop() if longer else 1)
    return tuple(found)


def _array(xp: Any, value: Any, shape: tuple[int, ...], options: dict[str, Any]) -> Any:
    """Return a parameter as an array of the result's shape."""
    if is_python_scalar(value):
        return xp.full(shape, float(value), **options)
    return value if tuple(value.shape) == shape else xp.broadcast_to(value, shape)


def _scaled(xp: Any, x: Any, loc: Any, scale: Any) -> Any:
    if is_python_scalar(loc) and is_python_scalar(scale) and (loc, scale) == (0, 1):
        return x
    return xp.random.scaled(x, loc, scale)


def uniform(
    xp: Any, key: Any, shape: Any = None, low: Any = 0.0, high: Any = 1.0, **options: Any
) -> Any:
    """Return uniform numbers: ``low + (high - low) * u``, where u is from 0 to 1, without 1.

    Parameters
    ----------
    key : key
    shape : tuple of int, optional
        By default that to which the parameters are broadcast.
    low, high : array or float
        The bounds. By rounding, the result may be ``high``.
    dtype : dtype, optional
        float32 or float64, by default that of the parameters.
    device : device, optional
        By default that of the parameters, or of the key.
    """
    shape, options, (low, high) = _settled("uniform", xp, shape, low, high, **options)
    return _scaled(xp, xp.random.standard_uniform(key, shape, **options), low, high - low)


def _of_location(name: str, doc: str) -> Any:
    def function(
        xp: Any, key: Any, shape: Any = None, loc: Any = 0.0, scale: Any = 1.0, **options: Any
    ) -> Any:
        shape, options, (loc, scale) = _settled(name, xp, shape, loc, scale, **options)
        found = getattr(xp.random, f"standard_{name}")(key, shape, **options)
        return _scaled(xp, found, loc, scale)

    function.__doc__ = f"""{doc}

    Parameters
    ----------
    key : key
    shape : tuple of int, optional
        By default that to which the parameters are broadcast.
    loc, scale : array or float
        The result is ``loc + scale * x``, where x is of the standard distribution.
    dtype : dtype, optional
        float32 or float64, by default that of the parameters.
    device : device, optional
        By default that of the parameters, or of the key.
    """
    return function


normal = _of_location("normal", "Return normal numbers of mean ``loc`` and deviation ``scale``.")
gumbel = _of_location("gumbel", "Return numbers of the Gumbel distribution of largest values.")


def exponential(xp: Any, key: Any, shape: Any = None, scale: Any = 1.0, **options: Any) -> Any:
    """Return exponential numbers of mean ``scale``; other parameters are as of ``normal``."""
    shape, options, (scale,) = _settled("exponential", xp, shape, scale, **options)
    found = xp.random.standard_exponential(key, shape, **options)
    return found if is_python_scalar(scale) and scale == 1 else scale * found


def gamma(
    xp: Any, key: Any, shape: Any = None, a: Any = 1.0, scale: Any = 1.0, **options: Any
) -> Any:
    """Return numbers of the gamma distribution with shape ``a``, times ``scale``.

    The gradient with respect to ``a`` is implicit: it is how a number of constant probability
    moves. For small ``a``, of which many numbers are 0, use ``loggamma``. Other parameters are as
    of ``normal``.
    """
    shape, options, (a, scale) = _settled("gamma", xp, shape, a, scale, **options)
    found = xp.random.standard_gamma(key, _array(xp, a, shape, options))
    return found if is_python_scalar(scale) and scale == 1 else scale * found


def beta(xp: Any, key: Any, shape: Any = None, a: Any = 1.0, b: Any = 1.0, **options: Any) -> Any:
    """Return numbers of the beta distribution: the share that one of two gamma numbers has.

    The gradients with respect to ``a`` and ``b`` are implicit, through those of the two. Other
    parameters are as of ``normal``.
    """
    shape, options, (a, b) = _settled("beta", xp, shape, a, b, **options)
    keys = xp.random.split(key)
    one, two = (
        xp.random.loggamma(keys[..., i, :], _array(xp, each, shape, options))
        for i, each in enumerate((a, b))
    )
    return xp.random.expit(one - two)


def dirichlet(xp: Any, key: Any, alpha: Any, shape: Any = None, **options: Any) -> Any:
    """Return numbers of Dirichlet distributions: the shares that gamma numbers have of their sum.

    Parameters
    ----------
    key : key
    alpha : array, shape (..., n)
        The parameters, positive. Their gradients are implicit, through those of gamma numbers.
    shape : tuple of int, optional
        The shape of the result without its last axis, by default that of ``alpha`` without it.
    dtype, device : optional
        As of ``normal``.

    Returns
    -------
    array, shape (*shape, n)
        The sums along the last axis are 1, but for rounding.
    """
    check_array("dirichlet", alpha, axes=1)
    full = None if shape is None else (*shape_of(shape), alpha.shape[-1])
    full, options, (alpha,) = _settled("dirichlet", xp, full, alpha, **options)
    logs = xp.random.loggamma(key, _array(xp, alpha, full, options))
    if not math.prod(full):
        return xp.exp(logs)
    parts = xp.random.exp(logs - xp.max(logs, axis=-1, keepdims=True))
    return xp.random.quotient(parts, total(xp, parts))


def total(xp: Any, x: Any) -> Any:
    """Return the sum along the last axis, which is kept, in an order that no library chooses."""
    while (length := x.shape[-1]) > 1:
        half = length // 2
        pairs = x[..., :half] + x[..., half : 2 * half]
        x = xp.concat([pairs, x[..., 2 * half :]], axis=-1) if length % 2 else pairs
    return x


def truncated_normal(
    xp: Any,
    key: Any,
    shape: Any = None,
    lower: Any = -math.inf,
    upper: Any = math.inf,
    loc: Any = 0.0,
    scale: Any = 1.0,
    **options: Any,
) -> Any:
    """Return normal numbers from ``lower`` to ``upper``, which are bounds of the result.

    All four parameters have gradients. Others are as of ``normal``.
    """
    shape, options, given = _settled(
        "truncated_normal", xp, shape, lower, upper, loc, scale, **options
    )
    lower, upper, loc, scale = given
    bounds = [
        _array(xp, _standardised(xp, each, loc, scale), shape, options) for each in (lower, upper)
    ]
    found = _scaled(xp, xp.random.standard_truncated_normal(key, *bounds), loc, scale)
    lower, upper = (_array(xp, each, shape, options) for each in (lower, upper))
    return xp.where(found < lower, lower, xp.where(found > upper, upper, found))


def _standardised(xp: Any, bound: Any, loc: Any, scale: Any) -> Any:
    difference = bound - loc
    if is_python_scalar(scale) and (scale == 1 or is_python_scalar(difference)):
        return difference / scale if scale else difference * math.inf  # as arrays are divided
    return xp.random.quotient(difference, scale)


ops.elementwise("random.exp(x, /)", x=itself("out"), forward=exp)
ops.elementwise("random.expit(x, /)", x=lambda out: out * (1.0 - out), forward=expit)
ops.elementwise(
    "random.scaled(x, loc, scale, /)",
    x=itself("scale"),
    loc=1,
    scale=itself("x"),
    forward=scaled,
)
ops.elementwise(
    "random.quotient(x1, x2, /)",
    x1=lambda x2: 1.0 / x2,
    x2=lambda x2, out: -out / x2,
    forward=quotient,
)
_OPTIONS = "*, dtype=None, device=None"
for _name, _parameters, _function in (
    ("uniform", "shape=None, low=0.0, high=1.0", uniform),
    ("normal", "shape=None, loc=0.0, scale=1.0", normal),
    ("gumbel", "shape=None, loc=0.0, scale=1.0", gumbel),
    ("exponential", "shape=None, scale=1.0", exponential),
    ("gamma", "shape=None, a=1.0, scale=1.0", gamma),
    ("beta", "shape=None, a=1.0, b=1.0", beta),
    ("dirichlet", "alpha, shape=None", dirichlet),
    (
        "truncated_normal",
        'shape=None, lower=-float("inf"), upper=float("inf"), loc=0.0, scale=1.0',
        truncated_normal,
    ),
):
    ops.composed(f"random.{_name}(key, {_parameters}, {_OPTIONS})", _function)
