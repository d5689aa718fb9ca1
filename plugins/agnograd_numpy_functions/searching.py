"""Where values stand: unique ones, sets, bins, histograms."""

from __future__ import annotations

from typing import Any

from agnograd.errors import UnsupportedFunctionError
from agnograd_numpy_functions._arguments import check_cast, ready
from agnograd_numpy_functions._helpers import (
    dtype_named,
    flat,
    floating,
    is_bool,
    is_floating,
    real_only,
    together,
)
from agnograd_numpy_functions._program import Array, Table
from agnograd_numpy_functions.creation import between

__all__ = ["table"]

table = Table()


def _ordered(xp: Any, a: Array, equal_nan: bool) -> tuple[Array, Array, Array]:
    """Return the order of a flat array, its sorted elements, and which are new among those."""
    order = xp.argsort(a)
    ordered = xp.take(a, order, axis=0)
    after, before = ordered[1:], ordered[:-1]
    new = after != before
    if equal_nan and is_floating(xp, a):
        new = xp.logical_and(new, xp.logical_not(xp.logical_and(after != after, before != before)))
    return order, ordered, xp.concat([xp.ones_like(a[:1], dtype=xp.bool), new])


@table.add("unique")
def _unique(
    xp: Any,
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    if axis is not None and ar.ndim > 1:
        raise UnsupportedFunctionError("np.unique of Variables compares elements, not slices")
    a = flat(xp, ar)
    order, ordered, new = _ordered(xp, a, equal_nan)
    (starts,) = xp.nonzero(new)
    found = [xp.take(ordered, starts, axis=0)]
    if return_index:
        found.append(xp.take(order, starts, axis=0))
    if return_inverse:
        rank = xp.cumulative_sum(xp.astype(new, order.dtype)) - 1
        inverse = xp.scatter_add(rank, order, shape=a.shape)
        found.append(xp.reshape(inverse, ar.shape))
    if return_counts:
        ends = xp.concat([starts[1:], xp.full((1,), a.shape[0], dtype=starts.dtype)])
        found.append((ends - starts)[: starts.shape[0]])
    return found[0] if len(found) == 1 else tuple(found)


@table.each("unique_all", "unique_counts", "unique_inverse", "unique_values")
def _unique_by_standard(name: str, xp: Any, x: Array) -> Any:
    return getattr(xp, name)(x)


@table.add("isin")
def _isin(
    xp: Any,
    element: Array,
    test_elements: Array,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Array:
    tests = flat(xp, test_elements)
    if not tests.shape[0]:
        found = xp.zeros_like(element, dtype=xp.bool)
    else:
        tests, element = together(xp, tests, element)
        tests = xp.sort(tests)
        places = xp.searchsorted(tests, flat(xp, element))
        places = xp.minimum(places, xp.full_like(places, tests.shape[0] - 1))
        found = xp.reshape(xp.take(tests, places, axis=0), element.shape) == element
    return xp.logical_not(found) if invert else found


@table.add("intersect1d")
def _intersect1d(
    xp: Any,
    ar1: Array,
    ar2: Array,
    assume_unique: bool = False,
    return_indices: bool = False,
) -> Any:
    ar1, ar2 = together(xp, ar1, ar2)
    one, at_one = _unique(xp, ar1, return_index=True)
    other, at_other = _unique(xp, ar2, return_index=True)
    (both,) = xp.nonzero(_isin(xp, one, other))
    common = xp.take(one, both, axis=0)
    if not return_indices:
        return common
    (also,) = xp.nonzero(_isin(xp, other, one))
    return common, xp.take(at_one, both, axis=0), xp.take(at_other, also, axis=0)


@table.add("union1d")
def _union1d(xp: Any, ar1: Array, ar2: Array) -> Array:
    return _unique(xp, xp.concat([flat(xp, each) for each in together(xp, ar1, ar2)]))


@table.add("setdiff1d")
def _setdiff1d(xp: Any, ar1: Array, ar2: Array, assume_unique: bool = False) -> Array:
    one = flat(xp, ar1) if assume_unique else _unique(xp, ar1)
    return xp.take(one, xp.nonzero(_isin(xp, one, ar2, invert=True))[0], axis=0)


@table.add("setxor1d")
def _setxor1d(xp: Any, ar1: Array, ar2: Array, assume_unique: bool = False) -> Array:
    ar1, ar2 = together(xp, ar1, ar2)
    return xp.sort(xp.concat([_setdiff1d(xp, ar1, ar2), _setdiff1d(xp, ar2, ar1)]))


@table.add("searchsorted")
def _searchsorted(
    xp: Any, a: Array, v: Array, side: str = "left", sorter: Array | None = None
) -> Array:
    a, v = together(xp, a, v)
    places = xp.searchsorted(a, flat(xp, v), side=side, sorter=sorter)
    return xp.reshape(places, v.shape)


@table.add("digitize")
def _digitize(xp: Any, x: Array, bins: Array, right: bool = False) -> Array:
    real_only(xp, "digitize", x, bins)
    bins, x = together(xp, bins, x)
    if is_bool(xp, bins):
        bins, x = xp.astype(bins, xp.int64), xp.astype(x, xp.int64)
    after, before, side = bins[1:], bins[:-1], "left" if right else "right"
    if xp.all(after >= before):
        return _searchsorted(xp, bins, x, side)
    if not xp.all(after <= before):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return bins.shape[0] - _searchsorted(xp, xp.flip(bins), x, side)


@table.add("bincount")
def _bincount(xp: Any, x: Array, /, weights: Array | None = None, minlength: int = 0) -> Array:
    if x.ndim != 1 or not xp.isdtype(x.dtype, ("bool", "integral")):
        raise TypeError("bincount counts integers, in an array of one axis")
    if weights is not None:
        check_cast(weights.dtype, xp.float64)
        if weights.shape != x.shape:
            raise ValueError("bincount needs a weight for each number")
    x = xp.astype(x, dtype_named(xp, "int64"))
    if x.shape[0] and xp.any(x < 0):
        raise ValueError("bincount counts numbers that are not negative")
    count = max(int(xp.max(x)) + 1 if x.shape[0] else 0, minlength)
    values = xp.ones_like(x) if weights is None else xp.astype(weights, xp.float64)
    return xp.scatter_add(values, x, shape=(count,))


def _edges(xp: Any, a: Array, bins: Any, range: Any) -> Array:
    if isinstance(bins, str):
        raise UnsupportedFunctionError(
            f"bins={bins!r} is chosen by the data: give np.histogram_bin_edges(v.detach(), ...)"
        )
    if (hasattr(bins, "ndim") and bins.ndim) or isinstance(bins, list | tuple):
        return ready(a, bins)
    low, high = range or ((xp.min(a), xp.max(a)) if a.size else (0.0, 1.0))
    if low == high:
        low, high = low - 0.5, high + 0.5
    low, high = floating(xp, ready(a, low)), floating(xp, ready(a, high))
    return between(xp, low, high, int(bins) + 1)


@table.add("histogram_bin_edges")
def _histogram_bin_edges(
    xp: Any, a: Array, bins: Any = 10, range: Any = None, weights: Array | None = None
) -> Array:
    return _edges(xp, a, bins, range)


@table.add("histogram")
def _histogram(
    xp: Any,
    a: Array,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    if weights is not None and weights.shape != a.shape:
        raise ValueError("histogram needs a weight for each number")
    edges, a = _edges(xp, a, bins, range), flat(xp, a)
    count = edges.shape[0] - 1
    inside = xp.logical_and(a >= edges[0], a <= edges[-1])
    place = _searchsorted(xp, edges, a, "right") - 1
    place = xp.clip(place, 0, count - 1)  # the last bin is closed
    values = xp.ones_like(place) if weights is None else flat(xp, weights)
    values = xp.where(inside, values, 0)
    counts = xp.scatter_add(values, place, shape=(count,))
    if density:
        return counts / (edges[1:] - edges[:-1]) / xp.sum(counts), edges
    return counts, edges
