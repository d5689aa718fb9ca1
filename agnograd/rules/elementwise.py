"""Element-wise functions: partial derivatives, one line for each input.

The formulas are those of the NIST Digital Library of Mathematical Functions (https://dlmf.nist.gov),
sections 4.4, 4.7, 4.20, 4.24, 4.34 and 4.37. At points without a derivative they follow the table
of conventions.
"""

import cmath
import math
from typing import Any

from agnograd.extend import OpSet, divide_or_zero, is_complex, is_python_scalar

__all__ = ["ops"]

LN2 = 0.6931471805599453
LN10 = 2.302585092994046

ops = OpSet("elementwise", samples="agnograd.rules.samples.elementwise")


def _nonzero(x: Any, xp: Any) -> Any:
    """Return x with zeros replaced by ones: a divisor that is never zero."""
    return xp.where(x == 0, 1.0, x)


def _reciprocal(x2: Any) -> Any:
    # Dividing by Python's zero raises, where arrays give infinities (and complex ones NaN).
    if is_python_scalar(x2) and x2 == 0:
        return complex("nan+nanj") if isinstance(x2, complex) else math.copysign(math.inf, x2)
    return 1 / x2


def _pow_x1(x1: Any, x2: Any, xp: Any) -> Any:
    # Where the exponent is 0 so is the derivative, also at x1 = 0, where x1 ** -1 is infinite.
    if is_python_scalar(x2):
        return x2 * x1 ** (x2 - 1) if x2 != 0 else xp.zeros_like(x1)
    return x2 * x1 ** (_nonzero(x2, xp) - 1)


def _pow_x2(x1: Any, out: Any, xp: Any) -> Any:
    # At x1 = 0 the derivative is 0 where the power is finite: no logarithm of 0.
    if is_python_scalar(x1):
        log = cmath.log(x1) if x1 != 0 else 0.0
        if is_complex(out.dtype, xp):
            return log * out
        return (log.real if log.imag == 0 else float("nan")) * out
    return xp.log(_nonzero(x1, xp)) * out


def _larger(x1: Any, x2: Any, out_dtype: Any, xp: Any) -> Any:
    """Return 1 where x1 > x2, 0 where x1 < x2, and one half at a tie."""
    return 0.5 * (xp.astype(x1 > x2, out_dtype) + xp.astype(x1 >= x2, out_dtype))


def _direction(x: Any, out: Any, xp: Any) -> Any:
    """Return x / abs(x), which is 0 at 0."""
    if not is_complex(x.dtype, xp):
        return xp.sign(x)
    return divide_or_zero(x, xp.astype(out, x.dtype), xp)


def _sign_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    # For complex x, sign(x) = x / |x| turns with x: the part of g across the direction of x,
    # which is 0 at 0, where the output is.
    if not is_complex(x.dtype, xp):
        return xp.zeros_like(g)
    turned = xp.conj(out) * g
    across = out * (turned - xp.astype(xp.real(turned), x.dtype))
    return divide_or_zero(across, xp.astype(xp.abs(x), x.dtype), xp)


# Arithmetic
ops.elementwise("add(x1, x2, /)", x1=1, x2=1)
ops.elementwise("subtract(x1, x2, /)", x1=1, x2=-1)
ops.elementwise("multiply(x1, x2, /)", x1=lambda x2: x2, x2=lambda x1: x1)
ops.elementwise("divide(x1, x2, /)", x1=_reciprocal, x2=lambda out, x2: -out / x2)
ops.elementwise("negative(x, /)", x=-1)
ops.elementwise("positive(x, /)", x=1)
ops.elementwise("reciprocal(x, /)", x=lambda out: -out * out)
ops.elementwise("square(x, /)", x=lambda x: 2 * x)
ops.elementwise("sqrt(x, /)", x=lambda out: 0.5 / out)
ops.elementwise("pow(x1, x2, /)", x1=_pow_x1, x2=_pow_x2)
ops.elementwise("remainder(x1, x2, /)", x1=1, x2=lambda x1, x2, xp: -xp.floor(x1 / x2))
ops.elementwise("floor_divide(x1, x2, /)", x1=0, x2=0)

# Exponentials and logarithms (DLMF 4.7)
ops.elementwise("exp(x, /)", x=lambda out: out)
ops.elementwise("expm1(x, /)", x=lambda out: out + 1)
ops.elementwise("log(x, /)", x=lambda x: 1 / x)
ops.elementwise("log1p(x, /)", x=lambda x: 1 / (1 + x))
ops.elementwise("log2(x, /)", x=lambda x: 1 / (LN2 * x))
ops.elementwise("log10(x, /)", x=lambda x: 1 / (LN10 * x))
ops.elementwise(
    "logaddexp(x1, x2, /)",
    x1=lambda x1, out, xp: xp.exp(x1 - out),
    x2=lambda x2, out, xp: xp.exp(x2 - out),
)

# Trigonometric functions and their inverses (DLMF 4.20, 4.24)
ops.elementwise("sin(x, /)", x=lambda x, xp: xp.cos(x))
ops.elementwise("cos(x, /)", x=lambda x, xp: -xp.sin(x))
ops.elementwise("tan(x, /)", x=lambda out: 1 + out * out)
ops.elementwise("asin(x, /)", x=lambda x, xp: 1 / xp.sqrt(1 - x * x))
ops.elementwise("acos(x, /)", x=lambda x, xp: -1 / xp.sqrt(1 - x * x))
ops.elementwise("atan(x, /)", x=lambda x: 1 / (1 + x * x))
ops.elementwise(
    "atan2(x1, x2, /)",
    x1=lambda x1, x2, xp: divide_or_zero(x2, x1 * x1 + x2 * x2, xp),
    x2=lambda x1, x2, xp: divide_or_zero(-x1, x1 * x1 + x2 * x2, xp),
)
ops.elementwise(
    "hypot(x1, x2, /)",
    x1=lambda x1, out, xp: divide_or_zero(x1, out, xp),
    x2=lambda x2, out, xp: divide_or_zero(x2, out, xp),
)

# Hyperbolic functions and their inverses (DLMF 4.34, 4.37)
ops.elementwise("sinh(x, /)", x=lambda x, xp: xp.cosh(x))
ops.elementwise("cosh(x, /)", x=lambda x, xp: xp.sinh(x))
ops.elementwise("tanh(x, /)", x=lambda out: 1 - out * out)
ops.elementwise("asinh(x, /)", x=lambda x, xp: 1 / xp.sqrt(x * x + 1))
ops.elementwise("acosh(x, /)", x=lambda x, xp: 1 / (xp.sqrt(x - 1) * xp.sqrt(x + 1)))
ops.elementwise("atanh(x, /)", x=lambda x: 1 / (1 - x * x))

# Absolute value, sign, extremes
ops.elementwise("abs(x, /)", x=_direction)
ops.vjp("sign(x, /)", x=_sign_vjp)
ops.elementwise(
    "copysign(x1, x2, /)",
    x1=lambda x1, x2, out, xp: xp.sign(x1) * xp.copysign(xp.ones_like(out), x2),
    x2=0,
)
ops.elementwise(
    "maximum(x1, x2, /)",
    x1=lambda x1, x2, out_dtype, xp: _larger(x1, x2, out_dtype, xp),
    x2=lambda x1, x2, out_dtype, xp: _larger(x2, x1, out_dtype, xp),
)
ops.elementwise(
    "minimum(x1, x2, /)",
    x1=lambda x1, x2, out_dtype, xp: _larger(x2, x1, out_dtype, xp),
    x2=lambda x1, x2, out_dtype, xp: _larger(x1, x2, out_dtype, xp),
)


def _within(x: Any, min: Any, max: Any, dtype: Any, xp: Any) -> Any:
    """Return 1 on the closed interval, 0 outside."""
    inside = x == x
    if min is not None:
        inside = xp.logical_and(inside, x >= min)
    if max is not None:
        inside = xp.logical_and(inside, x <= max)
    return xp.astype(inside, dtype)


def _clip_min(g: Any, x: Any, min: Any, max: Any, xp: Any) -> Any:
    # clip is minimum(maximum(x, min), max): an upper bound below the lower one wins.
    below = x < min if max is None else xp.logical_and(x < min, min <= max)
    return g * xp.astype(below, g.dtype)


def _clip_max(g: Any, x: Any, min: Any, max: Any, xp: Any) -> Any:
    above = x > max if min is None else xp.logical_or(x > max, min > max)
    return g * xp.astype(above, g.dtype)


ops.vjp(
    "clip(x, /, min=None, max=None)",
    x=lambda g, x, min, max, xp: g * _within(x, min, max, g.dtype, xp),
    min=_clip_min,
    max=_clip_max,
)

# Steps: their derivative is 0
ops.elementwise("ceil(x, /)", x=0)
ops.elementwise("floor(x, /)", x=0)
ops.elementwise("round(x, /)", x=0)
ops.elementwise("trunc(x, /)", x=0)
ops.elementwise("nextafter(x1, x2, /)", x1=1, x2=0)


def _put_real(base: Any, value: Any, xp: Any) -> Any:
    if not is_complex(base.dtype, xp):
        return value
    return xp.astype(value, base.dtype) + 1j * xp.astype(xp.imag(base), base.dtype)


def _put_imag(base: Any, value: Any, xp: Any) -> Any:
    if not is_complex(base.dtype, xp):
        return base
    return xp.astype(xp.real(base), base.dtype) + 1j * xp.astype(value, base.dtype)


# Complex arrays: linear over the real numbers
ops.linear("conj(x, /)", x=lambda g, xp: xp.conj(g))
ops.linear("real(x, /)", x=lambda g: g, view=_put_real)
ops.linear(
    "imag(x, /)",
    x=lambda g, x_dtype, xp: (
        1j * xp.astype(g, x_dtype) if is_complex(x_dtype, xp) else xp.zeros_like(g)
    ),
    view=_put_imag,
)

ops.constant(
    "bitwise_and(x1, x2, /)",
    "bitwise_invert(x, /)",
    "bitwise_left_shift(x1, x2, /)",
    "bitwise_or(x1, x2, /)",
    "bitwise_right_shift(x1, x2, /)",
    "bitwise_xor(x1, x2, /)",
    "equal(x1, x2, /)",
    "greater(x1, x2, /)",
    "greater_equal(x1, x2, /)",
    "isfinite(x, /)",
    "isinf(x, /)",
    "isnan(x, /)",
    "less(x1, x2, /)",
    "less_equal(x1, x2, /)",
    "logical_and(x1, x2, /)",
    "logical_not(x, /)",
    "logical_or(x1, x2, /)",
    "logical_xor(x1, x2, /)",
    "not_equal(x1, x2, /)",
    "signbit(x, /)",
)
