"""Data type functions: a cast is linear, all others are about dtypes alone."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet("data_type", samples="agnograd.rules.samples.data_type")

ops.linear("astype(x, dtype, /, *, copy=True, device=None)", x=lambda g: g, options=("dtype",))
ops.constant("can_cast(from_, to, /)", options=("to",))
ops.constant(
    "finfo(type, /)",
    "iinfo(type, /)",
    "isdtype(dtype, kind)",
    "result_type(*arrays_and_dtypes)",
)
