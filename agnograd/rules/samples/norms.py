"""Samples of norms, where they are smooth: no ties, no zeros."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import z

INFINITY = float("inf")


MATRICES = (
    *(array(2, 3, low=0.2), array(3, 2), array(3, 3), array(1, 1, low=0.5), array(2, 1)),
    *(array(2, 2, 3, layout="strided"), array(3, 2, layout="transposed")),
    *(array(3, 3, layout="reversed"), z(2, 3), z(3, 2), z(2, 2, 2)),
)

samples = [
    *(
        Sample("linalg.vector_norm", array(2, 3, low=0.3, layout="strided"), axis=axis, ord=ord)
        for axis, ord in (
            *((None, 2), (0, 2), (-1, 1), ((0, 1), 3), (1, 2.5), (0, -1), (None, 0)),
            *((0, 0.5), ((1, 0), 2), (-2, -2.5)),
        )
    ),
    *(
        Sample("linalg.vector_norm", array(values=[3.0, -1.0, 2.0]), ord=ord, keepdims=True)
        for ord in (INFINITY, -INFINITY, 1, 2, 4, 0.5, -2)
    ),
    *(Sample("linalg.vector_norm", z(3), ord=ord) for ord in (1, 2, 3, INFINITY)),
    Sample("linalg.vector_norm", array(values=[3.0, 0.0, 2.0]), ord=3, order=1),
    Sample("linalg.vector_norm", array(values=[3.0, 0.0, 2.0])),
    Sample("linalg.vector_norm", array()),
    Sample("linalg.vector_norm", array(0)),
    Sample("linalg.vector_norm", array(2, 0), axis=-1),
    Sample("linalg.vector_norm", array(3, dtype="float32"), order=1),
    *(
        Sample("linalg.matrix_norm", x, ord=ord)
        for x in MATRICES
        for ord in ("fro", "nuc", 1, -1, 2, -2, INFINITY, -INFINITY)
    ),
    *(
        Sample("linalg.matrix_norm", array(2, 2, 3), ord=ord, keepdims=True)
        for ord in ("fro", "nuc", 1, 2, -INFINITY)
    ),
    Sample("linalg.matrix_norm", array(0, 0)),
    Sample("linalg.matrix_norm", array(0, 2, 3), ord="nuc"),
    # Smooth, although the singular values that are not the extreme one repeat, or all of them do.
    *(
        Sample("linalg.matrix_norm", array(values=[[3.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]), ord=ord)
        for ord in ("fro", "nuc", 2)
    ),
    Sample("linalg.matrix_norm", array(values=[[1.0, 0.0], [0.0, 1.0]]), ord="nuc"),
]
