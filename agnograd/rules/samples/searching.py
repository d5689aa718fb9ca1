"""Samples of the searching functions."""

from typing import Any

from agnograd.extend import Sample, array


def _choice(*shape: int) -> Any:
    return array(*shape, dtype="bool")


samples = [
    Sample("where", _choice(2, 3), array(2, 3), array(2, 3)),
    Sample("where", _choice(3), array(2, 1), array(2, 3)),
    Sample("where", _choice(2, 1), array(), array(3)),
    Sample("where", _choice(2, 1), array(3), array()),
    Sample("where", _choice(2, 2, 1), array(2), array(2, 1)),
    Sample("where", _choice(), array(2), array(2)),
    Sample("where", _choice(), array(), array()),
    Sample("where", array(values=True, dtype="bool"), array(), array()),
    Sample("where", _choice(3), array(3), 1.0),
    Sample("where", _choice(3), array(3), 1),
    Sample("where", _choice(3), 1.0, array(3, layout="reversed")),
    Sample("where", _choice(2, 2), array(2, 2, layout="transposed"), array(2, layout="strided")),
    Sample("where", _choice(0), array(0), array(1)),
    Sample("where", _choice(1), array(1), array(2, 0)),
    Sample("where", _choice(2), array(2, dtype="complex128"), array(2)),
    Sample("where", _choice(2), array(2), array(2, dtype="complex128")),
    Sample("where", _choice(2), array(2, dtype="complex128"), 1j),
    Sample("where", _choice(2), array(2, dtype="float32"), array(2), order=1),
]
