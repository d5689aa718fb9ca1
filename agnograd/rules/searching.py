"""Searching functions: indices have no gradient; ``where`` passes each element's to its source."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet("searching", samples="agnograd.rules.samples.searching")

ops.linear(
    "where(condition, x1, x2, /)",
    x1=lambda g, condition, xp: xp.where(condition, g, xp.zeros_like(g)),
    x2=lambda g, condition, xp: xp.where(condition, xp.zeros_like(g), g),
    masks=True,
)
ops.constant(
    "argmax(x, /, *, axis=None, keepdims=False)",
    "argmin(x, /, *, axis=None, keepdims=False)",
    "count_nonzero(x, /, *, axis=None, keepdims=False)",
    "nonzero(x, /)",
)
ops.constant(
    'searchsorted(x1, x2, /, *, side="left", sorter=None)',
    constants=("sorter",),
)
