"""Powers, whose derivatives of every order are limits where the base is 0."""

import math
from typing import Any

from agnograd.extend import OpSet, is_complex, is_python_scalar, is_tracked

__all__ = ["ops"]

ops = OpSet("elementwise", samples="agnograd.rules.samples.powers")


def _pow_x1(x1: Any, x2: Any, xp: Any) -> Any:
    """Return the derivative by the base; 0 where the exponent is 0."""
    # Also at x1 = 0, where x1 ** -1 is infinite. Only there is the exponent another one: elsewhere
    # its own derivative counts.
    if is_python_scalar(x2):
        return x2 * x1 ** (x2 - 1) if x2 != 0 else xp.zeros_like(x1)
    none = xp.logical_and(x1 == 0, x2 == 0)
    if _is_recorded(x1, x2, xp):
        return _slope_unless(none, x1, x2, 1, 0, xp)
    return xp.where(none, 0, x2) * x1 ** (xp.where(none, 1, x2) - 1)


def _pow_x2(x1: Any, x2: Any, out: Any, xp: Any) -> Any:
    """Return the derivative by the exponent; 0 where the base is 0 and the power is finite."""
    if is_python_scalar(x1):
        return _of_number(x1, out, xp)
    zero = x1 == 0
    if _is_recorded(x1, x2, xp):
        return _slope_unless(xp.logical_and(zero, x2 == 0), x1, x2, 0, 1, xp)
    finite = xp.logical_and(zero, xp.logical_not(xp.isinf(out)))
    base = xp.where(finite, 1, x1)
    if is_complex(out.dtype, xp):  # a negative base has a complex logarithm
        base = xp.astype(base, out.dtype, copy=False)
    return xp.log(base) * out


def _of_number(x1: complex, out: Any, xp: Any) -> Any:
    if x1 == 0:
        return xp.where(xp.isfinite(out), 0, -out)
    import cmath  # few programs need it

    log = cmath.log(x1)
    if is_complex(out.dtype, xp):
        return log * out
    return (log.real if log.imag == 0 else float("nan")) * out


def _is_recorded(x1: Any, x2: Any, xp: Any) -> bool:
    if not (is_tracked(x1) or is_tracked(x2)):
        return False
    return not any(is_complex(each.dtype, xp) for each in (x1, x2))


def _slope_unless(none: Any, x1: Any, x2: Any, by_x1: int, by_x2: int, xp: Any) -> Any:
    """Return a derivative, which is 0 at some places, as are all that are made of it."""
    x1, x2 = xp.where(none, 1, x1), xp.where(none, 1, x2)
    return xp.where(none, 0, xp.pow_slope(x1, x2, by_x1=by_x1, by_x2=by_x2))


def _pow_slope(xp: Any, backend: Any, x1: Any, x2: Any, /, by_x1: int = 1, by_x2: int = 0) -> Any:
    """Return a derivative of the power of real arrays: so often by the base, by the exponent.

    By the base it is ``p(x2) * x1**(x2 - by_x1)``, where p is the falling factorial; by both the
    derivatives of p come with powers of the logarithm (Leibniz's rule). Where the base is 0 the
    limit from the right is that of the term with the highest power of the logarithm.
    """
    x1 = xp.full_like(x2, x1) if is_python_scalar(x1) else x1
    x2 = xp.full_like(x1, x2) if is_python_scalar(x2) else x2
    factors = [_falling(by_x1)]
    for _ in range(by_x2):
        factors.append([k * c for k, c in enumerate(factors[-1])][1:])
    with backend.quiet():
        first = _polynomial(factors[0], x2)
        zero, power = x1 == 0, x2 - by_x1
        if not by_x2:  # factor by factor: none overflows where the power is 0
            total = xp.where(first == 0, 1, x1) ** power
            for i in range(by_x1):
                total = total * (x2 - i)
            return total
        log = xp.log(xp.where(zero, 1, x1))
        total = sum(
            math.comb(by_x2, i) * _polynomial(factors[i], x2) * log ** (by_x2 - i)
            for i in range(by_x2 + 1)
        )
        leading = xp.where(first == 0, -_polynomial(factors[1], x2), first) * (-1) ** by_x2
        at_zero = xp.where(x2 > by_x1, 0, leading * math.inf)
        return xp.where(zero, at_zero, x1**power * total)


def _falling(count: int) -> list[int]:
    """Return the coefficients of ``y (y - 1) ...``, the lowest power first."""
    found = [1]
    for i in range(count):
        found = [a - i * b for a, b in zip([0, *found], [*found, 0], strict=True)]
    return found


def _polynomial(coefficients: list[int], y: Any) -> Any:
    total = 0 * y
    for coefficient in reversed(coefficients):
        total = total * y + coefficient
    return total


ops.elementwise("pow(x1, x2, /)", x1=_pow_x1, x2=_pow_x2)
ops.elementwise(
    "pow_slope(x1, x2, /, by_x1=1, by_x2=0)",
    x1=lambda x1, x2, by_x1, by_x2, xp: xp.pow_slope(x1, x2, by_x1=by_x1 + 1, by_x2=by_x2),
    x2=lambda x1, x2, by_x1, by_x2, xp: xp.pow_slope(x1, x2, by_x1=by_x1, by_x2=by_x2 + 1),
    forward=_pow_slope,
)
