"""Set functions."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet("set")

ops.constant("isin(x1, x2, /, *, invert=False)")
ops.missing(
    "unique_all(x, /)",
    "unique_counts(x, /)",
    "unique_inverse(x, /)",
    outputs="several",
)
ops.missing(
    "unique_values(x, /)",
)
