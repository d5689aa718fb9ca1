"""Samples of the statistical functions."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import LAYOUTS

CUBE = array(2, 2, 3, low=0.4, high=2.0)
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "std", "var")
CUMULATIVE = ("cumulative_sum", "cumulative_prod")
AXES = [
    (None, False),
    (None, True),
    (0, True),
    (-1, False),
    ((0, 2), False),
    ((-1, 0), True),
    ((1,), True),
]

samples = [
    Sample(name, CUBE, axis=axis, keepdims=keepdims)
    for name in REDUCTIONS
    for axis, keepdims in AXES
]
samples += [
    Sample(name, array(2, 3, low=0.4, high=2.0, layout=layout), axis=axis)
    for name in REDUCTIONS
    for layout in LAYOUTS
    for axis in (1, None)
]
samples += [
    sample
    for name in REDUCTIONS
    for sample in (
        Sample(name, array(2, 0), axis=0),
        Sample(name, array(3, dtype="float32", low=0.4), order=1),
    )
]
# No axis at all: every element is reduced by itself, and its deviation is not defined.
samples += [Sample(name, array(2, 3), axis=()) for name in REDUCTIONS if name != "std"]
samples += [Sample(name, array(low=0.4)) for name in REDUCTIONS if name != "std"]
samples += [Sample("std", array(), order=0), Sample("std", array(2), axis=(), order=0)]
samples += [
    sample
    for name in ("sum", "prod", *CUMULATIVE)
    for sample in (
        Sample(name, array(0)),
        Sample(name, array(2, 0), axis=1),
        Sample(name, array(0, 2), axis=-1),
        Sample(name, array(2, dtype="float32"), dtype="dtype:float64", order=1),
        Sample(name, array(2), dtype="dtype:float32", order=1),
        Sample(name, array(3), dtype="dtype:complex128"),
        Sample(name, array(3), dtype="dtype:float64"),
        Sample(name, array(2, low=1.0, high=4.0, dtype="int64"), dtype="dtype:float64", order=0),
        Sample(name, array(3, dtype="complex128")),
        Sample(name, array(2, 2, dtype="complex128", layout="transposed"), axis=0),
    )
]
samples += [
    Sample("sum", array(0, 2)),
    Sample("sum", array(0, 2), axis=0, keepdims=True),
    Sample("mean", array(2, dtype="complex128")),
    Sample("mean", array(2, 2, dtype="complex128"), axis=0),
    Sample("mean", array(0, 2), axis=1),
    Sample("max", array(0, 3), axis=1),
    Sample("min", array(0, 3), axis=1),
    Sample("max", array(values=[[3.0, 1.0], [2.0, 4.0]])),
    Sample("min", array(values=[[3.0, 1.0], [2.0, 4.0]]), axis=0),
    Sample("partial_products", array(2, 3, low=-2.0, high=2.0)),
    Sample("partial_products", array(3, dtype="complex128")),
    Sample("partial_products", array(values=[0.0, 2.0, 0.0])),
    Sample("partial_products", array(2, 0)),
    *(Sample(name, array(65, low=0.9, high=1.1)) for name in ("prod", "cumulative_prod")),
    Sample("prod", array(0, 2)),
    Sample("prod", array(2, 0), axis=1, keepdims=True),
    Sample("prod", array(values=[0.0, 2.0, 3.0])),
    Sample("prod", array(values=[0.0, 0.0, 3.0, 1.0])),
    Sample("prod", array(values=[[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), axis=1),
    Sample("prod", array(values=[[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), axis=(0, 1), keepdims=True),
    Sample("prod", array(values=[0j, 1 + 2j, 2 - 1j], dtype="complex128")),
    Sample("prod", array(2, 2, 1, dtype="complex128"), axis=(0, 2), keepdims=True),
]
samples += [
    sample
    for name in ("std", "var")
    for sample in (
        Sample(name, array(4), correction=1.0),
        Sample(name, array(4), correction=1),
        Sample(name, array(4), correction=-0.5),
        Sample(name, array(2, 3), axis=1, correction=0.5, keepdims=True),
        Sample(name, array(2, 3), axis=(0, -1), correction=2),
        Sample(name, array(2, dtype="complex128"), backends=("numpy",)),
    )
]
samples += [
    sample
    for name in CUMULATIVE
    for sample in (
        Sample(name, array(3)),
        Sample(name, array(1)),
        Sample(name, array(2, 3), axis=1),
        Sample(name, array(3, 2), axis=-2, include_initial=True),
        Sample(name, array(2, 3, 2, low=0.3), axis=1),
        Sample(name, array(4), include_initial=True),
        Sample(name, array(0), include_initial=True),
        Sample(name, array(2, 0), axis=1, include_initial=True),
        Sample(name, array(2, 0), axis=0, include_initial=True),
        Sample(name, array(), backends=("numpy",)),
        Sample(name, array(3, dtype="complex128"), include_initial=True),
        Sample(name, array(values=[1.0, 0.0, 2.0, 0.0, 3.0])),
        Sample(name, array(values=[[0.0, 2.0], [1.0, 0.0]]), axis=0, include_initial=True),
        Sample(name, array(values=[0j, 1 + 2j, 0j, 2 - 1j], dtype="complex128")),
        *(Sample(name, array(2, 3, layout=layout), axis=0) for layout in LAYOUTS),
    )
]
