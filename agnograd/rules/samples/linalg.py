"""Samples of the linear algebra extension, on matrices that are far from singular."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import z

REGULAR = array(values=[[2.0, 0.5], [-0.3, 1.5]])
BATCH = array(values=[[[2.0, 0.5], [-0.3, 1.5]], [[1.0, 0.2], [0.4, -1.2]]])
COMPLEX = array(values=[[2.0 + 0.5j, 0.5], [-0.3j, 1.5 - 0.2j]], dtype="complex128")
IDENTITY = array(values=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SINGULAR = (
    [[1.0, 2.0], [2.0, 4.0]],
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
    [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [-1.0, -2.0, -3.0]],
    [[0.0, 0.0], [0.0, 0.0]],
    [[0.0]],
)


samples = [
    Sample("linalg.cross", array(3), array(3)),
    Sample("linalg.cross", array(2, 3), array(3)),
    Sample("linalg.cross", array(3, 2), array(3, 1), axis=-2),
    Sample("linalg.cross", array(2, 3, layout="strided"), array(2, 3)),
    Sample("linalg.cross", z(3), z(3)),
    Sample("linalg.diagonal", array(2, 3)),
    Sample("linalg.diagonal", array(2, 3, 2), offset=-1),
    Sample("linalg.diagonal", array(3, 2, layout="transposed"), offset=1),
    Sample("linalg.diagonal", array(2, 2), offset=2),
    Sample("linalg.diagonal", z(2, 2)),
    Sample("linalg.inv", REGULAR),
    Sample("linalg.inv", BATCH),
    Sample("linalg.inv", COMPLEX),
    Sample("linalg.inv", array(0, 0)),
    Sample("linalg.outer", array(2), array(3)),
    Sample("linalg.outer", array(3, layout="reversed"), array(0)),
    Sample("linalg.outer", z(2), z(2)),
    Sample("linalg.solve", REGULAR, array(2)),
    Sample("linalg.solve", REGULAR, array(2, 3)),
    Sample("linalg.solve", BATCH, array(2, 1)),
    Sample("linalg.solve", REGULAR, array(2, 2, 1)),
    Sample("linalg.solve", BATCH, array(2)),
    Sample("linalg.solve", COMPLEX, z(2, 1)),
    Sample("linalg.solve", COMPLEX, z(2)),
    Sample("linalg.solve_adjoint", REGULAR, array(2, 3)),
    Sample("linalg.solve_adjoint", BATCH, array(2, 2, layout="transposed")),
    Sample("linalg.solve_adjoint", REGULAR, array(3, 2, 1)),
    Sample("linalg.solve_adjoint", COMPLEX, z(2, 3)),
    Sample("linalg.solve_adjoint", array(0, 0), array(0, 2)),
    Sample("linalg.solve_triangle", REGULAR, array(2, 1)),
    Sample("linalg.solve_triangle", REGULAR, array(2, 3), lower=False),
    Sample("linalg.solve_triangle", BATCH, array(2, 2, layout="transposed")),
    Sample("linalg.solve_triangle", REGULAR, array(3, 2, 1), lower=False),
    Sample("linalg.solve_triangle", COMPLEX, z(2, 3)),
    Sample("linalg.solve_triangle", array(0, 0), array(0, 2)),
    Sample("linalg.trace", array(2, 3)),
    Sample("linalg.trace", array(2, 2, 2), offset=1),
    Sample("linalg.trace", array(3, 2, layout="strided"), offset=-1),
    Sample("linalg.trace", z(2, 2)),
    *(Sample("linalg.matrix_power", REGULAR, n) for n in (0, 1, 2, 3, -1, -2)),
    Sample("linalg.matrix_power", BATCH, 2),
    Sample("linalg.matrix_power", COMPLEX, 3),
    Sample("linalg.matrix_power", COMPLEX, -1),
    *(
        Sample(name, x)
        for name in ("linalg.det", "linalg.adjugate", "linalg.slogdet")
        for x in (
            *(REGULAR, BATCH, COMPLEX, array(3, 3), array(1, 1), array(0, 0), array(2, 0, 0)),
            *(array(2, 1, 3, 3, layout="strided"), z(3, 3), array(0, 2, 2)),
            *(array(4, 4, layout="transposed"), array(3, 3, layout="reversed")),
        )
    ),
    Sample("linalg.adjugate", IDENTITY, order=1),
    Sample("linalg.det", IDENTITY),
    Sample("linalg.slogdet", IDENTITY),
    *(
        Sample(name, array(values=values), order=order)
        for name, order in (("linalg.det", 2), ("linalg.adjugate", 1))
        for values in SINGULAR
    ),
    Sample("linalg.det", array(values=[[1.0, 1j], [1j, -1.0]], dtype="complex128")),
    Sample("linalg.slogdet", array(3, 3, dtype="float32"), order=1),
    *(
        Sample("linalg.pinv", x)
        for x in (
            *(REGULAR, BATCH, COMPLEX, array(3, 2), array(2, 3), z(3, 2), z(2, 3)),
            *(array(2, 4, 2, layout="strided"), array(1, 3), array(2, 3, layout="transposed")),
        )
    ),
    Sample("linalg.pinv", array(3, 3, layout="reversed"), rtol=1e-10),
    Sample("linalg.pinv", BATCH, rtol=array(values=[1e-10, 1e-12])),
]
