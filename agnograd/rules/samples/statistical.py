"""Samples of the statistical functions."""

from agnograd.extend import Sample, array

CUBE = array(2, 2, 3, low=0.4, high=2.0)

samples = [
    Sample(name, CUBE, axis=axis, keepdims=keepdims)
    for name in ("sum", "mean", "prod", "max", "min", "std", "var")
    for axis, keepdims in ((None, False), (0, True), (-1, False), ((0, 2), False), ((1,), True))
]
samples += [
    Sample(name, array(2, 3, low=0.4, layout=layout), axis=1)
    for name in ("sum", "mean", "prod", "max", "std")
    for layout in ("strided", "reversed", "transposed")
]
samples += [Sample(name, array(low=0.4)) for name in ("sum", "mean", "prod", "max", "min", "var")]
samples += [
    Sample("sum", array(0, 2)),
    Sample("sum", array(0, 2), axis=0),
    Sample("sum", array(2, dtype="float32"), dtype="dtype:float64", order=1),
    Sample("sum", array(2, dtype="complex128")),
    Sample("mean", array(2, dtype="complex128")),
    Sample("mean", array(0, 2), axis=1),
    Sample("prod", array(0, 2)),
    Sample("prod", array(values=[0.0, 2.0, 3.0])),
    Sample("prod", array(values=[[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), axis=1),
    Sample("prod", array(values=[0.0, 0.0, 3.0, 1.0])),
    Sample("prod", array(3, dtype="complex128")),
    Sample("var", array(4), correction=1.0),
    Sample("var", array(2, 3), axis=1, correction=0.5, keepdims=True),
    Sample("std", array(4), correction=1.0),
    Sample("max", array(values=[[3.0, 1.0], [2.0, 4.0]])),
    Sample("min", array(values=[[3.0, 1.0], [2.0, 4.0]]), axis=0),
]
samples += [
    sample
    for name in ("cumulative_sum", "cumulative_prod")
    for sample in (
        Sample(name, array(3)),
        Sample(name, array(2, 3), axis=1),
        Sample(name, array(3, 2), axis=-2, include_initial=True),
        Sample(name, array(4), include_initial=True),
        Sample(name, array(2, 3, layout="strided"), axis=0),
        Sample(name, array(0)),
        Sample(name, array(2, dtype="complex128")),
        Sample(name, array(values=[1.0, 0.0, 2.0, 0.0, 3.0])),
    )
]
