"""Samples of indexing."""

from agnograd.extend import Sample, array

ROWS = array(values=[0, 2, 0], dtype="int64")
COLUMNS = array(values=[1, -1, 1], dtype="int64")
MASK = array(values=[[True, False], [False, True], [True, True]], dtype="bool")

KEYS = [
    (1, 0),
    (-1, slice(None)),
    (slice(0, 2), 1),
    (Ellipsis, 0),
    (Ellipsis, slice(None, None, -1)),
    (None, Ellipsis),
    (slice(None), None, 1),
    (slice(2, 0, -1), slice(None)),
    (slice(0, 0), slice(None)),
    Ellipsis,
]

samples = [Sample("__getitem__", array(3, 2), key) for key in KEYS]
samples += [
    Sample("__getitem__", array(3), 1),
    Sample("__getitem__", array(3), slice(1, 3)),
    Sample("__getitem__", array(), ()),
    Sample("__getitem__", array(3, 2, layout="transposed"), (slice(1, 3), 0)),
    Sample("__getitem__", array(3, 2), MASK),
    Sample("__getitem__", array(3, 2), (ROWS, COLUMNS)),
    Sample("__getitem__", array(3), (ROWS,)),
    Sample("__getitem__", array(3), ROWS),
    Sample("__getitem__", array(3, 2), (ROWS, slice(None)), backends=("numpy",)),
    Sample("__getitem__", array(3, 2), ROWS, backends=("numpy",)),
    Sample("__getitem__", array(2, dtype="complex128"), 0),
    Sample("__setitem__", array(3, 2), (1, 0), array()),
    Sample("__setitem__", array(3, 2), (slice(0, 2), Ellipsis), array(2)),
    Sample("__setitem__", array(3, 2), (Ellipsis, 1), 5.0),
    Sample("__setitem__", array(3, 2), (slice(None, None, -1), 0), array(3)),
    Sample("__setitem__", array(3, 2), MASK, array(4)),
    Sample("__setitem__", array(3, 2), MASK, 1.0),
    Sample("__setitem__", array(3), slice(0, 2), array(1, dtype="float32"), order=1),
    Sample("scatter_add", array(3), (ROWS, COLUMNS), shape=(3, 2)),
    Sample("scatter_add", array(2, 2), (slice(1, 3), Ellipsis), shape=(3, 2)),
    Sample("scatter_add", array(4), MASK, shape=(3, 2)),
    Sample("scatter_add_axis", array(2, 3), ROWS, axis=1, shape=(2, 4)),
    Sample("take", array(3, 2), ROWS, axis=0),
    Sample("take", array(2, 3), COLUMNS, axis=-1),
    Sample("take", array(3), ROWS),
    Sample("take", array(3, 2), array(0, dtype="int64"), axis=0),
    Sample("take", array(3, 2, layout="strided"), ROWS, axis=0),
    Sample("take_along_axis", array(2, 3), array(2, 2, low=0, high=3, dtype="int64"), axis=1),
    Sample("take_along_axis", array(3, 2), array(4, 2, low=-3, high=3, dtype="int64"), axis=0),
    Sample("take_along_axis", array(3), ROWS),
]
