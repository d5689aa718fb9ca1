"""Searching, sorting and set functions.

Indices have no gradient. ``where`` passes each element's gradient to its source, a sort is a
permutation, which the gradient undoes, and each unique value shares its gradient equally among the
elements equal to it.
"""

from typing import Any

from agnograd.extend import OpSet, is_complex

__all__ = ["searching", "sets", "sorting"]

_MANY = 2**11  # from how many ones on halves add up to less

searching = OpSet("searching", samples="agnograd.rules.samples.searching")
sorting = OpSet("sorting", samples="agnograd.rules.samples.sorting")
sets = OpSet("set", samples="agnograd.rules.samples.set")

# Searching
searching.linear(
    "where(condition, x1, x2, /)",
    x1=lambda g, condition, xp: xp.where(condition, g, xp.zeros_like(g)),
    x2=lambda g, condition, xp: xp.where(condition, xp.zeros_like(g), g),
    masks=True,
)
searching.constant(
    "argmax(x, /, *, axis=None, keepdims=False)",
    "argmin(x, /, *, axis=None, keepdims=False)",
    "count_nonzero(x, /, *, axis=None, keepdims=False)",
    "nonzero(x, /)",
)
searching.constant(
    'searchsorted(x1, x2, /, *, side="left", sorter=None)',
    constants=("sorter",),
)


# Sorting


def _sort_vjp(g: Any, x: Any, axis: int | None, descending: bool, stable: bool, xp: Any) -> Any:
    if not g.shape:
        return g
    shape = x.shape
    if axis is None:  # as NumPy has it: of all elements, along one axis
        x, axis = xp.reshape(x, (-1,)), -1
    order = xp.argsort(x, axis=axis, descending=descending, stable=stable)
    sorted_from = xp.take_along_axis(g, xp.argsort(order, axis=axis), axis=axis)
    return sorted_from if g.shape == shape else xp.reshape(sorted_from, shape)


sorting.vjp("sort(x, /, *, axis=-1, descending=False, stable=True)", x=_sort_vjp)
sorting.constant("argsort(x, /, *, axis=-1, descending=False, stable=True)")


# Sets


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
    dtype = g.dtype if flat.shape[0] < _MANY else xp.result_type(g.dtype, xp.float32)
    counts = xp.scatter_add_axis(xp.ones_like(flat, dtype=dtype), places, axis=0, shape=g.shape)
    return xp.reshape(xp.take(g / counts, places, axis=0), x.shape)


def _unique_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    return _unique_values_vjp(g[0], x, out[0], xp)


sets.constant("isin(x1, x2, /, *, invert=False)")
sets.vjp("unique_all(x, /)", x=_unique_vjp, outputs="several")
sets.vjp("unique_counts(x, /)", x=_unique_vjp, outputs="several")
sets.vjp("unique_inverse(x, /)", x=_unique_vjp, outputs="several")
sets.vjp("unique_values(x, /)", x=_unique_values_vjp)
