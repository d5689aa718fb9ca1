"""Set functions: each unique value shares its gradient equally among the elements equal to it."""

from typing import Any

from agnograd.extend import OpSet, is_complex

__all__ = ["ops"]

ops = OpSet("set", samples="agnograd.rules.samples.set")


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
    counts = xp.scatter_add_axis(xp.ones_like(flat), places, axis=0, shape=g.shape)
    return xp.reshape(xp.take(g / counts, places, axis=0), x.shape)


def _unique_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    return _unique_values_vjp(g[0], x, out[0], xp)


ops.constant("isin(x1, x2, /, *, invert=False)")
ops.vjp("unique_all(x, /)", x=_unique_vjp, outputs="several")
ops.vjp("unique_counts(x, /)", x=_unique_vjp, outputs="several")
ops.vjp("unique_inverse(x, /)", x=_unique_vjp, outputs="several")
ops.vjp("unique_values(x, /)", x=_unique_values_vjp)
