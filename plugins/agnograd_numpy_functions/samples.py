"""Samples of the functions that other libraries ask a namespace for, by NumPy's names."""

from agnograd.extend import Sample, array

X, T = array(2, 4), array(2, 3, 4)
WINDOWS = "lib.stride_tricks.sliding_window_view"

samples = [
    Sample("cross", array(2, 3), array(3)),
    Sample("cross", array(3, 2), array(3, 2), axis=0),
    *(Sample(name, X) for name in ("cumprod", "cumsum", "median")),
    *(Sample(name, T, axis=1) for name in ("cumprod", "cumsum", "median")),
    Sample("cumsum", array(3, dtype="complex128")),
    Sample("median", T, axis=(0, 2), keepdims=True),
    Sample("gradient", array(5)),
    Sample("gradient", X, axis=1),
    Sample("gradient", array(5), array(values=[0.0, 0.5, 0.8, 1.6, 2.0]), edge_order=2),
    Sample("gradient", X, 0.5, 2.0),
    Sample("gradient", array(4, dtype="complex128")),
    Sample(WINDOWS, array(5), 2),
    Sample(WINDOWS, T, (2, 2), axis=(1, 2)),
    Sample("pad", array(3), 2),
    Sample("pad", X, ((1, 0), (0, 2)), constant_values=0.5),
    *(Sample("pad", array(4), (1, 2), mode=mode) for mode in ("edge", "reflect", "wrap")),
    Sample("quantile", array(5), 0.3),
    Sample("quantile", T, 0.7, axis=(0, 2), keepdims=True),
    Sample("quantile", X, 0.4, axis=1, method="nearest"),
]
