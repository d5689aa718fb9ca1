"""Samples of set functions: all elements differ, as derivatives need it."""

from agnograd.extend import Sample, array

samples = [
    Sample(name, x)
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values")
    for x in (
        *(array(4), array(2, 3), array(), array(0), array(0, 2)),
        *(array(2, 2, layout="strided"), array(3, layout="reversed")),
        *(array(3, 2, layout="transposed"), array(3, dtype="complex128")),
    )
]
samples += [Sample("unique_values", array(3, dtype="float32"), order=1)]
