"""Box and Cox's power transforms, smooth where their parameter is 0."""

from __future__ import annotations

from typing import Any

from agnograd_special._series import floats
from agnograd_special._set import elementwise
from agnograd_special.exponential import exprel, exprel_slope, log1prel, log1prel_slope

__all__: list[str] = []


def _transform(xp: Any, x: Any, lmbda: Any) -> Any:
    """Return ``(x**lmbda - 1) / lmbda``."""
    x, lmbda = floats(xp, x, lmbda)
    return _transform_log(xp, xp.log(x), lmbda)


def _transform1p(xp: Any, x: Any, lmbda: Any) -> Any:
    x, lmbda = floats(xp, x, lmbda)
    return _transform_log(xp, xp.log1p(x), lmbda)


def _transform_log(xp: Any, log: Any, lmbda: Any) -> Any:
    return log * exprel(xp, lmbda * log)


def _x(x: Any, lmbda: Any, xp: Any) -> Any:
    x, lmbda = floats(xp, x, lmbda)
    return x ** (lmbda - 1.0)


def _x1p(x: Any, lmbda: Any, xp: Any) -> Any:
    return _x(1.0 + x, lmbda, xp)


def _lmbda(x: Any, lmbda: Any, xp: Any) -> Any:
    x, lmbda = floats(xp, x, lmbda)
    return _lmbda_log(xp.log(x), lmbda, xp)


def _lmbda1p(x: Any, lmbda: Any, xp: Any) -> Any:
    x, lmbda = floats(xp, x, lmbda)
    return _lmbda_log(xp.log1p(x), lmbda, xp)


def _lmbda_log(log: Any, lmbda: Any, xp: Any) -> Any:
    return log * log * exprel_slope(lmbda * log, xp)


elementwise("boxcox(x, lmbda, /)", _transform, x=_x, lmbda=_lmbda)
elementwise("boxcox1p(x, lmbda, /)", _transform1p, x=_x1p, lmbda=_lmbda1p)


def _inverse_log(y: Any, lmbda: Any, xp: Any) -> Any:
    """Return ``log(1 + lmbda y) / lmbda``, the logarithm of the inverse transform."""
    y, lmbda = floats(xp, y, lmbda)
    return y * log1prel(lmbda * y, xp)


def _inverse_y(y: Any, lmbda: Any, xp: Any) -> Any:
    y, lmbda = floats(xp, y, lmbda)
    return xp.exp(_inverse_log(y, lmbda, xp)) / (1.0 + lmbda * y)


def _inverse_lmbda(y: Any, lmbda: Any, xp: Any) -> Any:
    y, lmbda = floats(xp, y, lmbda)
    slope = y * y * log1prel_slope(lmbda * y, xp)
    return xp.exp(_inverse_log(y, lmbda, xp)) * slope


for _name, _exp in (("inv_boxcox", "exp"), ("inv_boxcox1p", "expm1")):
    elementwise(
        f"{_name}(y, lmbda, /)",
        lambda xp, y, lmbda, exp=_exp: getattr(xp, exp)(_inverse_log(y, lmbda, xp)),
        y=_inverse_y,
        lmbda=_inverse_lmbda,
    )
