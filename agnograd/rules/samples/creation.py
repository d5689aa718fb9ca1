"""Samples of the creation functions."""

from agnograd.extend import Sample, array

samples = [
    Sample("arange", array(values=1.0), array(values=3.2), array(values=0.5), backends=("numpy",)),
    Sample("full", (2, 3), array(), backends=("numpy",)),
    Sample("full_like", array(2, dtype="int64"), 3, order=0),
    Sample("full_like", array(2, 3), array(), backends=("numpy",)),
    Sample("linspace", array(), array(), 4, backends=("numpy",)),
    Sample("linspace", array(), array(), 3, endpoint=False, backends=("numpy",)),
    Sample("meshgrid", array(2), array(3)),
    Sample("meshgrid", array(2), array(3), array(1), indexing="ij"),
    Sample("meshgrid", array(3)),
    Sample("tril", array(2, 3)),
    Sample("tril", array(2, 3, 3), k=1),
    Sample("triu", array(3, 3, layout="transposed"), k=-1),
    Sample("triu", array(2, 2, dtype="complex128")),
]
