"""Samples of products of vectors, matrices and tensors."""

from agnograd.extend import Sample, array


def _complex(*shape: int) -> object:
    return array(*shape, dtype="complex128")


samples = [
    sample
    for place in ("", "linalg.")
    for sample in (
        Sample(f"{place}matmul", array(2, 3), array(3, 2)),
        Sample(f"{place}matmul", array(3), array(3)),
        Sample(f"{place}matmul", array(3), array(3, 2)),
        Sample(f"{place}matmul", array(2, 3), array(3)),
        Sample(f"{place}matmul", array(2, 1, 1, 2), array(3, 2, 1)),
        Sample(f"{place}matmul", array(2, 2, 3), array(3)),
        Sample(f"{place}matmul", array(2), array(2, 2, 1)),
        Sample(f"{place}matmul", array(1, 2, 2), array(2, 2, 2)),
        Sample(f"{place}matmul", array(2, 0), array(0, 2)),
        Sample(f"{place}matmul", array(2, 3, layout="strided"), array(3, 2, layout="transposed")),
        Sample(f"{place}matmul", _complex(2, 2), _complex(2, 1)),
        Sample(f"{place}matmul", array(2, 2), _complex(2, 1)),
        Sample(f"{place}matmul", array(2, 2, dtype="float32"), array(2, 2), order=1),
        Sample(f"{place}matrix_transpose", array(2, 3)),
        Sample(f"{place}matrix_transpose", array(2, 2, 1)),
        Sample(f"{place}tensordot", array(2, 2, 3), array(2, 3, 1)),
        Sample(f"{place}tensordot", array(2), array(3), axes=0),
        Sample(f"{place}tensordot", array(2, 3), array(3, 2), axes=1),
        Sample(f"{place}tensordot", array(2, 3, 1), array(3, 2, 2), axes=((1, 0), (0, 2))),
        Sample(f"{place}tensordot", array(2, 3, 1), array(2, 1, 3), axes=((1, -1), (-1, 1))),
        Sample(f"{place}tensordot", _complex(2, 2), _complex(2, 1), axes=1),
        Sample(f"{place}vecdot", array(2, 3), array(2, 3)),
        Sample(f"{place}vecdot", array(3), array(2, 3)),
        Sample(f"{place}vecdot", array(3, 2), array(3, 1), axis=-2),
        Sample(f"{place}vecdot", _complex(2), _complex(2)),
        Sample(f"{place}vecdot", array(0), array(0)),
    )
]
