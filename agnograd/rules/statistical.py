"""Statistical functions: reductions and cumulative ones."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from agnograd.extend import (
    OpSet,
    behind,
    conjugate_if_complex,
    device_of,
    inverse_permutation,
    is_complex,
    is_tracked,
    keep_axes,
    of_numbers,
    reduced_axes,
    switch,
)

__all__ = ["direction", "evened", "ops", "products_of_others", "scaled", "sum_dtype", "wide"]

ops = OpSet("statistical", samples="agnograd.rules.samples.statistical")

Shape = tuple[int, ...]
Axis = int | Sequence[int] | None

# From how many elements a half has no number for them, or none with all its digits for their share.
HALF_SHARES = switch("HALF_SHARES", 2**15, least=0, most=2**15, module=__name__)
# Up to how many elements all but one of some factors are multiplied in a row for each: they take
# the memory of as many arrays. Of more, sums of products that overflow in between are not exact.
ROW_ELEMENTS = switch("ROW_ELEMENTS", 2**12, least=2**10, most=2**24, module=__name__)


def _count(x_shape: Shape, axis: Axis) -> int:
    if axis is None:
        return math.prod(x_shape)
    count = 1
    for each in reduced_axes(axis, len(x_shape)):
        count *= x_shape[each]
    return count


def wide(dtype: Any, count: int, xp: Any) -> Any:
    """Return a dtype in which elements can be counted, and divided by their number."""
    return dtype if count < HALF_SHARES else xp.result_type(dtype, xp.float32)


def sum_dtype(dtype: Any, xp: Any) -> Any:
    """Return a dtype in which numbers can be added one by one: a half stops growing at 2,048."""
    half = xp.isdtype(dtype, "real floating") and xp.finfo(dtype).bits < 32
    return xp.result_type(dtype, xp.float32) if half else dtype


def _sum_vjp(g: Any, x_shape: Shape, axis: Axis, xp: Any) -> Any:
    kept = g if g.shape == () else keep_axes(g, x_shape, axis, xp)
    return xp.broadcast_to(kept, x_shape)


def _mean_vjp(g: Any, x_shape: Shape, axis: Axis, xp: Any) -> Any:
    count = _count(x_shape, axis)
    if count < HALF_SHARES:
        return _sum_vjp(g / (count or 1), x_shape, axis, xp)
    share = xp.astype(g, wide(g.dtype, count, xp), copy=False) / count
    return _sum_vjp(xp.astype(share, g.dtype, copy=False), x_shape, axis, xp)


def _extreme_vjp(g: Any, x: Any, out: Any, x_shape: Shape, axis: Axis, xp: Any) -> Any:
    """Share the gradient equally among the elements that tie for the extreme.

    An extreme of NaN has as many ties as NaN: so its derivative is that in both directions.
    """
    dtype = wide(g.dtype, _count(x_shape, axis), xp)
    extreme = keep_axes(out, x_shape, axis, xp)
    others = xp.where(extreme == extreme, xp.astype(xp.zeros_like(extreme), dtype), math.nan)
    ties = xp.where(x == extreme, 1.0, others)
    total = xp.sum(ties, axis=axis, keepdims=True)
    share = g / (total if total.shape == g.shape else xp.reshape(total, g.shape))
    return keep_axes(share, x_shape, axis, xp) * ties


def _deviation(x: Any, axis: Axis, xp: Any) -> Any:
    return x - xp.mean(x, axis=axis, keepdims=True)


def _per_degree(x_shape: Shape, axis: Axis, correction: float) -> float:
    """Return one over the degrees of freedom, NaN where there is none."""
    degrees = _count(x_shape, axis) - correction
    return 1 / degrees if degrees > 0 else math.nan


def _var_vjp(g: Any, x: Any, x_shape: Shape, axis: Axis, correction: float, xp: Any) -> Any:
    if 0 in x_shape:  # there is nothing to differentiate by
        return xp.zeros_like(x)
    scale = 2 * _per_degree(x_shape, axis, correction)
    g = xp.astype(g, wide(g.dtype, _count(x_shape, axis), xp), copy=False)
    return keep_axes(g, x_shape, axis, xp) * scale * _deviation(x, axis, xp)


def direction(x: Any, axis: Axis, xp: Any) -> tuple[Any, Any]:
    """Return two factors of x divided by its 2-norm along axes: an array, and one of those axes.

    The second one, which has these axes with one element each, is 0 where the norm is.

    What a library computes may be 0 or infinite, since squares under- or overflow: these are those
    of x divided by its largest element. The divisor counts as a constant, for it changes nothing.
    """
    x = xp.astype(x, wide(x.dtype, _count(x.shape, axis), xp), copy=False)
    fixed = x.detach() if is_tracked(x) else x
    if is_complex(x.dtype, xp):
        fixed = xp.abs(fixed)
    largest = xp.max(fixed, axis=axis, keepdims=True)
    largest = xp.maximum(largest, -xp.min(fixed, axis=axis, keepdims=True))
    infinite = xp.isinf(largest)
    if not is_complex(x.dtype, xp):  # beside infinite numbers, which count as equal, others are 0
        x = xp.where(infinite, xp.sign(x) * xp.astype(xp.isinf(x), x.dtype), x)
    usual = xp.logical_and(largest != 0, xp.isfinite(largest))
    x = x / xp.astype(xp.where(usual, largest, 1.0), x.dtype, copy=False)
    square = xp.real(x) ** 2 + xp.imag(x) ** 2 if is_complex(x.dtype, xp) else x * x
    norm = xp.sqrt(xp.sum(square, axis=axis, keepdims=True))
    zero = norm == 0
    scale = xp.where(zero, 0.0, 1.0 / xp.where(zero, 1.0, norm))
    return x, xp.astype(scale, x.dtype, copy=False)


def _std_vjp(g: Any, x: Any, x_shape: Shape, axis: Axis, correction: float, xp: Any) -> Any:
    if 0 in x_shape:  # there is nothing to differentiate by, and no first element to look at
        return xp.zeros_like(x)
    axes = reduced_axes(axis, len(x_shape))
    # The derivative is 0 where all values are equal, although rounding may make some of the mean.
    first = x[tuple(slice(0, 1) if i in axes else slice(None) for i in range(len(x_shape)))]
    equal = xp.all(x == first, axis=axes, keepdims=True)
    along, scale = direction(_deviation(x, axis, xp), axes, xp)
    g = keep_axes(xp.astype(g, along.dtype, copy=False), x_shape, axis, xp)
    root = math.sqrt(_per_degree(x_shape, axis, correction))
    return along * (g * root * xp.where(equal, 0.0, scale))


def _prod_vjp(g: Any, x: Any, x_shape: Shape, axis: Axis, xp: Any) -> Any:
    """Multiply by the product of the other elements; a product over all of them may be zero."""
    x = _in_dtype_of(g, x, xp)
    axes = reduced_axes(axis, len(x_shape))
    rest = tuple(i for i in range(len(x_shape)) if i not in axes)
    order = rest + axes
    moved = xp.permute_dims(x, order)
    flat = xp.reshape(moved, (*(x_shape[i] for i in rest), _count(x_shape, axis)))
    if is_tracked(flat) and flat.shape[-1] > 0 and _are_few(flat):
        others = xp.partial_products(_without_each(flat, xp))[..., -1]
    else:
        others = products_of_others(flat, xp)
    others = xp.reshape(conjugate_if_complex(others, xp), moved.shape)
    return keep_axes(g, x_shape, axis, xp) * xp.permute_dims(others, inverse_permutation(order))


def products_of_others(x: Any, xp: Any) -> Any:
    """Return, along the last axis, the product of all elements but each one."""
    if x.shape[-1] < 3:  # of one or two, no product over- or underflows
        return xp.flip(x, axis=-1) if x.shape[-1] == 2 else xp.ones_like(x)
    x, powers = evened(x, xp)
    before = _product_before(x, xp)
    after = xp.flip(_product_before(xp.flip(x, axis=-1), xp), axis=-1)
    return scaled(before * after, xp.sum(powers, axis=-1, keepdims=True) - powers, xp)


def evened(x: Any, xp: Any) -> tuple[Any, Any]:
    """Return x divided by powers of two, and their exponents: no product of its elements overflows.

    All elements but zeros get about the same size, so that products of neighbours lie between 1 and
    the product of all, or the largest number's square root if that is larger. Otherwise an infinite
    partial product may meet one that is zero. Usual numbers stay as they are.
    """
    fixed = x.detach() if is_tracked(x) else x
    size = xp.abs(fixed)
    size = xp.where(xp.logical_and(size > 0, xp.isfinite(size)), size, 1.0)
    size = xp.astype(size, sum_dtype(size.dtype, xp), copy=False)
    count, most = x.shape[-1], _range(x, xp) / 2
    exponents = xp.clip(xp.round(xp.log2(size)), -2 * most, 2 * most)
    usual = xp.sum(xp.abs(exponents), axis=-1, keepdims=True) < most
    exponents = xp.where(usual, 0.0, exponents)
    total = xp.clip(xp.sum(exponents, axis=-1, keepdims=True), -most, most)
    places = xp.arange(count + 1, dtype=size.dtype, device=device_of(x))
    shares = xp.round(places * total / count)
    powers = exponents - (shares[..., 1:] - shares[..., :-1])
    return scaled(x, -powers, xp), powers


def scaled(x: Any, powers: Any, xp: Any) -> Any:
    """Return x times two to some powers, in two steps: a power may overflow where this does not."""
    most, half = _range(x, xp), xp.round(powers / 2)
    for part in (half, powers - half):
        x = x * xp.astype(2.0 ** xp.clip(part, -most, most), x.dtype, copy=False)
    return x


def _range(x: Any, xp: Any) -> float:
    """Return the exponent of two of which neither the power nor one over it is out of range."""
    return -math.log2(xp.finfo(x.dtype).smallest_normal)


def _in_dtype_of(g: Any, x: Any, xp: Any) -> Any:
    """Return the elements in the dtype in which they were multiplied."""
    if is_complex(x.dtype, xp) and not is_complex(g.dtype, xp):
        x = xp.real(x)
    return xp.astype(x, g.dtype, copy=False)


def _product_before(x: Any, xp: Any) -> Any:
    """Return, along the last axis, the product of the elements before each one."""
    return xp.cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]


def _cumulative_sum_vjp(
    g: Any, x_shape: Shape, axis: int | None, include_initial: bool, xp: Any
) -> Any:
    axis = axis if axis is not None else 0
    if include_initial:
        g = _without_first(g, axis)
    return xp.reshape(_sum_from(g, axis, xp), x_shape)


def _sum_from(g: Any, axis: int, xp: Any) -> Any:
    """Return, along an axis, the sum of each element and those after it."""
    wide = xp.astype(g, sum_dtype(g.dtype, xp), copy=False)
    total = xp.flip(xp.cumulative_sum(xp.flip(wide, axis=axis), axis=axis), axis=axis)
    return xp.astype(total, g.dtype, copy=False)


def _without_first(g: Any, axis: int) -> Any:
    return g[(slice(None),) * (axis % g.ndim) + (slice(1, None), ...)]


def _cumulative_prod_vjp(
    g: Any, x: Any, x_shape: Shape, axis: int | None, include_initial: bool, xp: Any
) -> Any:
    """Return the gradient without a division, so that zeros are as good as any other element.

    With P(i) the product before element i, the gradient is P(i) r(i), where the linear recurrence
    r(i) = g(i) + x(i + 1) r(i + 1) is solved in log2(n) steps: step k combines pairs (a, b) that
    stand for r -> a r + b (Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1.4).
    """
    if not g.shape:
        return g
    where = axis % len(x_shape) if axis is not None and x_shape else 0
    x = _in_dtype_of(g, x, xp)
    if include_initial:
        g = _without_first(g, where)
    g, x = xp.moveaxis(g, where, -1), xp.moveaxis(xp.reshape(x, g.shape), where, -1)
    count = x.shape[-1]
    if count == 0:
        return xp.zeros_like(xp.reshape(x, x_shape))
    if _are_few(x):
        return xp.reshape(xp.moveaxis(_of_partial_products(g, x, xp), -1, where), x_shape)
    x = conjugate_if_complex(x, xp)
    a = xp.concat([x[..., 1:], xp.zeros_like(x[..., :1])], axis=-1)
    b, step = g, 1
    while step < count:
        none = xp.zeros_like(b[..., :step])
        b = b + _unless_zero(a, xp.concat([b[..., step:], none], axis=-1), xp)
        a = a * xp.concat([a[..., step:], none], axis=-1)
        step *= 2
    found = _unless_zero(_product_before(x, xp), b, xp)
    return xp.reshape(xp.moveaxis(found, -1, where), x_shape)


def _unless_zero(factor: Any, x: Any, xp: Any) -> Any:
    """Return a product that is 0 where the factor is, even if the other one overflowed."""
    idle = xp.logical_and(factor == 0, xp.logical_not(xp.isfinite(x)))
    return factor * xp.where(idle, 0.0, x)


def _are_few(x: Any) -> bool:
    return bool(math.prod(x.shape) * x.shape[-1] <= ROW_ELEMENTS)


def _without_each(x: Any, xp: Any) -> Any:
    """Return, in a row for each element, all elements, with a one in the place of that one."""
    return xp.where(xp.eye(x.shape[-1], dtype=xp.bool, device=device_of(x)), 1.0, x[..., None, :])


def _of_partial_products(g: Any, x: Any, xp: Any) -> Any:
    """Return the sum of each cotangent times the product without one element, for each element.

    Its own derivative is of the same form, with one element less.
    """
    others = conjugate_if_complex(xp.partial_products(_without_each(x, xp)), xp)
    g = g[..., None, :]
    idle = xp.logical_and(g == 0, xp.logical_not(xp.isfinite(others)))
    return xp.sum(xp.triu(_unless_zero(xp.where(idle, 0.0, others), g, xp)), axis=-1)


def _partial_products(xp: Any, x: Any, /) -> Any:
    """Return the products up to each element along the last axis, of which none limits the next."""
    if x.shape[-1] == 0:
        return x
    x, powers = evened(x, xp)
    return scaled(xp.cumulative_prod(x, axis=-1), xp.cumulative_sum(powers, axis=-1), xp)


def _cumulative_batch(name: str) -> Callable[..., Any]:
    def compute(
        xp: Any, x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        def along(x: Any, axis: Any) -> Any:
            return getattr(xp, name)(x, axis=axis, dtype=dtype, include_initial=include_initial)

        rank = len(x.shape) - 1
        if not rank:
            return of_numbers(xp, x, axis, along)
        if axis is None and rank > 1:
            raise ValueError(f"{name}: give the axis of an array that has several")
        return along(x, behind(0 if axis is None else axis, rank))

    return compute


# -- patterns --------------------------------------------------------------------------------------


def _cumulative_pattern(
    xp: Any, x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Sum all elements up to each one, along rows of a triangle."""
    x = xp.moveaxis(xp.reshape(x, x.shape or (1,)), axis or 0, -1)
    rows = xp.broadcast_to(xp.expand_dims(x, axis=-2), (*x.shape, x.shape[-1]))
    out = xp.sum(xp.tril(rows), axis=-1)
    if include_initial:
        out = xp.concat([xp.zeros_like(xp.sum(x, axis=-1, keepdims=True)), out], axis=-1)
    return xp.moveaxis(out, -1, axis or 0)


ops.linear(
    "sum(x, /, *, axis=None, dtype=None, keepdims=False)",
    x=_sum_vjp,
    batch="axis",
)
ops.linear("mean(x, /, *, axis=None, keepdims=False)", x=_mean_vjp, batch="axis")
ops.vjp("prod(x, /, *, axis=None, dtype=None, keepdims=False)", x=_prod_vjp, batch="axis")
ops.vjp("max(x, /, *, axis=None, keepdims=False)", x=_extreme_vjp, batch="axis")
ops.vjp("min(x, /, *, axis=None, keepdims=False)", x=_extreme_vjp, batch="axis")
ops.vjp("var(x, /, *, axis=None, correction=0.0, keepdims=False)", x=_var_vjp, batch="axis")
ops.vjp("std(x, /, *, axis=None, correction=0.0, keepdims=False)", x=_std_vjp, batch="axis")
ops.linear(
    "cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)",
    x=_cumulative_sum_vjp,
    batch=_cumulative_batch("cumulative_sum"),
    pattern=_cumulative_pattern,
)
ops.vjp(
    "cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)",
    x=_cumulative_prod_vjp,
    batch=_cumulative_batch("cumulative_prod"),
    pattern=_cumulative_pattern,
)
ops.vjp(
    "partial_products(x, /)",
    x=_of_partial_products,
    forward=_partial_products,
    batch=lambda xp, x: xp.partial_products(x),
    pattern=lambda xp, x: _cumulative_pattern(xp, x, axis=-1),
)
