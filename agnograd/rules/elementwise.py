"""Element-wise functions: partial derivatives, one line for each input.

The formulas are those of the NIST Digital Library of Mathematical Functions (https://dlmf.nist.gov),
sections 4.4, 4.7, 4.20, 4.24, 4.34 and 4.37. At points without a derivative they follow the table
of conventions.

They keep their digits in tails, near the ends of domains and at all magnitudes. What is written in
terms of the output loses them where the output is rounded: ``1 - tanh(x)**2`` is 0 from x = 19 on,
where the derivative is 1e-16. On recorded passes a formula's own derivative must keep its digits,
too: it may take another branch near 0, and none that has a kink.
"""

import math
from typing import Any

from agnograd.extend import OpSet, is_complex, is_python_scalar, is_tracked, itself

__all__ = ["ops"]

PER_LN2 = 1.4426950408889634
PER_LN10 = 0.4342944819032518

ops = OpSet("elementwise", samples="agnograd.rules.samples.elementwise")


def _both(x1: Any, x2: Any, xp: Any) -> tuple[Any, Any]:
    """Return two inputs as arrays: one may be a number, which functions do not take everywhere."""
    if is_python_scalar(x1):
        return xp.full_like(x2, x1), x2
    return x1, xp.full_like(x1, x2) if is_python_scalar(x2) else x2


def _sech_squared(x: Any, xp: Any) -> Any:
    """Return the derivative of ``tanh``: 4 e / (1 + e)**2, where e = exp(-2 |x|)."""
    complex_valued = is_complex(x.dtype, xp)
    along = xp.real(x) if complex_valued else x
    power = xp.exp(2 * (xp.where(along < 0, x, -x) if complex_valued else -xp.abs(x)))
    total = 1 + power
    tail = 4 * power / (total * total)
    if not (complex_valued or is_tracked(x)):
        return tail
    # The absolute value has a kink at 0, and complex numbers have poles on the imaginary axis.
    out = xp.tanh(x)
    return xp.where(xp.abs(along) < 1, 1 - out * out, tail)


def _logistic(x1: Any, x2: Any, xp: Any) -> Any:
    """Return 1 / (1 + exp(x2 - x1)), which is one half where both are the same infinity."""
    x1, x2 = _both(x1, x2, xp)
    same = xp.logical_and(x1 == x2, xp.isinf(x1))
    difference = xp.where(same, 0.0, x1) - xp.where(same, 0.0, x2)
    if is_tracked(difference):  # it has no kink, and is its own derivative
        return xp.exp(-xp.logaddexp(xp.zeros_like(difference), -difference))
    power = xp.exp(-xp.abs(difference))
    return xp.maximum(power, xp.astype(difference >= 0, power.dtype)) / (1.0 + power)


def _one_minus_square(x: Any, xp: Any) -> Any:
    """Return ``1 - x * x``: near -1 and 1 as a product, of which no factor is rounded."""
    product = (1 - x) * (1 + x)
    if not is_tracked(x):
        return product
    # Its derivative is -2 x near 0, too, and at the ends, where it meets an infinite cotangent.
    size = xp.abs(x)
    return xp.where(xp.logical_or(size < 0.5, size == 1), 1 - x * x, product)


def _atan_slope(x: Any, xp: Any) -> Any:
    """Return ``1 / (1 + x * x)``, where recorded without a square whose derivative overflows."""
    if is_complex(x.dtype, xp):
        return 1 / (1 + 1j * x) / (1 - 1j * x)
    if not is_tracked(x):
        return 1 / (1 + x * x)
    far = xp.abs(x) > 1
    ratio = xp.where(far, 1.0, x) / xp.where(far, x, 1.0)
    square = ratio * ratio
    return xp.where(far, square, 1.0) / (1 + square)


def _over_square(x: Any, y: Any, xp: Any) -> Any:
    """Return ``x / (x * x + y * y)``, and 0 where both are 0; no square under- or overflows."""
    size = xp.hypot(*_both(x, y, xp))
    none = xp.logical_or(size == 0, xp.isinf(size))
    size = xp.where(none, 1.0, size)
    return xp.where(none, 0.0, x / size / size)


def _direction_of(x1: Any, x2: Any, xp: Any) -> Any:
    """Return ``x1 / hypot(x1, x2)``, and 0 where both are 0.

    The quotient of the smaller by the larger number has derivatives that do not cancel. Beside an
    infinite number a finite one counts as 0; two infinite ones count as equal, as in C's ``atan2``.
    """
    x1, x2 = _both(x1, x2, xp)
    infinite = xp.isinf(x1), xp.isinf(x2)
    far = xp.logical_or(*infinite)
    x1, x2 = (
        xp.where(far, xp.astype(each, x.dtype) * xp.sign(x), x)
        for x, each in zip((x1, x2), infinite, strict=True)
    )
    first = xp.abs(x1) >= xp.abs(x2)
    zero = xp.logical_and(x1 == 0, x2 == 0)
    larger = xp.where(zero, 1.0, xp.where(first, x1, x2))
    ratio = xp.where(first, x2, x1) / larger
    part = xp.sign(larger) / xp.sqrt(1 + ratio * ratio)
    return xp.where(zero, 0.0, xp.where(first, part, ratio * part))


def _reciprocal(x2: Any) -> Any:
    # Dividing by Python's zero raises, where arrays give infinities (and complex ones NaN).
    if is_python_scalar(x2) and x2 == 0:
        return complex("nan+nanj") if isinstance(x2, complex) else math.copysign(math.inf, x2)
    return 1 / x2


def _tan_x(x: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):
        return _sech_squared(1j * x, xp)
    out = xp.tan(x)
    return 1 + out * out


def _asin_x(x: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):  # whose square may overflow
        return 1 / (xp.sqrt(1 - x) * xp.sqrt(1 + x))
    return 1 / xp.sqrt(_one_minus_square(x, xp))


def _asinh_x(x: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):
        return 1 / (xp.sqrt(1 - 1j * x) * xp.sqrt(1 + 1j * x))
    if not is_tracked(x):  # divided by the larger of 1 and |x|: no square overflows
        size = xp.abs(x)
        one = xp.ones_like(size)
        part, other = 1 / xp.maximum(size, one), xp.minimum(size, one)
        return part / xp.sqrt(part * part + other * other)
    far = xp.abs(x) > 1
    ratio = xp.where(far, 1.0, x) / xp.where(far, x, 1.0)
    return xp.where(far, xp.abs(ratio), 1.0) / xp.sqrt(1 + ratio * ratio)


def _atanh_x(x: Any, xp: Any) -> Any:
    if is_complex(x.dtype, xp):
        return 1 / (1 - x) / (1 + x)
    return 1 / _one_minus_square(x, xp)


def _larger(x1: Any, x2: Any, out_dtype: Any, xp: Any) -> Any:
    """Return 1 where x1 > x2, 0 where x1 < x2, and one half at a tie."""
    return 0.5 * (xp.astype(x1 > x2, out_dtype) + xp.astype(x1 >= x2, out_dtype))


def _direction(x: Any, xp: Any) -> Any:
    """Return x / abs(x), which is 0 at 0."""
    if not is_complex(x.dtype, xp):
        return xp.sign(x)
    real, imag = xp.real(x), xp.imag(x)
    return _of_parts(_direction_of(real, imag, xp), _direction_of(imag, real, xp), x.dtype, xp)


def _of_parts(real: Any, imag: Any, dtype: Any, xp: Any) -> Any:
    return xp.astype(real, dtype) + 1j * xp.astype(imag, dtype)


def _sign_vjp(g: Any, x: Any, xp: Any) -> Any:
    # For complex x, sign(x) = x / |x| turns with x: the part of g across the direction of x,
    # which is 0 at 0, where the output is.
    if not is_complex(x.dtype, xp):
        return xp.zeros_like(g)
    along, size = _direction(x, xp), xp.abs(x)
    turned = xp.imag(xp.conj(along) * g) / xp.where(size == 0, 1.0, size)
    return 1j * along * xp.astype(turned, x.dtype)


# Arithmetic
ops.elementwise("add(x1, x2, /)", x1=1, x2=1, exact=True, commutative=True)
ops.elementwise("subtract(x1, x2, /)", x1=1, x2=-1, exact=True)
ops.elementwise(
    "multiply(x1, x2, /)", x1=itself("x2"), x2=itself("x1"), exact=True, commutative=True
)
ops.elementwise("divide(x1, x2, /)", x1=_reciprocal, x2=lambda out, x2: out / -x2, exact=True)
ops.elementwise("negative(x, /)", x=-1, negation=True, exact=True)
ops.elementwise("positive(x, /)", x=1, exact=True)
ops.elementwise("reciprocal(x, /)", x=lambda out: -out * out)
ops.elementwise("square(x, /)", x=lambda x: 2 * x, exact=True)
ops.elementwise("sqrt(x, /)", x=lambda out: 0.5 / out, exact=True)
ops.elementwise("remainder(x1, x2, /)", x1=1, x2=lambda x1, x2: -(x1 // x2))
ops.elementwise("floor_divide(x1, x2, /)", x1=0, x2=0)

# Exponentials and logarithms (DLMF 4.7)
ops.elementwise("exp(x, /)", x=itself("out"))
ops.elementwise("expm1(x, /)", x=lambda x, xp: xp.exp(x))
ops.elementwise("log(x, /)", x=lambda x: 1 / x)
ops.elementwise("log1p(x, /)", x=lambda x: 1 / (1 + x))
ops.elementwise("log2(x, /)", x=lambda x: PER_LN2 / x)
ops.elementwise("log10(x, /)", x=lambda x: PER_LN10 / x)
ops.elementwise(
    "logaddexp(x1, x2, /)",
    x1=lambda x1, x2, xp: _logistic(x1, x2, xp),
    x2=lambda x1, x2, xp: _logistic(x2, x1, xp),
)

# Trigonometric functions and their inverses (DLMF 4.20, 4.24)
ops.elementwise("sin(x, /)", x=lambda x, xp: xp.cos(x))
ops.elementwise("cos(x, /)", x=lambda x, xp: -xp.sin(x))
ops.elementwise("tan(x, /)", x=_tan_x)
ops.elementwise("asin(x, /)", x=_asin_x)
ops.elementwise("acos(x, /)", x=lambda x, xp: -_asin_x(x, xp))
ops.elementwise("atan(x, /)", x=_atan_slope)
ops.elementwise(
    "atan2(x1, x2, /)",
    x1=lambda x1, x2, xp: _over_square(x2, x1, xp),
    x2=lambda x1, x2, xp: -_over_square(x1, x2, xp),
)
ops.elementwise(
    "hypot(x1, x2, /)",
    x1=lambda x1, x2, xp: _direction_of(x1, x2, xp),
    x2=lambda x1, x2, xp: _direction_of(x2, x1, xp),
)

# Hyperbolic functions and their inverses (DLMF 4.34, 4.37)
ops.elementwise("sinh(x, /)", x=lambda x, xp: xp.cosh(x))
ops.elementwise("cosh(x, /)", x=lambda x, xp: xp.sinh(x))
ops.elementwise("tanh(x, /)", x=_sech_squared)
ops.elementwise("asinh(x, /)", x=_asinh_x)
ops.elementwise("acosh(x, /)", x=lambda x, xp: 1 / xp.sqrt(x - 1) / xp.sqrt(x + 1))
ops.elementwise("atanh(x, /)", x=_atanh_x)

# Absolute value, sign, extremes
ops.elementwise("abs(x, /)", x=_direction, exact=True)
ops.vjp("sign(x, /)", x=_sign_vjp, batch="elementwise", exact=True)
ops.elementwise(
    "copysign(x1, x2, /)",
    x1=lambda x1, x2, out, xp: xp.sign(x1) * xp.copysign(xp.ones_like(out), x2),
    x2=0,
)
ops.elementwise(
    "maximum(x1, x2, /)",
    x1=lambda x1, x2, out_dtype, xp: _larger(x1, x2, out_dtype, xp),
    x2=lambda x1, x2, out_dtype, xp: _larger(x2, x1, out_dtype, xp),
    exact=True,
)
ops.elementwise(
    "minimum(x1, x2, /)",
    x1=lambda x1, x2, out_dtype, xp: _larger(x2, x1, out_dtype, xp),
    x2=lambda x1, x2, out_dtype, xp: _larger(x1, x2, out_dtype, xp),
    exact=True,
)


def _clip_x(g: Any, x: Any, min: Any, max: Any, xp: Any) -> Any:
    # 1 on the closed interval. It is chosen, not multiplied: an infinite cotangent of what is
    # outside, as that of a root at the bound, would make NaN of a product with 0.
    # No comparison with a bound is true of a NaN.
    if min is None:
        inside = x == x if max is None else x <= max
    else:
        inside = x >= min if max is None else xp.logical_and(x >= min, x <= max)
    return xp.where(inside, g, 0.0)


def _clip_min(g: Any, x: Any, min: Any, max: Any, xp: Any) -> Any:
    # clip is minimum(maximum(x, min), max): an upper bound below the lower one wins.
    below = x < min if max is None else xp.logical_and(x < min, min <= max)
    return xp.where(below, g, 0.0)


def _clip_max(g: Any, x: Any, min: Any, max: Any, xp: Any) -> Any:
    above = x > max if min is None else xp.logical_or(x > max, min > max)
    return xp.where(above, g, 0.0)


ops.vjp(
    "clip(x, /, min=None, max=None)",
    x=_clip_x,
    min=_clip_min,
    max=_clip_max,
    batch="elementwise",
)

# Steps: their derivative is 0
ops.elementwise("ceil(x, /)", x=0, exact=True)
ops.elementwise("floor(x, /)", x=0, exact=True)
ops.elementwise("round(x, /)", x=0)
ops.elementwise("trunc(x, /)", x=0, exact=True)
ops.elementwise("nextafter(x1, x2, /)", x1=1, x2=0)


def _put_real(base: Any, value: Any, xp: Any) -> Any:
    if not is_complex(base.dtype, xp):
        return value
    return _of_parts(value, xp.imag(base), base.dtype, xp)


def _put_imag(base: Any, value: Any, xp: Any) -> Any:
    if not is_complex(base.dtype, xp):
        raise ValueError("the imaginary part of a real array is read-only: it is 0")
    return _of_parts(xp.real(base), value, base.dtype, xp)


def _part_strides(x_strides: tuple[int, ...], x_dtype: Any, xp: Any) -> tuple[int, ...]:
    apart = 2 if is_complex(x_dtype, xp) else 1
    return tuple(apart * stride for stride in x_strides)


# Complex arrays: linear over the real numbers
ops.linear("conj(x, /)", x=lambda g, xp: xp.conj(g), batch="elementwise")
ops.linear("real(x, /)", x=itself("g"), view=_put_real, strides=_part_strides, batch="elementwise")
ops.linear(
    "imag(x, /)",
    x=lambda g, x_dtype, xp: (
        1j * xp.astype(g, x_dtype) if is_complex(x_dtype, xp) else xp.zeros_like(g)
    ),
    view=_put_imag,
    strides=_part_strides,
    batch="elementwise",
)

ops.constant(
    "bitwise_invert(x, /)",
    "bitwise_left_shift(x1, x2, /)",
    "bitwise_right_shift(x1, x2, /)",
    "isfinite(x, /)",
    "isinf(x, /)",
    "isnan(x, /)",
    "logical_not(x, /)",
    "signbit(x, /)",
    outputs="one",
    batch="elementwise",
)
ops.constant(
    "bitwise_and(x1, x2, /)",
    "bitwise_or(x1, x2, /)",
    "bitwise_xor(x1, x2, /)",
    "logical_and(x1, x2, /)",
    "logical_or(x1, x2, /)",
    "logical_xor(x1, x2, /)",
    outputs="one",
    batch="elementwise",
    commutative=True,
)
ops.constant(
    "greater(x1, x2, /)",
    "greater_equal(x1, x2, /)",
    "less(x1, x2, /)",
    "less_equal(x1, x2, /)",
    outputs="one",
    batch="elementwise",
    exact=True,
)
ops.constant(
    "equal(x1, x2, /)",
    "not_equal(x1, x2, /)",
    outputs="one",
    batch="elementwise",
    exact=True,
    commutative=True,
)
