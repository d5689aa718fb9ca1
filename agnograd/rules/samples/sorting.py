"""Samples of the sorting functions."""

from agnograd.extend import Sample, array

samples = [
    Sample("sort", array(values=[3.0, 1.0, 2.0])),
    Sample("sort", array(2, 3), descending=True),
    Sample("sort", array(3, 2, layout="strided"), axis=0),
    Sample("sort", array(0, 2)),
]
