"""Samples of indexing."""

from typing import Any

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import LAYOUTS


def _indices(values: object, dtype: str = "int64") -> Any:
    return array(values=values, dtype=dtype)


ROWS = _indices([0, 2, 0])
COLUMNS = _indices([1, -1, 1])
MASK = _indices([[True, False], [False, True], [True, True]], "bool")
NONE = _indices([[False, False], [False, False], [False, False]], "bool")
SOME = _indices([True, False, True], "bool")
YES, NO = _indices(True, "bool"), _indices(False, "bool")
ALL = slice(None)
BACK = slice(None, None, -1)

KEYS = [
    (1, 0),
    (-1, ALL),
    (slice(0, 2), 1),
    (Ellipsis, 0),
    (0, Ellipsis),
    (Ellipsis, BACK),
    (BACK, BACK),
    (None, Ellipsis),
    (ALL, None, 1),
    (None, slice(None, None, -2), None, 0),
    (slice(2, 0, -1), ALL),
    (slice(-2, None), slice(0, 1)),
    (slice(0, 0), ALL),
    (slice(None, None, 2), Ellipsis, None),
    Ellipsis,
    MASK,
    NONE,
    SOME,
    (ROWS, COLUMNS),
    (_indices([[0], [1]]), _indices([0, 1])),
    (ROWS, 1),
    (_indices([], "int64"), _indices([], "int64")),
]
# Integer arrays beside slices or ellipses, or for some axes only: beyond the standard.
MIXED = [
    ROWS,
    (SOME, Ellipsis),
    (_indices(1), ALL),
    (ROWS, ALL),
    (ALL, COLUMNS),
    (Ellipsis, COLUMNS),
    (ROWS, None, 0),
    ((0, 2, 2), 0),
    1,
]

samples = [Sample("__getitem__", array(3, 2), key) for key in KEYS]
samples += [Sample("__getitem__", array(3, 2), key, backends=("numpy",)) for key in MIXED]
SCALAR_MASKS = ("numpy", "strict", "torch")
samples += [Sample("__getitem__", array(3, 2), key, backends=SCALAR_MASKS) for key in (YES, NO)]
samples += [
    Sample("__getitem__", array(3), 1),
    Sample("__getitem__", array(3), slice(1, 3)),
    Sample("__getitem__", array(3), None, backends=("numpy",)),
    Sample("__getitem__", array(), ()),
    Sample("__getitem__", array(), None, backends=("numpy",)),
    Sample("__getitem__", array(), Ellipsis),
    Sample("__getitem__", array(), _indices(True, "bool")),
    Sample("__getitem__", array(), _indices(False, "bool")),
    Sample("__getitem__", array(3), (ROWS,)),
    Sample("__getitem__", array(3), ROWS),
    Sample("__getitem__", array(3), _indices([[0, 1], [1, 1]])),
    Sample("__getitem__", array(0, 2), (ALL, 0)),
    Sample("__getitem__", array(2, 1, 2), (0, Ellipsis, 1)),
    Sample(
        "__getitem__",
        array(2, 2, 2),
        (_indices([0, 0]), ALL, _indices([1, 1])),
        backends=("numpy",),
    ),
    Sample("__getitem__", array(2, dtype="complex128"), 0),
    Sample("__getitem__", array(3, dtype="complex128"), ROWS),
]
samples += [
    Sample("__getitem__", array(3, 2, layout=layout), key)
    for layout in LAYOUTS
    for key in ((slice(1, 3), 0), MASK, (ROWS, COLUMNS))
]
samples += [
    Sample("__setitem__", array(3, 2), (1, 0), array()),
    Sample("__setitem__", array(3, 2), (1, ALL), array()),
    Sample("__setitem__", array(3, 2), (slice(0, 2), Ellipsis), array(2)),
    Sample("__setitem__", array(3, 2), (slice(0, 2), ALL), array(2, 1)),
    Sample("__setitem__", array(3, 2), (Ellipsis, 1), 5.0),
    Sample("__setitem__", array(3, 2), (Ellipsis, 1), 5),
    Sample("__setitem__", array(3, 2), (BACK, 0), array(3)),
    Sample("__setitem__", array(3, 2), (slice(2, None, -2), ALL), array(2, 2, layout="reversed")),
    Sample("__setitem__", array(3, 2), (0, ALL), array(1, 2)),
    Sample("__setitem__", array(3, 2), (None, slice(0, 2)), array(1, 2, 2), backends=("numpy",)),
    Sample("__setitem__", array(3, 2), 0, array(1, 2), backends=("numpy",)),
    Sample("__setitem__", array(3, 2), MASK, array(4)),
    Sample("__setitem__", array(3, 2), MASK, array()),
    Sample("__setitem__", array(3, 2), MASK, 1.0),
    Sample("__setitem__", array(3, 2), NONE, array(0)),
    Sample("__setitem__", array(3, 2), SOME, array(2), backends=("numpy",)),
    Sample("__setitem__", array(3, 2), YES, array(1, 3, 2), backends=("numpy", "torch")),
    Sample("__setitem__", array(3, 2), NO, array(0, 3, 2), backends=("numpy", "torch")),
    Sample("__setitem__", array(3, 2), Ellipsis, array(3, 2, layout="transposed")),
    Sample("__setitem__", array(), (), array()),
    Sample("__setitem__", array(), Ellipsis, 2.0),
    Sample("__setitem__", array(3), slice(0, 0), array(0)),
    Sample("__setitem__", array(0, 2), Ellipsis, array(2)),
    Sample("__setitem__", array(3), slice(0, 2), array(1, dtype="float32"), order=1),
    Sample("__setitem__", array(2, dtype="complex128"), 0, array()),
    Sample("__setitem__", array(2, dtype="complex128"), slice(0, 1), array(1, dtype="complex128")),
    Sample("__setitem__", array(3, 2), (_indices(1), ALL), array(2), backends=("numpy",)),
]
samples += [
    Sample("__setitem__", array(3, 2, layout=layout), (slice(1, 3), 0), array(2, layout=layout))
    for layout in LAYOUTS
]
# Integer arrays in writes, where repeated indices leave the last of the values.
samples += [
    Sample("__setitem__", x, key, value, backends=("numpy",))
    for x, key, value in (
        (array(3), ROWS, array(3)),
        (array(3), ROWS, array()),
        (array(3), ROWS, 2.0),
        (array(3), [0, 2, 0], array(3)),
        (array(3, 2), (_indices([0, 2]), _indices([1, -1])), array(2)),
        (array(3, 2), (ROWS, COLUMNS), array(3)),
        (array(3, 2), ROWS, array(3, 2)),
        (array(3, 2), (ROWS, ALL), array(2)),
        (array(3, 2), (ROWS, ALL), array(3, 1)),
        (array(3, 2), (ALL, _indices([1, 1])), array(1, 3, 2)),
        (array(3, dtype="complex128"), ROWS, array(3, dtype="complex128")),
    )
]
samples += [
    Sample("scatter_add", array(3), (ROWS, COLUMNS), shape=(3, 2)),
    Sample("scatter_add", array(3), ROWS, shape=(4,)),
    Sample("scatter_add", array(2, 2), _indices([[0, 1], [1, 1]]), shape=(3,)),
    Sample("scatter_add", array(2, 2), (slice(1, 3), Ellipsis), shape=(3, 2)),
    Sample("scatter_add", array(2, 2, layout="transposed"), (slice(2, 0, -1), BACK), shape=(3, 2)),
    Sample("scatter_add", array(1, 3, 1), (None, ALL, None, 1), shape=(3, 2)),
    Sample("scatter_add", array(), 1, shape=(3,)),
    Sample("scatter_add", array(), (), shape=()),
    Sample("scatter_add", array(0), slice(0, 0), shape=(3,)),
    Sample("scatter_add", array(4), MASK, shape=(3, 2)),
    Sample("scatter_add", array(3, layout="reversed"), ROWS, shape=(3,)),
    Sample("scatter_add", array(3, layout="strided"), BACK, shape=(3,)),
    Sample("scatter_add", array(3, dtype="complex128"), ROWS, shape=(3,)),
    Sample("scatter_add", array(3, 2), (ROWS, ALL), shape=(3, 2), backends=("numpy",)),
    Sample("scatter_add_axis", array(2, 3), ROWS, axis=1, shape=(2, 4)),
    Sample("scatter_add_axis", array(3, 2), COLUMNS, axis=-2, shape=(4, 2)),
    Sample("scatter_add_axis", array(3), ROWS, axis=0, shape=(3,)),
    Sample("scatter_add_axis", array(0, 2), _indices([]), axis=0, shape=(3, 2)),
    Sample("scatter_add_axis", array(2, 3, layout="transposed"), ROWS, axis=1, shape=(2, 3)),
    Sample("scatter_add_axis", array(3, layout="reversed"), ROWS, axis=-1, shape=(3,)),
    Sample("scatter_add_axis", array(3, layout="strided"), ROWS, axis=-1, shape=(3,)),
    Sample("scatter_add_axis", array(3, dtype="complex128"), ROWS, axis=0, shape=(3,)),
]
samples += [
    Sample("take", array(3, 2), ROWS, axis=0),
    Sample("take", array(2, 3), COLUMNS, axis=-1),
    Sample("take", array(2, 3, 1), ROWS, axis=-2),
    Sample("take", array(3), ROWS),
    Sample("take", array(3), _indices([0, 2, 2], "uint8")),
    Sample("take", array(3, 2), _indices([]), axis=0),
    Sample("take", array(3, 0), ROWS, axis=0),
    Sample("take", array(3, dtype="complex128"), ROWS),
    Sample("take", array(3, dtype="float32"), ROWS, order=1),
    Sample("take", array(3, 2), _indices([[0, 2], [0, 0]]), axis=0, backends=("numpy",)),
    Sample("take", array(3, 2), _indices(1), axis=0, backends=("numpy",)),
    *(Sample("take", array(3, 2, layout=layout), ROWS, axis=0) for layout in LAYOUTS),
    Sample("take_along_axis", array(2, 3), array(2, 2, low=0, high=3, dtype="int64"), axis=1),
    Sample("take_along_axis", array(3, 2), array(4, 2, low=-3, high=3, dtype="int64"), axis=0),
    Sample("take_along_axis", array(2, 3), _indices([[0, 0, -1], [2, 1, 2]])),
    Sample("take_along_axis", array(2, 3), _indices([[0, 2]]), axis=1),
    Sample("take_along_axis", array(1, 3), _indices([[0, 2], [1, 1]]), axis=1),
    Sample("take_along_axis", array(3, 2), _indices([[0], [2]]), axis=-2),
    Sample("take_along_axis", array(2, 2, 1), _indices([[[0, 0]], [[0, 0]]]), axis=2),
    Sample("take_along_axis", array(3), ROWS),
    Sample("take_along_axis", array(3), _indices([0, 0], "int32")),
    Sample("take_along_axis", array(2, 3), array(2, 0, low=0, high=1, dtype="int64")),
    Sample("take_along_axis", array(3, dtype="complex128"), ROWS),
    *(Sample("take_along_axis", array(3, layout=layout), ROWS) for layout in LAYOUTS),
]
