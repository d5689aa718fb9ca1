"""Samples of the data type functions."""

from agnograd.extend import Sample, array

samples = [
    Sample("astype", array(2), "dtype:float64"),
    Sample("astype", array(2), "dtype:float64", copy=False),
    Sample("astype", array(2), "dtype:complex128"),
    Sample("astype", array(2, dtype="float32"), "dtype:float64", order=1),
    Sample("astype", array(), "dtype:float32", order=0),
]
