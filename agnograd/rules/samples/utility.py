"""Samples of the utility functions."""

from agnograd.extend import Sample, array

samples = [
    Sample("diff", array(4)),
    Sample("diff", array(2, 3), axis=0),
    Sample("diff", array(2, 4), n=2),
    Sample("diff", array(2, 2), prepend=array(2, 1), append=array(2, 2)),
    Sample("diff", array(2, 2), axis=0, n=2, prepend=array(1, 2), append=array(2, 2)),
    Sample("diff", array(3), append=array(1)),
    Sample("diff", array(4, layout="reversed")),
]
