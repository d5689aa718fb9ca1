"""Functions beside the standard's that other libraries ask a namespace for, by NumPy's names.

xarray is one of them: ``DataArray.differentiate`` calls ``gradient`` of its array's namespace, and
``rolling`` calls ``pad`` and ``lib.stride_tricks.sliding_window_view``.
"""

from agnograd.extend import OpSet, numpy_function

__all__ = ["ops"]

ops = OpSet("numpy_names", samples="agnograd.rules.samples.numpy_names")

for _signature in (
    "cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None)",
    "cumprod(a, axis=None, dtype=None)",
    "cumsum(a, axis=None, dtype=None)",
    "gradient(f, *varargs, axis=None, edge_order=1)",
    "lib.stride_tricks.sliding_window_view(x, window_shape, axis=None)",
    "median(a, axis=None, *, keepdims=False)",
    "pad(array, pad_width, mode='constant', *, constant_values=0)",
    "quantile(a, q, axis=None, *, method='linear', keepdims=False)",
):
    ops.composed(_signature, numpy_function(_signature.partition("(")[0]))
