"""Samples of the utility functions."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import LAYOUTS

samples = [
    Sample("diff", array(4)),
    Sample("diff", array(1)),
    Sample("diff", array(2, 3), axis=0),
    Sample("diff", array(2, 3), axis=-2),
    Sample("diff", array(4), n=0),
    Sample("diff", array(2, 4), 2, axis=0, backends=("numpy",)),
    Sample("diff", array(2, 4), n=2),
    Sample("diff", array(4), n=3),
    Sample("diff", array(3), n=4),
    Sample("diff", array(2, 0)),
    Sample("diff", array(0, 3)),
    Sample("diff", array(2, 2), prepend=array(2, 1), append=array(2, 2)),
    Sample("diff", array(2, 2), axis=0, n=2, prepend=array(1, 2), append=array(2, 2)),
    Sample("diff", array(2, 2), axis=0, n=0, prepend=array(1, 2), append=array(2, 2)),
    Sample("diff", array(2, 3, 2), axis=-2, prepend=array(2, 1, 2)),
    Sample("diff", array(3), append=array(1)),
    Sample("diff", array(0), prepend=array(1), append=array(1)),
    Sample("diff", array(3, dtype="complex128"), prepend=array(1, dtype="complex128")),
    Sample("diff", array(2, 3, dtype="complex128")),
    Sample("diff", array(3, dtype="float32"), order=1),
    *(
        Sample("diff", array(3, 2, layout=layout), axis=0, prepend=array(1, 2, layout=layout))
        for layout in LAYOUTS
    ),
]
