"""The derivative of the hyperbolic tangent: from its input, or with what a program has computed.

Both keep their digits where tanh(x) is rounded to 1, unlike 1 - tanh(x)**2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

if TYPE_CHECKING:
    from agnograd.extend import Ref, Step

__all__ = ["by_exponential", "operands", "product", "with_tanh"]


@partial(jax.jit, inline=True)
def by_exponential(g: Any, x: Any) -> Any:
    """Return g / cosh(x)**2 for real numbers, as 4 e / (1 + e)**2 with e = exp(-2 |x|)."""
    return g * _slope(x)


@jax.custom_jvp
def _slope(x: Any) -> Any:
    """Return 1 / cosh(x)**2."""
    if x.dtype == "float64":
        return lax.platform_dependent(x, cpu=_by_polynomial, default=_by_exp)
    return _by_exp(x)


@_slope.defjvp
def _curvature(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    out = _slope(x)
    return out, -2 * jnp.tanh(x) * out * dx


def _by_exp(x: Any) -> Any:
    power = jnp.exp(-2 * jnp.abs(x))
    total = 1 + power
    return 4 * power / (total * total)


# exp(r) for |r| <= log(2) / 2, from the term of the first degree on: the relative error is below
# 2e-17. It interpolates (exp(r) - 1 - r) / r**2 at the zeros of a Chebyshev polynomial.
COEFFICIENTS = (
    1.0,
    1.0,
    0.5000000000000001,
    0.16666666666666669,
    0.041666666666623824,
    0.008333333333330039,
    0.0013888888917367081,
    0.00019841269863171557,
    2.4801521057868204e-05,
    2.7557268276905696e-06,
    2.7620201591031547e-07,
    2.5100472505694996e-08,
)
# log(2) in two parts; products of the first and integers up to 2**20 are exact.
LOG2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ZERO_FROM = 355.0  # where the result is less than the smallest normal number


def _by_polynomial(x: Any) -> Any:
    """Compute it with one division: XLA's exponential of float64 takes another one on the CPU."""
    size = jnp.abs(x)
    y = -2 * size
    n = lax.round(y * 1.4426950408889634, lax.RoundingMethod.TO_NEAREST_EVEN)
    r = y - n * LOG2[0] - n * LOG2[1]
    terms, square = [jnp.full_like(r, c) for c in COEFFICIENTS], r
    while len(terms) > 1:  # pairs: Horner's scheme would wait for each product
        terms = [a + b * square for a, b in zip(terms[::2], terms[1::2], strict=True)] if len(terms) % 2 == 0 else [
            *[a + b * square for a, b in zip(terms[:-1:2], terms[1::2], strict=True)], terms[-1]]
        square = square * square
    # The last bits of this sum are those of n + 1023, which are the exponent of 2**n.
    bits = lax.bitcast_convert_type(n + (1.5 * 2**52 + 1023), jnp.int64)
    two_n = lax.bitcast_convert_type(lax.shift_left(bits, jnp.int64(52)), x.dtype)
    power = terms[0] * two_n
    total = 1 + power
    return jnp.where(size > ZERO_FROM, 0.0, 4 * power / (total * total))


def with_tanh(g: Any, x: Any, out: Any) -> Any:
    """Return the same by ``out = tanh(x)``: 1 / cosh(x) is exp(-|x|) (1 + |tanh(x)|).

    That takes no division, for which XLA takes about as long as for the exponential.
    """
    power = jnp.exp(-jnp.abs(x))
    root = power + power * jnp.abs(out)
    return g * root * root


def product(g: Any, x: Any) -> Any:
    """Return the product of a cotangent and the derivative; only the input is known."""
    return NotImplemented if jnp.iscomplexobj(x) else by_exponential(g, x)


def operands(step: Step, tanhs: Mapping[Any, Ref]) -> tuple[Any, Any, Any] | None:
    """Return the cotangent, the input and its tanh for a step that is the derivative.

    It is None where the tanh is not known, and where the step computes as NumPy does.

    Parameters
    ----------
    step : Step
        The step.
    tanhs : mapping
        By the input, what the program has computed as its tanh.
    """
    names = getattr(step.kwargs["function"], "names", ())
    given = dict(zip(names, step.args, strict=bool(names)))
    out = tanhs.get(given.get("x"))
    return None if out is None else (given["g"], given["x"], out)
