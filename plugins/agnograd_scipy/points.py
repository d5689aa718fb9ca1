"""Interpolation between points, as ``scipy.interpolate`` has it.

Interpolants are piecewise polynomials, made of the standard's functions: the points, their values
and the places have gradients. Which piece a place belongs to has none: at the points themselves the
derivative is that of the piece to the right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnograd_scipy import interpolate
from agnograd_scipy._arrays import composed, inexact, weighted

__all__ = ["Piecewise"]

Boundary = str | Sequence[Any]


class Piecewise:
    """A piecewise polynomial; call it.

    Parameters
    ----------
    xp : namespace
        The differentiable namespace.
    x : array, shape (n,)
        The points between pieces, in increasing order.
    c : list of array, shape (n - 1, ...)
        Coefficients of each power of the distance to the point on the left, the highest first.
    axis : int
        Where the axes of places come in results.
    extrapolate : bool
        Whether the first and last piece go on; otherwise values beyond are ``outside``.
    """

    def __init__(
        self,
        xp: Any,
        x: Any,
        c: Sequence[Any],
        axis: int,
        extrapolate: bool,
        outside: Any = math.nan,
    ) -> None:
        self.xp, self.x, self.c, self.axis = xp, x, list(c), axis
        self.extrapolate, self.outside = extrapolate, outside

    def __call__(self, x: Any, nu: int = 0) -> Any:
        """Return the values, or the derivatives of an order, at places.

        Parameters
        ----------
        x : array
            The places.
        nu : int
            How often the polynomials are differentiated.

        Returns
        -------
        array
            In the shape of the interpolated values, with the axes of ``x`` for that of the points.
        """
        xp, rest = self.xp, self.c[0].ndim - 1
        places = inexact(xp, self.x, x)[1]
        shape, flat = places.shape, xp.reshape(places, (math.prod(places.shape),))
        piece = _piece(xp, self.x, flat)
        distance = flat - xp.take(self.x, piece, axis=0)
        distance = xp.reshape(distance, (flat.shape[0], *(1,) * rest))
        out: Any = 0
        degree = len(self.c) - 1
        for power, c in zip(range(degree, nu - 1, -1), self.c, strict=False):
            factor = math.perm(power, nu)
            out = out * distance + factor * xp.take(c, piece, axis=0)
        if degree < nu:
            out = 0 * (xp.take(self.c[-1], piece, axis=0) + distance)
        if not self.extrapolate:
            known = (flat >= self.x[0]) & (flat <= self.x[-1])
            out = xp.where(xp.reshape(known, distance.shape), out, self.outside)
        out = xp.reshape(out, (*shape, *out.shape[1:]))
        axes = range(len(shape))
        if not self.axis or not shape:
            return out
        return xp.moveaxis(out, tuple(axes), tuple(self.axis + each for each in axes))


def _piece(xp: Any, x: Any, places: Any) -> Any:
    """Return which of the pieces between points each place belongs to."""
    after = xp.searchsorted(x, places, side="right")
    return xp.clip(after - 1, 0, x.shape[0] - 2)


def _prepared(xp: Any, x: Any, y: Any, axis: int) -> tuple[Any, ...]:
    """Return points, values along the first axis, the axis, lengths and slopes of pieces."""
    _, y = inexact(xp, x, y)
    (x,) = inexact(xp, x)
    if not y.ndim or x.ndim != 1 or x.shape[0] < 2 or y.shape[axis] != x.shape[0]:
        raise ValueError(
            f"there are two points at least, and a value for each: shapes {x.shape} and {y.shape}"
        )
    axis = axis % y.ndim
    y = xp.moveaxis(y, axis, 0)
    dx = x[1:] - x[:-1]
    wide = xp.reshape(dx, (-1, *(1,) * (y.ndim - 1)))
    return x, y, axis, dx, wide, (y[1:, ...] - y[:-1, ...]) / wide


def _hermite(
    xp: Any, x: Any, y: Any, axis: int, slopes: Any, s: Any, wide: Any, extrapolate: bool
) -> Piecewise:
    """Return the cubic polynomials with these values and derivatives at the points."""
    left, right = s[:-1, ...], s[1:, ...]
    t = (left + right - 2 * slopes) / wide
    return Piecewise(
        xp, x, [t / wide, (slopes - left) / wide - t, left, y[:-1, ...]], axis, extrapolate
    )


def cubic_spline(
    xp: Any,
    x: Any,
    y: Any,
    axis: int = 0,
    bc_type: Boundary = "not-a-knot",
    extrapolate: bool = True,
) -> Piecewise:
    """Return the cubic spline through points, as ``scipy.interpolate.CubicSpline``.

    Its derivatives at the points solve a system with three diagonals (de Boor, "A practical guide
    to splines", 2001, chapter IV).

    Parameters
    ----------
    x : array, shape (n,)
        The points, in increasing order.
    y : array
        Their values, along ``axis``.
    axis : int
        The axis of ``y``.
    bc_type : str or pair
        What holds at both ends: "not-a-knot", "natural", "clamped", or a pair with one of them or
        ``(order, derivative)`` for each end.
    extrapolate : bool
        Whether the spline goes on beyond the points; otherwise it is NaN there.

    Returns
    -------
    callable
        ``spline(x, nu=0)`` gives values, or derivatives of order ``nu``.
    """
    x, y, axis, dx, wide, slopes = _prepared(xp, x, y, axis)
    ends = _boundaries(bc_type)
    count = x.shape[0]
    if count == 2:
        ends = [(1, slopes[0, ...]) if end == "not-a-knot" else end for end in ends]
    if count == 3 and ends == ["not-a-knot", "not-a-knot"]:
        # One parabola, of which three derivatives are known.
        curve = (slopes[1, ...] - slopes[0, ...]) / (x[2] - x[0])
        first = slopes[0, ...] - curve * dx[0]
        s = xp.stack([first, first + 2 * curve * dx[0], slopes[1, ...] + curve * dx[1]])
    else:
        s = _slopes(xp, x, y, dx, wide, slopes, ends)
    return _hermite(xp, x, y, axis, slopes, s, wide, extrapolate)


def _boundaries(bc_type: Boundary) -> list[Any]:
    ends = [bc_type, bc_type] if isinstance(bc_type, str) else list(bc_type)
    known = {"natural": (2, 0.0), "clamped": (1, 0.0), "not-a-knot": "not-a-knot"}
    found = []
    for end in ends:
        end = known.get(end) if isinstance(end, str) else tuple(end)
        if end is None or (end != "not-a-knot" and (len(end) != 2 or end[0] not in (1, 2))):
            break
        found.append(end)
    if len(found) != 2 or len(ends) != 2:
        raise ValueError(
            f"bc_type must be 'not-a-knot', 'natural', 'clamped', or a pair of them or of "
            f"(order, derivative) with order 1 or 2, not {bc_type!r}"
        )
    return found


def _slopes(xp: Any, x: Any, y: Any, dx: Any, wide: Any, slopes: Any, ends: Sequence[Any]) -> Any:
    """Return the derivatives at the points, by SciPy's system."""
    first, last = ends
    start = _end(first, dx, slopes, wide)
    # The other end is the same, seen from the other side.
    if last != "not-a-knot" and last[0] == 2:
        last = (2, -last[1])
    stop = _end(last, xp.flip(dx), *(xp.flip(each, axis=0) for each in (slopes, wide)))
    inner = 3 * (wide[1:, ...] * slopes[:-1, ...] + wide[:-1, ...] * slopes[1:, ...])
    shape = y.shape[1:]
    right = xp.concat(
        [
            xp.broadcast_to(start[2], (1, *shape)),
            inner,
            xp.broadcast_to(stop[2], (1, *shape)),
        ],
        axis=0,
    )
    zero = xp.zeros_like(dx[:1])
    above = xp.concat([zero, xp.reshape(start[1], (1,)), dx[:-1]])
    middle = xp.concat(
        [xp.reshape(start[0], (1,)), 2 * (dx[:-1] + dx[1:]), xp.reshape(stop[0], (1,))]
    )
    below = xp.concat([dx[1:], xp.reshape(stop[1], (1,)), zero])
    rows, flat = xp.stack([above, middle, below]), xp.reshape(right, (right.shape[0], -1))
    return xp.reshape(xp.interpolate.solve_banded(rows, flat, lower=1, upper=1), right.shape)


def _end(end: Any, dx: Any, slopes: Any, wide: Any) -> tuple[Any, Any, Any]:
    """Return the diagonal, what is beside it, and the right hand side of an end's equation."""
    if end == "not-a-knot":
        d = dx[0] + dx[1]
        right = (wide[0, ...] + 2 * d) * wide[1, ...] * slopes[0, ...]
        return dx[1], d, (right + wide[0, ...] ** 2 * slopes[1, ...]) / d
    order, value = end
    if order == 1:
        return dx[0] * 0 + 1, dx[0] * 0, slopes[0, ...] * 0 + value
    step = wide[0, ...]
    return 2 * dx[0], dx[0], 3 * slopes[0, ...] * step - 0.5 * step**2 * value


def pchip(xp: Any, x: Any, y: Any, axis: int = 0, extrapolate: bool = True) -> Piecewise:
    """Return the monotone cubic through points, as ``scipy.interpolate.PchipInterpolator``.

    Derivatives at the points are weighted harmonic means of the slopes beside them, and 0 where
    these have no common sign (Fritsch and Butland, "A method for constructing local monotone
    piecewise cubic interpolants", 1984).

    Parameters are those of ``CubicSpline``.
    """
    x, y, axis, _, wide, slopes = _prepared(xp, x, y, axis)
    if x.shape[0] == 2:
        s = xp.concat([slopes, slopes], axis=0)
        return _hermite(xp, x, y, axis, slopes, s, wide, extrapolate)
    before, after = slopes[:-1, ...], slopes[1:, ...]
    flat = before * after <= 0
    w1, w2 = 2 * wide[1:, ...] + wide[:-1, ...], wide[1:, ...] + 2 * wide[:-1, ...]
    safe = [xp.where(flat, 1.0, each) for each in (before, after)]
    mean = (w1 + w2) / (w1 / safe[0] + w2 / safe[1])
    first = _pchip_end(xp, wide[0, ...], wide[1, ...], slopes[0, ...], slopes[1, ...])
    last = _pchip_end(xp, wide[-1, ...], wide[-2, ...], slopes[-1, ...], slopes[-2, ...])
    inner = xp.where(flat, 0.0, mean)
    s = xp.concat([xp.expand_dims(first, axis=0), inner, xp.expand_dims(last, axis=0)], axis=0)
    return _hermite(xp, x, y, axis, slopes, s, wide, extrapolate)


def _pchip_end(xp: Any, h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Return the derivative at an end: of a parabola, if that keeps the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (xp.sign(m0) != xp.sign(m1)) & (xp.abs(d) > 3 * xp.abs(m0))
    return xp.where(xp.sign(d) != xp.sign(m0), 0.0, xp.where(steep, 3 * m0, d))


def interp1d(
    xp: Any,
    x: Any,
    y: Any,
    kind: str = "linear",
    axis: int = -1,
    *,
    fill_value: float | str = math.nan,
) -> Piecewise:
    """Return an interpolant of points, as ``scipy.interpolate.interp1d``.

    Parameters
    ----------
    x : array, shape (n,)
        The points, in increasing order.
    y : array
        Their values, along ``axis``.
    kind : {"linear", "cubic", "previous"}
        How; "cubic" is ``CubicSpline``.
    axis : int
        The axis of ``y``.
    fill_value : float or "extrapolate"
        The values beyond the points, unlike SciPy's without ``bounds_error``.

    Returns
    -------
    callable
        ``f(x, nu=0)`` gives values, or derivatives of order ``nu``.
    """
    beyond = isinstance(fill_value, str)
    if beyond and fill_value != "extrapolate":
        raise ValueError(f"fill_value must be a number or 'extrapolate', not {fill_value!r}")
    if kind == "cubic":
        made = cubic_spline(xp, x, y, axis)
    else:
        x, y, axis, _, _, slopes = _prepared(xp, x, y, axis)
        if kind == "linear":
            made = Piecewise(xp, x, [slopes, y[:-1, ...]], axis, beyond)
        elif kind == "previous":
            # The last value has a piece of its own.
            made = Piecewise(xp, xp.concat([x, x[-1:]]), [y], axis, beyond)
        else:
            raise ValueError(f"kind must be 'linear', 'cubic' or 'previous', not {kind!r}")
    made.extrapolate, made.outside = beyond, math.nan if beyond else fill_value
    return made


def interpn(
    xp: Any,
    points: Sequence[Any],
    values: Any,
    xi: Any,
    method: str = "linear",
    *,
    fill_value: float | None = math.nan,
) -> Any:
    """Return values between points of a rectangular grid, ``scipy.interpolate.interpn``.

    Parameters
    ----------
    points : sequence of array, shapes (n1,), ..., (nd,)
        The grid's points along each axis, in increasing order; two at least.
    values : array, shape (n1, ..., nd, ...)
        The values on the grid.
    xi : array, shape (..., d)
        The places.
    method : {"linear", "nearest"}
        How.
    fill_value : float, optional
        The values beyond the grid, unlike SciPy's without ``bounds_error``; None to extrapolate.

    Returns
    -------
    array, shape ``xi.shape[:-1] + values.shape[d:]``
    """
    rank = len(points)
    _, values, *_ = inexact(xp, xi, values, *points)
    (xi, *points) = inexact(xp, xi, *points)
    if values.shape[:rank] != tuple(each.shape[0] for each in points) or xi.shape[-1:] != (rank,):
        raise ValueError(
            f"values of shape {values.shape}, on {rank} axes of points, do not belong to places of "
            f"shape {xi.shape}"
        )
    if method not in ("linear", "nearest"):
        raise ValueError(f"method must be 'linear' or 'nearest', not {method!r}")
    shape, rest = xi.shape[:-1], values.shape[rank:]
    places = xp.reshape(xi, (math.prod(shape), rank))
    taps: list[Any] = []
    known: Any = None
    for axis, x in enumerate(points):
        at = places[:, axis]
        piece = _piece(xp, x, at)
        left, right = xp.take(x, piece, axis=0), xp.take(x, piece + 1, axis=0)
        share = (at - left) / (right - left)
        if method == "nearest":
            share = xp.astype(share > 0.5, x.dtype)
        taps.append((xp.stack([piece, piece + 1]), xp.stack([1 - share, share])))
        valid = (at >= x[0]) & (at <= x[-1])
        known = valid if known is None else known & valid
    out = weighted(xp, values, taps)
    if fill_value is not None:
        out = xp.where(xp.reshape(known, (*known.shape, *(1,) * len(rest))), out, fill_value)
    return xp.reshape(out, (*shape, *rest))


composed(interpolate, CubicSpline=cubic_spline, PchipInterpolator=pchip)
# NaN has no name in the text of a signature.
interpolate.composed(
    "interpolate.interp1d(x, y, kind='linear', axis=-1, *, fill_value=float('nan'))", interp1d
)
interpolate.composed(
    "interpolate.interpn(points, values, xi, method='linear', *, fill_value=float('nan'))", interpn
)
