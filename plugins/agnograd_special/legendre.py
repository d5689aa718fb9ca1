"""Associated Legendre functions on [-1, 1] (DLMF 14)."""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import elementwise, needed

__all__: list[str] = []

_PARAMETER = "the derivative with respect to a parameter has no closed form"


def _lpmv_slope(xp: Any, m: Any, v: Any, x: Any, order: int = 1) -> Any:
    """Return the derivative of ``lpmv`` of a given order.

    The function is ``(-1)**m (1 - x**2)**(m / 2)`` times the m-th derivative of P (DLMF 14.7.10).
    For negative m it is a multiple of that for positive m (DLMF 14.9.3). At the ends the term
    with the lowest power of ``1 - x**2`` counts, where that is infinite; at -1 functions of other
    degrees than integers have the sign of their logarithm's derivatives (DLMF 14.8.1 and 14.9.10).
    """
    m, v, x = xp.broadcast_arrays(*floats(xp, m, v, x))
    v = xp.where(v < 0.0, -1.0 - v, v)
    whole = v == xp.floor(v)
    # Where SciPy has no value the multiple is undefined.
    known = xp.logical_and(m == xp.floor(m), xp.logical_or(v + m >= 0.0, xp.logical_not(whole)))
    known = xp.logical_and(xp.logical_or(m >= 0.0, known), xp.abs(x) <= 1.0)
    m, size = xp.where(known, m, 0.0), xp.where(known, xp.abs(m), 0.0)
    falls = m < 0.0
    rise = xp.special.poch(xp.where(falls, v - size + 1.0, 1.0), xp.where(falls, 2.0 * size, 1.0))
    sign = 1.0 - 2.0 * (size - 2.0 * xp.floor(0.5 * size))
    factor = xp.where(falls, 1.0 / rise, sign)
    square = (1.0 - x) * (1.0 + x)
    total = xp.zeros_like(x)
    for power, part in sorted(_parts(size, v, x, order, xp).items()):
        term = part * xp.where(part == 0.0, 1.0, square) ** (0.5 * size + power)
        total = xp.where(xp.isinf(total), total, total + term)
    log = -((-1.0) ** order) * xp.sin(math.pi * (v - 2.0 * xp.floor(0.5 * v)))
    total = xp.where(xp.logical_or(whole, x > -1.0), total, sign * log * math.inf)
    return xp.where(known, factor * total, math.nan)


def _parts(m: Any, v: Any, x: Any, order: int, xp: Any) -> dict[int, Any]:
    """Return factors of powers of ``1 - x**2``, by their exponents beside ``m / 2``.

    ``x**a (1 - x**2)**(m / 2 + b)`` times the c-th derivative from the m-th on becomes three terms.
    """
    terms = {(0, 0, 0): xp.ones_like(x)}
    for _ in range(order):
        old, terms = terms, {}
        for (a, b, c), by in old.items():
            for key, each in (
                ((a - 1, b, c), by * float(a)),
                ((a + 1, b - 1, c), by * (-2.0 * (0.5 * m + b))),
                ((a, b, c + 1), by),
            ):
                if key[0] >= 0:
                    terms[key] = terms[key] + each if key in terms else each
    slopes = [_legendre(m + float(c), v, x, xp) for c in range(order + 1)]
    parts: dict[int, Any] = {}
    for (a, b, c), by in terms.items():
        parts[b] = parts.get(b, 0.0) + by * x**a * slopes[c]
    return parts


def _legendre(m: Any, v: Any, x: Any, xp: Any) -> Any:
    """Return the m-th derivative of Legendre's function: a multiple of Gegenbauer's (DLMF 18.9.19).

    Of an integer degree it is a polynomial, which a recurrence computes.
    """
    degree = v - m
    whole = degree == xp.floor(degree)
    polynomial, other = xp.where(whole, degree, 0.0), xp.where(whole, 0.5, degree)
    special, alpha = xp.special, m + 0.5
    value = xp.where(
        whole,
        special.eval_gegenbauer(xp.astype(polynomial, xp.int64), alpha, x),
        special.eval_gegenbauer(other, alpha, x),
    )
    factor = 2.0**m * xp.exp(special.gammaln(alpha)) / math.sqrt(math.pi)
    return factor * xp.where(xp.logical_and(whole, degree < 0.0), 0.0, value)


def _next(m: Any, v: Any, x: Any, order: int, xp: Any) -> Any:
    return xp.special.lpmv_slope(m, v, x, order=order + 1)


elementwise(
    "lpmv(m, v, x, /)",
    m=_PARAMETER,
    v=_PARAMETER,
    x=lambda m, v, x, xp: xp.special.lpmv_slope(m, v, x),
)
needed("lpmv_slope(m, v, x, order=1)", _lpmv_slope, m=_PARAMETER, v=_PARAMETER, x=_next)
