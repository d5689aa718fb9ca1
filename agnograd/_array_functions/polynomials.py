"""NumPy's functions of polynomials, highest power first."""

from __future__ import annotations

from typing import Any

from agnograd._array_functions._helpers import flat, floating, like
from agnograd._array_functions._program import Array, Table

__all__ = ["table"]

table = Table()


@table.add("polyval")
def _polyval(xp: Any, p: Array, x: Array) -> Array:
    value = xp.zeros_like(x)
    for index in range(p.shape[0]):
        value = value * x + p[index]
    return value


@table.add("vander")
def _vander(xp: Any, x: Array, N: int | None = None, increasing: bool = False) -> Array:  # noqa: N803 - NumPy's name
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = x.shape[0] if N is None else N
    powers = [xp.ones_like(x)]
    while len(powers) < count:
        powers.append(powers[-1] * x)
    powers = powers[:count]
    if not powers:
        return xp.zeros((x.shape[0], 0), dtype=x.dtype)
    return xp.stack(powers if increasing else powers[::-1], axis=1)


def _longer(xp: Any, p: Array, length: int) -> Array:
    more = length - p.shape[0]
    return xp.concat([xp.zeros((more,), dtype=p.dtype), p]) if more else p


@table.add("polyadd")
def _polyadd(xp: Any, a1: Array, a2: Array) -> Array:
    a1, a2 = flat(xp, a1), flat(xp, a2)
    length = max(a1.shape[0], a2.shape[0])
    return _longer(xp, a1, length) + _longer(xp, a2, length)


@table.add("polysub")
def _polysub(xp: Any, a1: Array, a2: Array) -> Array:
    return _polyadd(xp, a1, -a2)


@table.add("polymul")
def _polymul(xp: Any, a1: Array, a2: Array) -> Array:
    from agnograd._array_functions.products import table as products

    product: Array = products["convolve"].function(xp, a1, a2)
    return product


@table.add("polyder")
def _polyder(xp: Any, p: Array, m: int = 1) -> Array:
    for _ in range(m):
        degree = p.shape[0] - 1
        powers = xp.arange(degree, 0, -1, dtype=p.dtype, device=p.device)
        p = p[:-1] * powers
    return p


@table.add("polyint")
def _polyint(xp: Any, p: Array, m: int = 1, k: Any = None) -> Array:
    constants = k if isinstance(k, list | tuple) else [0.0 if k is None else k] * m
    p = floating(xp, p)
    for index in range(m):
        powers = xp.arange(p.shape[0], 0, -1, dtype=p.dtype, device=p.device)
        constant = xp.reshape(like(p, constants[index]), (1,))
        p = xp.concat([p / powers, constant])
    return p


@table.add("polyfit")
def _polyfit(
    xp: Any, x: Array, y: Array, deg: int, rcond: float | None = None, *, w: Array | None = None
) -> Array:
    x, y = floating(xp, x), floating(xp, y)
    matrix = _vander(xp, x, deg + 1)
    if w is not None:
        matrix = matrix * w[:, None]
        y = y * (w[:, None] if y.ndim == 2 else w)
    scale = xp.sqrt(xp.sum(matrix * matrix, axis=0))
    rcond = x.shape[0] * float(xp.finfo(x.dtype).eps) if rcond is None else rcond
    found = xp.matmul(xp.linalg.pinv(matrix / scale, rtol=rcond), y)
    return found / (scale[:, None] if y.ndim == 2 else scale)
