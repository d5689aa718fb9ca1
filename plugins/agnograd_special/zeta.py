"""Hurwitz's and Riemann's zeta functions (DLMF 25)."""

from __future__ import annotations

import math
from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import elementwise

__all__: list[str] = []

_SUMMED = 12
_FAR = 1100.0  # where powers of 2 are 0
# B(2k) / (2k)!
_BERNOULLI = (
    *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000),
    *(1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000),
)


def _slope(x: Any, q: Any, xp: Any) -> Any:
    """Differentiate Euler and Maclaurin's formula by its exponent (DLMF 25.11.5 with 2.10.1).

    Terms have one sign where q is at least 1: nothing cancels.
    """
    total: Any = 0.0
    for k in range(_SUMMED):
        total = total - xp.special.xlogy((q + k) ** -x, q + k)
    far = x > _FAR
    return total + xp.where(far, 0.0, _rest(xp.where(far, 2.0, x), q + _SUMMED, xp))


def _rest(x: Any, end: Any, xp: Any) -> Any:
    """Return the derivative of the sum from ``end`` on, which is far less than the first terms."""
    log, power = xp.log(end), end**-x
    rest = x - 1.0
    total = -(end**-rest) * ((log + 1.0 / rest) / rest) - 0.5 * power * log
    # Each term has a product of 2k - 1 factors x + j, whose derivative `slope` is; both are
    # multiplied with the power, so that large x do not overflow.
    product, slope = x * (power / end), power / end
    for k, coefficient in enumerate(_BERNOULLI, 1):
        total = total + coefficient * (slope - log * product)
        for j in (2 * k - 1, 2 * k):
            slope = (slope * (x + j) + product) / end
            product = product * (x + j) / end
    return total


def _riemann(x: Any, xp: Any) -> Any:
    """Return the derivative of Riemann's zeta function; left of -1 by reflection (DLMF 25.4.1)."""
    left = x < -1.0
    right = _slope(xp.where(left, 2.0, x), xp.ones_like(x), xp)
    mirror = 1.0 - xp.where(left, x, -1.0)
    special = xp.special
    angle = 0.5 * math.pi * (1.0 - mirror)
    zeta = special.zeta(mirror)
    inner = (math.log(2.0 * math.pi) - special.psi(mirror)) * zeta - _slope(
        mirror, xp.ones_like(x), xp
    )
    front = 2.0 * xp.exp(special.gammaln(mirror) - mirror * math.log(2.0 * math.pi))
    return xp.where(
        left, front * (0.5 * math.pi * xp.cos(angle) * zeta + xp.sin(angle) * inner), right
    )


def _zeta_x(x: Any, q: Any, xp: Any) -> Any:
    if q is None:
        return _riemann(floats(xp, x)[0], xp)
    x, q = floats(xp, x, q)
    return xp.where(x > 1.0, _slope(xp.where(x > 1.0, x, 2.0), q, xp), math.nan)


def _zeta_q(x: Any, q: Any, xp: Any) -> Any:
    # DLMF 25.11.17
    x, q = floats(xp, x, q)
    return -x * xp.special.zeta(x + 1, q)


elementwise("zeta(x, q=None)", x=_zeta_x, q=_zeta_q)
elementwise("zetac(x, /)", x=lambda x, xp: _riemann(x, xp))
