"""Searching, sorting and set functions.

Indices have no gradient. ``where`` passes each element's gradient to its source, a sort is a
permutation, which the gradient undoes, and each unique value shares its gradient equally among the
elements equal to it.
"""

import math
from collections.abc import Callable, Set
from typing import Any, NoReturn

from agnograd.extend import (
    OpSet,
    behind,
    device_of,
    in_full,
    in_one_row,
    is_complex,
    is_python_scalar,
    of_numbers,
    switch,
    unequal_shapes,
)

__all__ = ["searching", "sets", "sorting"]

# From how many ones on halves add up to less.
HALF_ONES = switch("HALF_ONES", 2**11, least=0, most=2**11, module=__name__)

searching = OpSet("searching", samples="agnograd.rules.samples.searching")
sorting = OpSet("sorting", samples="agnograd.rules.samples.sorting")
sets = OpSet("set", samples="agnograd.rules.samples.set")

# -- searching -------------------------------------------------------------------------------------


def _extreme_batch(name: str) -> Callable[..., Any]:
    def compute(xp: Any, size: int, x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        find, rank = getattr(xp, name), len(x.shape) - 1
        if not rank:
            return of_numbers(xp, x, axis, lambda x, axis: find(x, axis=axis, keepdims=keepdims))
        if axis is not None:
            return find(x, axis=behind(axis, rank), keepdims=keepdims)
        found = find(in_one_row(xp, x), axis=1)
        return xp.reshape(found, (size, *(1,) * rank)) if keepdims else found

    return compute


def _nonzero_batch(x: Any) -> NoReturn:
    raise unequal_shapes("nonzero", "use xp.where(condition, x, 0.0), or xp.count_nonzero")


def _searchsorted_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    x1: Any,
    x2: Any,
    side: str = "left",
    sorter: Any = None,
) -> Any:
    """Bisect the sorted rows of all members at once."""
    if mapped == {"x2"}:
        row = xp.reshape(x2, (math.prod(x2.shape),))  # which all libraries take
        sorting = {} if sorter is None else {"sorter": sorter}  # which not all libraries know
        return xp.reshape(xp.searchsorted(x1, row, side=side, **sorting), x2.shape)
    x1 = x1 if "x1" in mapped else in_full(xp, size, x1)
    if sorter is not None:
        sorter = sorter if "sorter" in mapped else in_full(xp, size, sorter)
        x1 = xp.take_along_axis(x1, sorter, axis=1)
    if "x2" not in mapped:
        x2 = in_full(xp, size, xp.asarray(x2, device=device_of(x1)))
    values, count = in_one_row(xp, x2), x1.shape[1]
    place = xp.zeros(values.shape, dtype=xp.int64, device=device_of(x1))
    for power in reversed(range(count.bit_length())):
        end = place + 2**power
        there = xp.take_along_axis(x1, xp.clip(end, None, count) - 1, axis=1)
        before = xp.logical_and(_stands_before(there, values, side, xp), end <= count)
        place = xp.where(before, end, place)
    return xp.reshape(place, x2.shape)


def _stands_before(x1: Any, x2: Any, side: str, xp: Any) -> Any:
    """Return which x1 stand before a place for x2 in sorted arrays, of which NaN is the end."""
    if side == "right":
        return xp.logical_or(x1 <= x2, x2 != x2)
    return xp.logical_or(x1 < x2, xp.logical_and(x2 != x2, x1 == x1))


searching.linear(
    "where(condition, x1, x2, /)",
    x1=lambda g, condition, xp: xp.where(condition, g, xp.zeros_like(g)),
    x2=lambda g, condition, xp: xp.where(condition, xp.zeros_like(g), g),
    masks=True,
    batch="elementwise",
    pattern="moves",
    exact=True,
)
for _name in ("argmax", "argmin"):
    searching.constant(f"{_name}(x, /, *, axis=None, keepdims=False)", batch=_extreme_batch(_name))
searching.constant("count_nonzero(x, /, *, axis=None, keepdims=False)", batch="axis")
searching.constant("nonzero(x, /)", batch=_nonzero_batch, pattern="values")
searching.constant(
    'searchsorted(x1, x2, /, *, side="left", sorter=None)',
    constants=("sorter",),
    batch=_searchsorted_batch,
)


# -- sorting ---------------------------------------------------------------------------------------


def _sort_vjp(g: Any, x: Any, axis: int | None, descending: bool, stable: bool, xp: Any) -> Any:
    if not g.shape:
        return g
    shape = x.shape
    if axis is None:  # as NumPy has it: of all elements, along one axis
        x, axis = xp.reshape(x, (-1,)), -1
    order = xp.argsort(x, axis=axis, descending=descending, stable=stable)
    sorted_from = xp.take_along_axis(g, xp.argsort(order, axis=axis), axis=axis)
    return sorted_from if g.shape == shape else xp.reshape(sorted_from, shape)


def _sort_batch(name: str) -> Callable[..., Any]:
    def compute(
        xp: Any, x: Any, axis: int | None = -1, descending: bool = False, stable: bool = True
    ) -> Any:
        def along(x: Any, axis: Any) -> Any:
            return getattr(xp, name)(x, axis=axis, descending=descending, stable=stable)

        if len(x.shape) == 1:
            return of_numbers(xp, x, axis, along)
        if axis is None:
            x, axis = in_one_row(xp, x), 0
        return along(x, behind(axis, len(x.shape) - 1))

    return compute


def _sort_pattern(
    xp: Any, x: Any, axis: int | None = -1, descending: bool = False, stable: bool = True
) -> Any:
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    order = xp.argsort(x, axis=axis, descending=descending, stable=stable)
    return xp.take_along_axis(x, order, axis=axis)


sorting.vjp(
    "sort(x, /, *, axis=-1, descending=False, stable=True)",
    x=_sort_vjp,
    batch=_sort_batch("sort"),
    pattern=_sort_pattern,
)
sorting.constant(
    "argsort(x, /, *, axis=-1, descending=False, stable=True)", batch=_sort_batch("argsort")
)


# -- sets ------------------------------------------------------------------------------------------


def _positions(flat: Any, values: Any, xp: Any) -> Any:
    """Return where each element stands among the unique values, whose order is the library's."""
    if is_complex(values.dtype, xp):  # the standard sorts no complex numbers
        return xp.argmax(xp.astype(flat[:, None] == values, xp.uint8), axis=1)
    order = xp.argsort(values)
    place = xp.searchsorted(xp.take(values, order, axis=0), flat)
    return xp.take(order, place, axis=0)


def _unique_values_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    if g.shape[0] == 0:
        return xp.zeros_like(x)
    flat = xp.reshape(x, (-1,))
    places = _positions(flat, out, xp)
    dtype = g.dtype if flat.shape[0] < HALF_ONES else xp.result_type(g.dtype, xp.float32)
    counts = xp.scatter_add_axis(xp.ones_like(flat, dtype=dtype), places, axis=0, shape=g.shape)
    return xp.reshape(xp.take(g / counts, places, axis=0), x.shape)


def _unique_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    return _unique_values_vjp(g[0], x, out[0], xp)


def _isin_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any, invert: bool = False) -> Any:
    if "x2" not in mapped:
        return xp.isin(x1, x2, invert=invert)
    tests = in_one_row(xp, x2)
    if not is_python_scalar(x1):
        rank = len(x1.shape) - ("x1" in mapped)
        tests = xp.reshape(tests, (tests.shape[0], *(1,) * rank, tests.shape[1]))
        x1 = xp.expand_dims(x1, axis=-1)
    found = xp.any(tests == x1, axis=-1)
    return xp.logical_not(found) if invert else found


def _unique_batch(name: str) -> Callable[..., Any]:
    def refuse(x: Any) -> NoReturn:
        raise unequal_shapes(name, "sort the elements, and compare each with the one before it")

    return refuse


sets.constant("isin(x1, x2, /, *, invert=False)", batch=_isin_batch)
for _name in ("unique_all", "unique_counts", "unique_inverse"):
    sets.vjp(
        f"{_name}(x, /)",
        x=_unique_vjp,
        outputs="several",
        batch=_unique_batch(_name),
        pattern="values",
    )
sets.vjp(
    "unique_values(x, /)",
    x=_unique_values_vjp,
    batch=_unique_batch("unique_values"),
    pattern="values",
)
