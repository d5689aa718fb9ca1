"""Differences, slopes, areas, and interpolation."""

from __future__ import annotations

from typing import Any

from agnograd_numpy_functions._arguments import check_cast, like, ready
from agnograd_numpy_functions._helpers import (
    as_axis,
    axes_of,
    double,
    flat,
    floating,
    is_bool,
    part,
    real_only,
    together,
)
from agnograd_numpy_functions._program import Array, Operand, Table

__all__ = ["table"]

table = Table()


@table.add("diff")
def _diff(
    xp: Any,
    a: Array,
    n: int = 1,
    axis: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Array:
    if not n:
        return a
    (place,) = axes_of(axis, a.ndim)
    ends = {
        name: ready(a, value)
        for name, value in (("prepend", prepend), ("append", append))
        if value is not None
    }
    if not ends:
        return xp.diff(a, n=n, axis=place)
    a, *values = together(xp, a, *ends.values())
    for name, value in zip(ends, values, strict=True):
        one = (*a.shape[:place], 1, *a.shape[place + 1 :])
        ends[name] = value if value.ndim else xp.broadcast_to(value, one)
    return xp.diff(a, n=n, axis=place, **ends)


@table.add("ediff1d")
def _ediff1d(
    xp: Any, ary: Array, to_end: Array | None = None, to_begin: Array | None = None
) -> Array:
    if is_bool(xp, ary):
        raise TypeError("ediff1d subtracts, which booleans do not: convert the array by astype")

    def end(value: Array) -> Array:
        check_cast(value.dtype, ary.dtype)
        return xp.astype(flat(xp, value), ary.dtype)

    parts = [xp.diff(flat(xp, ary))]
    if to_begin is not None:
        parts.insert(0, end(to_begin))
    if to_end is not None:
        parts.append(end(to_end))
    return xp.concat(parts) if len(parts) > 1 else parts[0]


@table.add("trapezoid")
def _trapezoid(
    xp: Any, y: Array, x: Array | None = None, dx: Operand = 1.0, axis: int = -1
) -> Array:
    width = dx
    if x is not None:
        width = xp.diff(x, axis=0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            width = as_axis(xp, width, axis, y.ndim)
    return xp.sum(width * (part(y, axis, 1, None) + part(y, axis, None, -1)) / 2.0, axis=axis)


def _slope(xp: Any, f: Array, h: Any, axis: int, edge_order: int) -> Array:
    """Return central differences inside, one-sided ones of an order at the edges."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
            "elements are required."
        )
    if not getattr(h, "ndim", 0):
        h = xp.broadcast_to(like(f, h), (n - 1,))
    h = as_axis(xp, xp.astype(h, f.dtype, copy=False), axis, f.ndim)

    def at(x: Array, *bounds: Any) -> Array:
        return part(x, axis, *bounds)

    step = at(f, 1, None) - at(f, None, -1)
    if edge_order == 1:
        first, last = at(step, 0, 1) / at(h, 0, 1), at(step, -1, None) / at(h, -1, None)
    elif edge_order == 2:
        first, last = _second_order(f, h, at)
    else:
        raise ValueError("'edge_order' greater than 2 not supported")
    left, right = at(h, None, -1), at(h, 1, None)
    inner = (left**2 * at(step, 1, None) + right**2 * at(step, None, -1)) / (
        left * right * (left + right)
    )
    return xp.concat([first, inner, last], axis=axis)


def _second_order(f: Array, h: Array, at: Any) -> tuple[Array, Array]:
    one, two = at(h, 0, 1), at(h, 1, 2)
    first = (
        -(2 * one + two) / (one * (one + two)) * at(f, 0, 1)
        + (one + two) / (one * two) * at(f, 1, 2)
        - one / (two * (one + two)) * at(f, 2, 3)
    )
    one, two = at(h, -2, -1), at(h, -1, None)
    last = (
        two / (one * (one + two)) * at(f, -3, -2)
        - (two + one) / (one * two) * at(f, -2, -1)
        + (2 * two + one) / (two * (one + two)) * at(f, -1, None)
    )
    return first, last


@table.add("gradient")
def _gradient(xp: Any, f: Array, *varargs: Operand, axis: Any = None, edge_order: int = 1) -> Any:
    if is_bool(xp, f):
        raise TypeError("gradient subtracts, which booleans do not: convert the array by astype")
    f = floating(xp, f)
    axes = axes_of(axis, f.ndim)
    spaces = list(varargs) or [1.0]
    spaces = (
        spaces * len(axes) if len(spaces) == 1 and not getattr(spaces[0], "ndim", 0) else spaces
    )
    if len(spaces) != len(axes):
        raise TypeError("invalid number of arguments")
    found = []
    for each, space in zip(axes, spaces, strict=True):
        if getattr(space, "ndim", 0):
            if space.shape != (f.shape[each],):
                raise ValueError("when 1d, distances must match the length of the dimension")
            space = xp.diff(floating(xp, space))
        found.append(_slope(xp, f, space, each, edge_order))
    return found[0] if len(found) == 1 else tuple(found)


@table.add("interp")
def _interp(
    xp: Any,
    x: Array,
    xp_: Array,
    fp: Array,
    left: Operand | None = None,
    right: Operand | None = None,
    period: float | None = None,
) -> Array:
    real_only(xp, "interp", x, xp_)
    x, knots, fp = double(xp, x), double(xp, xp_), double(xp, fp)
    if knots.ndim != 1 or knots.shape != fp.shape or not knots.shape[0]:
        raise ValueError("interp needs points: xp and fp of one axis, as long as each other")
    if period is not None:
        period = abs(period)
        x, knots = xp.remainder(x, period), xp.remainder(knots, period)
        order = xp.argsort(knots)
        knots, fp = xp.take(knots, order, axis=0), xp.take(fp, order, axis=0)
        knots = xp.concat([knots[-1:] - period, knots, knots[:1] + period])
        fp = xp.concat([fp[-1:], fp, fp[:1]])
        left = right = None
    dtype = xp.result_type(x, knots)
    x, knots = xp.astype(x, dtype, copy=False), xp.astype(knots, dtype, copy=False)
    inside = _line(xp, x, *_segment(xp, x, knots, fp))
    inside = xp.where(x < knots[0], fp[0] if left is None else left, inside)
    inside = xp.where(x > knots[-1], fp[-1] if right is None else right, inside)
    return xp.where(xp.isnan(x), x, inside)


def _segment(xp: Any, x: Array, knots: Array, fp: Array) -> tuple[Array, ...]:
    """Return the ends of the segment that each x is in, and the ordinates there.

    A knot is in the segment to its right, unless that has an ordinate that is not finite.
    """

    def read(values: Array, places: Array) -> Array:
        return xp.reshape(xp.take(values, flat(xp, places), axis=0), x.shape)

    last = knots.shape[0] - 1
    below = xp.searchsorted(knots, flat(xp, x), side="right") - 1
    below = xp.clip(xp.reshape(below, x.shape), 0, max(last - 1, 0))
    above = xp.clip(below + 1, 0, last)
    left = xp.logical_and(x == read(knots, below), xp.logical_not(xp.isfinite(read(fp, above))))
    above = xp.where(left, below, above)
    below = xp.where(left, xp.clip(below - 1, 0, last), below)
    return tuple(read(each, at) for each in (knots, fp) for at in (below, above))


def _line(xp: Any, x: Array, low: Array, high: Array, f_low: Array, f_high: Array) -> Array:
    """Return what lies at x on the line between two points; at each of them its very ordinate."""
    at_high = x == high
    width = xp.where(high == low, 1.0, high - low)
    rise = f_high - f_low
    finite = xp.isfinite(rise)
    near, base = xp.where(at_high, high, low), xp.where(at_high, f_high, f_low)
    line = base + xp.where(finite, rise, 0.0) * ((x - near) / width)
    inner = xp.logical_not(xp.logical_or(finite, xp.logical_or(at_high, x == low)))
    # In these quotients a knot stands once: infinite terms of its derivative have one sign.
    behind, ahead = xp.where(inner, x - low, 1.0), xp.where(inner, high - x, 1.0)
    mean = xp.where(inner, f_low, 0.0) / (1.0 + behind / ahead)
    mean = mean + xp.where(inner, f_high, 0.0) / (1.0 + ahead / behind)
    return xp.where(inner, mean, line)
