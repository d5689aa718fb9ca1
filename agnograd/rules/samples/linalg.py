"""Samples of the linear algebra extension, on matrices that are far from singular."""

from agnograd.extend import Sample, array

REGULAR = array(values=[[2.0, 0.5], [-0.3, 1.5]])
BATCH = array(values=[[[2.0, 0.5], [-0.3, 1.5]], [[1.0, 0.2], [0.4, -1.2]]])
COMPLEX = array(values=[[2.0 + 0.5j, 0.5], [-0.3j, 1.5 - 0.2j]], dtype="complex128")


def _z(*shape: int) -> object:
    return array(*shape, dtype="complex128")


samples = [
    Sample("linalg.cross", array(3), array(3)),
    Sample("linalg.cross", array(2, 3), array(3)),
    Sample("linalg.cross", array(3, 2), array(3, 1), axis=-2),
    Sample("linalg.cross", array(2, 3, layout="strided"), array(2, 3)),
    Sample("linalg.cross", _z(3), _z(3)),
    Sample("linalg.diagonal", array(2, 3)),
    Sample("linalg.diagonal", array(2, 3, 2), offset=-1),
    Sample("linalg.diagonal", array(3, 2, layout="transposed"), offset=1),
    Sample("linalg.diagonal", array(2, 2), offset=2),
    Sample("linalg.diagonal", _z(2, 2)),
    Sample("linalg.inv", REGULAR),
    Sample("linalg.inv", BATCH),
    Sample("linalg.inv", COMPLEX),
    Sample("linalg.inv", array(0, 0)),
    Sample("linalg.outer", array(2), array(3)),
    Sample("linalg.outer", array(3, layout="reversed"), array(0)),
    Sample("linalg.outer", _z(2), _z(2)),
    Sample("linalg.solve", REGULAR, array(2)),
    Sample("linalg.solve", REGULAR, array(2, 3)),
    Sample("linalg.solve", BATCH, array(2, 1)),
    Sample("linalg.solve", REGULAR, array(2, 2, 1)),
    Sample("linalg.solve", BATCH, array(2)),
    Sample("linalg.solve", COMPLEX, _z(2, 1)),
    Sample("linalg.solve", COMPLEX, _z(2)),
    Sample("linalg.trace", array(2, 3)),
    Sample("linalg.trace", array(2, 2, 2), offset=1),
    Sample("linalg.trace", array(3, 2, layout="strided"), offset=-1),
    Sample("linalg.trace", _z(2, 2)),
    *(Sample("linalg.matrix_power", REGULAR, n) for n in (0, 1, 2, 3, -1, -2)),
    *(
        Sample("linalg.vector_norm", array(2, 3, low=0.3, layout="strided"), axis=axis, ord=ord)
        for axis, ord in ((None, 2), (0, 2), (-1, 1), ((0, 1), 3), (1, 2.5), (0, -1), (None, 0))
    ),
    *(
        Sample("linalg.vector_norm", array(values=[3.0, -1.0, 2.0]), ord=ord, keepdims=True)
        for ord in (float("inf"), -float("inf"), 1, 2, 4)
    ),
    *(Sample("linalg.vector_norm", _z(3), ord=ord) for ord in (1, 2, 3)),
    Sample("linalg.vector_norm", array()),
    Sample("linalg.vector_norm", array(0)),
    Sample("linalg.matrix_power", BATCH, 2),
    Sample("linalg.matrix_power", COMPLEX, 3),
    Sample("linalg.matrix_power", COMPLEX, -1),
]
