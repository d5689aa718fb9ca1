"""Fisher's F distribution, whose function is one of ``betainc`` (A&S 26.6.2).

It is ``betainc(dfn / 2, dfd / 2, w)``, where w is dfn x / (dfd + dfn x), and 1 minus the function
of 1 - w with the shapes exchanged: the smaller one of w and 1 - w has all its digits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from agnograd_special._series import floats, times
from agnograd_special._set import elementwise, inverse, minus

__all__: list[str] = []


def _sides(dfn: Any, dfd: Any, x: Any, xp: Any) -> tuple[Any, ...]:
    """Return w and 1 - w, whether w is the smaller one, and the arguments of both functions.

    Where one is not used its last argument is 1/2.
    """
    total = dfd + dfn * x
    w, rest = dfn * x / total, dfd / total
    low = w <= rest
    a, b = 0.5 * dfn, 0.5 * dfd
    return w, rest, low, (a, b, xp.where(low, w, 0.5)), (b, a, xp.where(low, 0.5, rest))


def _density(dfn: Any, dfd: Any, x: Any, xp: Any) -> Any:
    """Return the derivative of ``fdtr`` with respect to x."""
    dfn, dfd, x = floats(xp, dfn, dfd, x)
    _, rest, low, lower, upper = _sides(dfn, dfd, x, xp)
    density = xp.special.beta_density
    return xp.where(low, density(*lower), density(*upper)) * rest * (rest * (dfn / dfd))


def _by_df(first: bool, dfn: Any, dfd: Any, x: Any, xp: Any) -> Any:
    """Return the derivative with respect to dfn or dfd: that of a shape, and that of w."""
    dfn, dfd, x = floats(xp, dfn, dfd, x)
    w, rest, low, lower, upper = _sides(dfn, dfd, x, xp)
    special = xp.special
    orders = (1, 0) if first else (0, 1)
    below = special.betainc_by_shapes(*lower, by_a=orders[0], by_b=orders[1])
    above = special.betainc_by_shapes(*upper, by_a=orders[1], by_b=orders[0])
    moved = w * (rest / dfn) if first else -w * (rest / dfd)
    density = xp.where(low, special.beta_density(*lower), special.beta_density(*upper))
    return 0.5 * xp.where(low, below, -above) + times(moved, density, xp)


_by_dfn, _by_dfd = partial(_by_df, True), partial(_by_df, False)


elementwise("fdtr(dfn, dfd, x, /)", dfn=_by_dfn, dfd=_by_dfd, x=_density)
elementwise("fdtrc(dfn, dfd, x, /)", dfn=minus(_by_dfn), dfd=minus(_by_dfd), x=minus(_density))
inverse("fdtri(dfn, dfd, p, /)", _density, dfn=_by_dfn, dfd=_by_dfd)
