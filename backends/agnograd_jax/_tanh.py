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
    from agnograd_compile.lowering import Ref, Step

__all__ = ["by_exponential", "operands", "product", "with_tanh"]

# exp(r) for |r| <= log(2) / 2, and the same for half of that range, from the constant term on. They
# interpolate (exp(r) - 1 - r) / r**2 at the zeros of a Chebyshev polynomial; the relative errors
# are 0.08 and 0.3 times the epsilon of float64.
WHOLE = (
    *(1.0, 1.0, 0.5000000000000001, 0.16666666666666669, 0.041666666666623824),
    *(0.008333333333330039, 0.0013888888917367081, 0.00019841269863171557, 2.4801521057868204e-05),
    *(2.7557268276905696e-06, 2.7620201591031547e-07, 2.5100472505694996e-08),
)
HALF = (
    *(1.0, 1.0, 0.4999999999999982, 0.16666666666666652, 0.04166666666854412),
    *(0.008333333333503999, 0.0013888885769113265, 0.00019841267005289202, 2.4818175612984514e-05),
    *(2.7572398779905938e-06,),
)
PER_LOG2 = 1.4426950408889634
# log(2) in two parts (fdlibm, e_exp.c): products of the first and integers below 2**20 are exact.
LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ZERO_FROM = 355.2  # from a bit below, 1 / cosh(x)**2 is less than the smallest normal number


@partial(jax.jit, inline=True)
def by_exponential(g: Any, x: Any) -> Any:
    """Return g / cosh(x)**2 for real numbers, as 4 e / (1 + e)**2 with e = exp(-2 |x|)."""

    def usual(g: Any, x: Any) -> Any:
        power = jnp.exp(-2 * jnp.abs(x))
        total = 1 + power
        return g * (4 * power / (total * total))

    def by_polynomial(g: Any, x: Any) -> Any:
        size, n, scale = _powers(x)
        power = _pairwise(WHOLE, -2 * size - n * LOG2_HIGH - n * LOG2_LOW) * scale
        total = 1 + 0.25 * power
        return g * (power / (total * total))

    return _chosen(by_polynomial, usual, g, x)


@partial(jax.jit, inline=True)
def with_tanh(g: Any, x: Any, out: Any) -> Any:
    """Return the same by ``out = tanh(x)``: 1 / cosh(x) is exp(-|x|) (1 + |tanh(x)|).

    That takes no division, for which XLA takes about as long as for the exponential.
    """

    def usual(g: Any, x: Any, out: Any) -> Any:
        power = jnp.exp(-jnp.abs(x))
        root = power + power * jnp.abs(out)
        return g * root * root

    def by_polynomial(g: Any, x: Any, out: Any) -> Any:
        size, n, scale = _powers(x)
        r, power = -size - n * (LOG2_HIGH / 2) - n * (LOG2_LOW / 2), 0.5 * HALF[-1]
        for c in HALF[-2::-1]:
            power = power * r + 0.5 * c
        root = power + power * jnp.abs(out)
        return g * (root * root * scale)

    return _chosen(by_polynomial, usual, g, x, out)


def _chosen(by_polynomial: Any, usual: Any, g: Any, x: Any, *others: Any) -> Any:
    """Return what one of two functions computes; the first is for float64 on a CPU.

    There, XLA's exponential is a quotient of polynomials, and takes about as long for the division
    as for all else: one polynomial takes half as long. JAX differentiates both as they are.
    """
    if x.dtype != "float64":
        return usual(g, x, *others)
    return lax.platform_dependent(g, x, *others, cpu=by_polynomial, default=usual)


def _powers(x: Any) -> tuple[Any, Any, Any]:
    """Return |x|, the integer n next to -2 |x| / log(2), and 2**(n + 2), which is 0 in the end."""
    size = jnp.abs(x)
    size = jnp.where(size > ZERO_FROM, ZERO_FROM, size)  # a NaN stays
    n = lax.round(size * (-2 * PER_LOG2), lax.RoundingMethod.TO_NEAREST_EVEN)
    # The last bits of the sum are those of n + 1025, and become the exponent.
    bits = lax.bitcast_convert_type(n + (1.5 * 2**52 + 1025), jnp.int64)
    return size, n, lax.bitcast_convert_type(lax.shift_left(bits, jnp.int64(52)), x.dtype)


def _pairwise(coefficients: tuple[float, ...], x: Any) -> Any:
    """Return a polynomial by Estrin's scheme: Horner's would wait for each product."""
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        odd = terms.pop() if len(terms) % 2 else None
        terms = [low + high * x for low, high in zip(terms[::2], terms[1::2], strict=True)]
        terms += [] if odd is None else [odd]
        x = x * x
    return terms[0]


def product(g: Any, x: Any) -> Any:
    """Return the product of a cotangent and the derivative; only the input is known."""
    return NotImplemented if jnp.iscomplexobj(x) else by_exponential(g, x)


def operands(step: Step, tanhs: Mapping[Any, Ref]) -> tuple[Any, Any, Any] | None:
    """Return the cotangent, the input and its tanh for a step that is the derivative.

    ``tanhs`` has what the program has computed so far, by the input. It is None where the tanh is
    not known, and where the step computes as NumPy does.
    """
    names = getattr(step.kwargs["function"], "names", ())
    given = dict(zip(names, step.args, strict=bool(names)))
    out = tanhs.get(given.get("x"))
    return None if out is None else (given["g"], given["x"], out)
