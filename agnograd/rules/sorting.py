"""Sorting functions: a sort is a permutation, which the gradient undoes."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet("sorting", samples="agnograd.rules.samples.sorting")

ops.vjp(
    "sort(x, /, *, axis=-1, descending=False, stable=True)",
    x=lambda g, x, axis, descending, stable, xp: xp.take_along_axis(
        g,
        xp.argsort(xp.argsort(x, axis=axis, descending=descending, stable=stable), axis=axis),
        axis=axis,
    ),
)
ops.constant("argsort(x, /, *, axis=-1, descending=False, stable=True)")
