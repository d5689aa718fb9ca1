"""NumPy's functions of polynomials, highest power first."""

from __future__ import annotations

from typing import Any

from agnograd_numpy_functions._arguments import like
from agnograd_numpy_functions._helpers import double, flat, promoted, together
from agnograd_numpy_functions._program import Array, Table

__all__ = ["table"]

table = Table()


@table.add("polyval")
def _polyval(xp: Any, p: Array, x: Array) -> Array:
    p, x = together(xp, p, x)
    value = xp.zeros_like(x)
    for index in range(p.shape[0]):
        value = value * x + p[index]
    return value


@table.add("vander")
def _vander(xp: Any, x: Array, N: int | None = None, increasing: bool = False) -> Array:  # noqa: N803 - NumPy's name
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = x.shape[0] if N is None else N
    x = _with_integers(xp, x)
    powers = [xp.ones_like(x)]
    while len(powers) < count:
        powers.append(powers[-1] * x)
    powers = powers[:count]
    if not powers:
        return xp.zeros((x.shape[0], 0), dtype=x.dtype)
    return xp.stack(powers if increasing else powers[::-1], axis=1)


def _with_integers(xp: Any, x: Array) -> Array:
    """Return an array in the dtype that it has when it meets integers, as NumPy's exponents are."""
    return xp.astype(x, promoted(xp, x, xp.zeros((), dtype=xp.int64)), copy=False)


def _longer(xp: Any, p: Array, length: int) -> Array:
    more = length - p.shape[0]
    return xp.concat([xp.zeros((more,), dtype=p.dtype), p]) if more else p


def _alike(xp: Any, a1: Array, a2: Array) -> list[Array]:
    """Return two polynomials of as many coefficients, the shorter one with zeros before."""
    a1, a2 = (flat(xp, each) if each.ndim < 1 else each for each in together(xp, a1, a2))
    length = max(a1.shape[0], a2.shape[0])
    if a1.shape[0] != a2.shape[0] and (a1.ndim > 1 or a2.ndim > 1):
        raise ValueError("polynomials of different lengths have to be arrays of one axis")
    return [_longer(xp, each, length) for each in (a1, a2)]


@table.each("polyadd", "polysub")
def _sum(name: str, xp: Any, a1: Array, a2: Array) -> Array:
    a1, a2 = _alike(xp, a1, a2)
    return a1 + a2 if name == "polyadd" else a1 - a2


@table.add("polymul")
def _polymul(xp: Any, a1: Array, a2: Array) -> Array:
    from agnograd_numpy_functions.products import table as products

    if a1.ndim > 1 or a2.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    a1, a2 = (each if each.size else xp.zeros((1,), dtype=each.dtype) for each in (a1, a2))
    product: Array = products["convolve"].function(xp, a1, a2)
    return product


@table.add("polyder")
def _polyder(xp: Any, p: Array, m: int = 1) -> Array:
    if not m:
        return p
    p = _with_integers(xp, p)
    for _ in range(m):
        degree = p.shape[0] - 1
        powers = xp.arange(degree, 0, -1, dtype=p.dtype, device=p.device)
        p = p[:-1] * powers
    return p


@table.add("polyint")
def _polyint(xp: Any, p: Array, m: int = 1, k: Any = None) -> Array:
    if not m:
        return p
    constants = k if isinstance(k, list | tuple) else [0.0 if k is None else k] * m
    p = double(xp, p)
    for index in range(m):
        powers = xp.arange(p.shape[0], 0, -1, dtype=p.dtype, device=p.device)
        constant = xp.reshape(like(p, constants[index]), (1,))
        p = xp.concat([p / powers, constant])
    return p


@table.add("polyfit")
def _polyfit(
    xp: Any, x: Array, y: Array, deg: int, rcond: float | None = None, *, w: Array | None = None
) -> Array:
    if x.ndim != 1 or y.ndim not in (1, 2):
        raise TypeError("polyfit needs x of one axis, and y of one or two")
    if not x.size or x.shape[0] != y.shape[0] or (w is not None and w.shape != x.shape):
        raise TypeError("polyfit needs points: x, y and w of the same length, at least one")
    x, y = together(xp, double(xp, x), double(xp, y))
    matrix = _vander(xp, x, deg + 1)
    if w is not None:
        w = xp.astype(w, promoted(xp, x, w), copy=False)
        matrix = matrix * w[:, None]
        y = y * (w[:, None] if y.ndim == 2 else w)
    scale = xp.sqrt(xp.sum(matrix * matrix, axis=0))
    rcond = x.shape[0] * float(xp.finfo(x.dtype).eps) if rcond is None else rcond
    found = xp.matmul(xp.linalg.pinv(matrix / scale, rtol=rcond), y)
    return found / (scale[:, None] if y.ndim == 2 else scale)
