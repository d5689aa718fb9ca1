"""Samples of the data type functions."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import LAYOUTS

samples = [
    Sample("astype", array(2), "dtype:float64"),
    Sample("astype", array(2), "dtype:float64", copy=False),
    Sample("astype", array(2), "dtype:complex128"),
    Sample("astype", array(), "dtype:complex128"),
    Sample("astype", array(0, 2), "dtype:complex128"),
    Sample("astype", array(2, dtype="complex128"), "dtype:complex128"),
    Sample("astype", array(2, dtype="float32"), "dtype:float64", order=1),
    Sample("astype", array(2, dtype="float32"), "dtype:complex128", order=1),
    Sample("astype", array(2, dtype="complex64"), "dtype:complex128", order=1),
    Sample("astype", array(2), "dtype:float32", order=1),
    Sample("astype", array(dtype="complex128"), "dtype:complex64", order=1),
    Sample("astype", array(2, low=1.0, high=5.0), "dtype:int64", order=0),
    Sample("astype", array(2), "dtype:bool", order=0),
    Sample("astype", array(2, low=0, high=5, dtype="int64"), "dtype:float64", order=0),
    *(Sample("astype", array(2, 3, layout=layout), "dtype:complex128") for layout in LAYOUTS),
]
