"""Student's distribution, whose function is one of ``betainc`` (DLMF 8.17, A&S 26.7).

Up to t < 0 the integral of the density is I / 2, where I is ``betainc(df / 2, 1 / 2, w)`` and
w = df / (df + t**2). Its derivative by df has a term of the shape's and one of w's, which is a
multiple of the density.
"""

from __future__ import annotations

from typing import Any

from agnograd.errors import MissingRuleError
from agnograd_special._series import floats, times
from agnograd_special._set import elementwise, inverse, needed
from agnograd_special.differences import psi_rise

__all__: list[str] = []


def _density(df: Any, t: Any, xp: Any) -> Any:
    # A&S 26.7.1
    df, t = floats(xp, df, t)
    log = xp.special.betaln(0.5 * df, 0.5) + 0.5 * xp.log(df)
    return xp.exp(-0.5 * (df + 1.0) * xp.log1p(t * t / df) - log)


def _log_by_df(df: Any, t: Any, order: int, xp: Any) -> Any:
    """Return the derivative of the density's logarithm by df, of first or second order."""
    square = t * t / df
    part = square / (1.0 + square)
    if order == 1:
        shapes = psi_rise(0.5 * df, 0.5, xp) - 1.0 / df
        return 0.5 * (shapes - xp.log1p(square) + part + part / df)
    curve = xp.special.polygamma
    shapes = 0.5 * (curve(1, 0.5 * df + 0.5) - curve(1, 0.5 * df)) + 1.0 / (df * df)
    return 0.5 * (shapes + part / df * (part - (2.0 - part) / df))


def _by_shape(df: Any, t: Any, order: int, xp: Any) -> Any:
    """Return the derivative of I by its first shape, of first or second order.

    It is that of the function of the smaller one of w and 1 - w, which has all its digits.
    """
    near = t * t < df
    options = {"df": xp.where(near, df, 1.0), "t": xp.where(near, t, 0.5)}
    shape, square = 0.5 * options["df"], options["t"] * options["t"]
    inner = xp.special.betainc_by_shapes(
        0.5, shape, square / (options["df"] + square), by_a=0, by_b=order
    )
    far_df, far_t = xp.where(near, 1.0, df), xp.where(near, 1.0, t)
    w = 1.0 / (1.0 + (far_t / far_df) * far_t)
    outer = xp.special.betainc_by_shapes(0.5 * far_df, 0.5, w, by_a=order, by_b=0)
    return xp.where(near, -inner, outer)


def _stdtr_by_df(xp: Any, df: Any, t: Any, order: int = 1) -> Any:
    """Return the derivative of ``stdtr`` with respect to ``df``, of an order up to the second."""
    df, t = floats(xp, df, t)
    side = xp.where(t < 0.0, xp.ones_like(t), -1.0)
    part = times(_density(df, t, xp), 0.5 * t / df, xp)
    if order == 1:
        return 0.25 * side * _by_shape(df, t, 1, xp) - part
    log_w = psi_rise(0.5 * df, 0.5, xp) - xp.log1p(t * t / df)
    factor = 1.0 / df - 0.5 * log_w - _log_by_df(df, t, 1, xp)
    return 0.125 * side * _by_shape(df, t, 2, xp) + times(part, factor, xp)


def _by_df(df: Any, t: Any, xp: Any) -> Any:
    return xp.special.stdtr_by_df(df, t)


def _by_df_df(df: Any, t: Any, order: int, xp: Any) -> Any:
    if order == 2:
        raise MissingRuleError(
            "special.stdtr has derivatives with respect to df up to the second order: ask for "
            "lower ones, or take differences of these"
        )
    return xp.special.stdtr_by_df(df, t, order=2)


def _by_df_t(df: Any, t: Any, order: int, xp: Any) -> Any:
    df, t = floats(xp, df, t)
    first = _log_by_df(df, t, 1, xp)
    factor = first if order == 1 else first * first + _log_by_df(df, t, 2, xp)
    return times(_density(df, t, xp), factor, xp)


needed("stdtr_by_df(df, t, order=1)", _stdtr_by_df, df=_by_df_df, t=_by_df_t)
elementwise("stdtr(df, t, /)", df=_by_df, t=_density)
inverse("stdtrit(df, p, /)", _density, df=_by_df)
