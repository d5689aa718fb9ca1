"""Samples of products of vectors, matrices and tensors."""

from typing import Any

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import LAYOUTS, z


def _single(*shape: int) -> Any:
    return array(*shape, dtype="float32")


def _matmul(name: str) -> list[Sample]:
    return [
        Sample(name, array(2, 3), array(3, 2)),
        Sample(name, array(3), array(3)),
        Sample(name, array(3), array(3, 2)),
        Sample(name, array(2, 3), array(3)),
        Sample(name, array(2, 1, 1, 2), array(3, 2, 1)),
        Sample(name, array(2, 2, 3), array(3)),
        Sample(name, array(2), array(2, 2, 1)),
        Sample(name, array(1, 2, 2), array(2, 2, 2)),
        Sample(name, array(2, 2, 2), array(2, 1)),
        Sample(name, array(2, 0), array(0, 2)),
        Sample(name, array(0, 2), array(2)),
        Sample(name, array(0), array(0)),
        Sample(name, array(0, 1, 2), array(2, 1)),
        Sample(name, array(2, 3, layout="strided"), array(3, 2, layout="transposed")),
        Sample(name, array(2, 2, layout="reversed"), array(2, layout="strided")),
        Sample(name, z(2, 2), z(2, 1)),
        Sample(name, z(2), z(2)),
        Sample(name, z(2), z(2, 1)),
        Sample(name, z(2, 2), z(2)),
        Sample(name, array(2, 2), z(2, 1)),
        Sample(name, z(2), array(2)),
        Sample(name, _single(2, 2), array(2, 2), order=1),
    ]


def _matrix_transpose(name: str) -> list[Sample]:
    return [
        Sample(name, array(2, 3)),
        Sample(name, array(2, 2, 1)),
        Sample(name, array(0, 2)),
        Sample(name, z(2, 1)),
        *(Sample(name, array(2, 3, layout=x)) for x in LAYOUTS),
    ]


def _tensordot(name: str) -> list[Sample]:
    return [
        Sample(name, array(2, 2, 3), array(2, 3, 1)),
        Sample(name, array(2, 2), array(2, 2)),
        Sample(name, array(2), array(3), axes=0),
        Sample(name, array(), array(2), axes=0),
        Sample(name, array(), array(), axes=0),
        Sample(name, array(2, 3), array(3, 2), axes=1),
        Sample(name, array(0, 2), array(2, 3), axes=1),
        Sample(name, array(2, 0), array(0, 2), axes=1),
        Sample(name, array(2, 3, 1), array(3, 2, 2), axes=((1, 0), (0, 2))),
        Sample(name, array(2, 3, 1), array(2, 1, 3), axes=((1, -1), (-1, 1))),
        Sample(name, array(2, 3, 1), array(3, 1, 2), axes=([2, 0, 1], [1, 2, 0])),
        Sample(name, array(2, 2), array(2), axes=((), ())),
        Sample(name, array(2, 1), array(3, 2), axes=(0, 1), backends=("numpy",)),
        Sample(name, array(2, 2, layout="strided"), array(2, 2, layout="transposed"), axes=1),
        Sample(name, array(2, 2, layout="reversed"), array(2), axes=((0,), (0,))),
        Sample(name, z(2, 2), z(2, 1), axes=1),
        Sample(name, z(2, 2), z(2, 2), axes=((0, 1), (1, 0))),
        Sample(name, array(2, 2), z(2, 1), axes=1),
        Sample(name, _single(2, 2), array(2, 2), axes=1, order=1),
    ]


def _vecdot(name: str) -> list[Sample]:
    return [
        Sample(name, array(2, 3), array(2, 3)),
        Sample(name, array(3), array(2, 3)),
        Sample(name, array(2, 1, 3), array(2, 3)),
        Sample(name, array(3), array(3)),
        Sample(name, array(3, 2), array(3, 1), axis=-2),
        Sample(name, array(3, 2), array(2, 3, 1), axis=-2),
        Sample(name, z(2), z(2)),
        Sample(name, z(2, 2), z(2, 1), axis=-2),
        Sample(name, z(2), array(2)),
        Sample(name, array(2), z(2)),
        Sample(name, array(0), array(0)),
        Sample(name, array(0, 2), array(2)),
        Sample(name, array(2, 2, layout="strided"), array(2, 2, layout="transposed")),
        Sample(name, array(3, layout="reversed"), array(3, layout="strided")),
        Sample(name, _single(2), array(2), order=1),
    ]


samples = [
    sample
    for place in ("", "linalg.")
    for sample in (
        *_matmul(f"{place}matmul"),
        *_matrix_transpose(f"{place}matrix_transpose"),
        *_tensordot(f"{place}tensordot"),
        *_vecdot(f"{place}vecdot"),
    )
]
