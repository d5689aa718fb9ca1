"""What the ops are checked on."""

from agnograd.extend import Sample, array

__all__ = ["samples"]

samples = [
    Sample("erf", array(2, 3, low=-2.0, high=2.0)),
    Sample("erf", array(2, 3, layout="strided")),
    Sample("erf", array()),
    Sample("erf", array(0, 2)),
    Sample("logsumexp", array(2, 3)),
    Sample("logsumexp", array(2, 3), axis=1),
    Sample("logsumexp", array(2, 3, layout="reversed"), axis=-2, keepdims=True),
    Sample("logsumexp", array(2, 3, 2, layout="strided"), axis=(0, 2)),
    Sample("logsumexp", array(2, 3, low=700.0, high=701.0), axis=0),
]
