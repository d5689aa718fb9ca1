"""Samples of the sorting functions."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import LAYOUTS

samples = [
    Sample("sort", array(values=[3.0, 1.0, 2.0])),
    Sample("sort", array(2, 3), descending=True),
    Sample("sort", array(3, 2), axis=0, descending=True),
    Sample("sort", array(3, 2), axis=-2),
    Sample("sort", array(2, 3, 2), axis=1),
    Sample("sort", array(2, 3), stable=False),
    Sample("sort", array(2, 3), descending=True, stable=False),
    Sample("sort", array(1)),
    Sample("sort", array(0, 2)),
    Sample("sort", array(2, 0)),
    Sample("sort", array(3, dtype="float32"), order=1),
    *(Sample("sort", array(3, 2, layout=layout), axis=0) for layout in LAYOUTS),
]
