"""Samples of the searching functions."""

from agnograd.extend import Sample, array

samples = [
    Sample("where", array(2, 3, dtype="bool"), array(2, 3), array(2, 3)),
    Sample("where", array(3, dtype="bool"), array(2, 1), array(2, 3)),
    Sample("where", array(2, 1, dtype="bool"), array(), array(3)),
    Sample("where", array(3, dtype="bool"), array(3), 1.0),
    Sample("where", array(3, dtype="bool"), 1.0, array(3, layout="reversed")),
    Sample("where", array(0, dtype="bool"), array(0), array(1)),
    Sample("where", array(2, dtype="bool"), array(2, dtype="complex128"), array(2)),
]
