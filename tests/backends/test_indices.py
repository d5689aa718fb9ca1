"""Indices of every integer dtype name the same elements, on every backend."""

import numpy as np
import pytest

import agnograd as ag
from arrays import host, leaf, values

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# Compilers and lazy libraries take their time, and know what integers are: two of each.
EVERYWHERE = [
    *((backend, dtype) for backend in ("numpy", "strict", "torch") for dtype in DTYPES),
    *((backend, dtype) for backend in ("jax", "dask") for dtype in ("int32", "uint8")),
]
HOST = np.arange(1.0, 13.0).reshape(3, 4)
ROWS, COLUMNS = [0, 2, 2, 1], [3, 0, 1, 1]
ALONG = [[0, 1, 2, 2], [1, 1, 0, 0]]


def write(x, key, value):
    y = x * 1.0
    y[key] = value
    return y


def put(x, function, *args):
    y = x * 1.0
    function(y, *args)
    return y


# Each is a function of a namespace, an array and of what makes an array of indices; and the same in
# NumPy, where indices are lists.
CALLS = {
    "add.at": (
        lambda xp, x, i: put(x, np.add.at, (i(ROWS), i(COLUMNS)), 5.0),
        lambda x: put(x, np.add.at, (ROWS, COLUMNS), 5.0),
    ),
    "array_take": (lambda xp, x, i: x.take(i(ROWS), axis=0), lambda x: x.take(ROWS, axis=0)),
    "bincount": (
        lambda xp, x, i: np.bincount(i(ROWS), weights=x[0, :]),
        lambda x: np.bincount(ROWS, weights=x[0, :]),
    ),
    "choose": (
        lambda xp, x, i: np.choose(i([0, 1, 1, 0]), [x[0, :], x[1, :]]),
        lambda x: np.choose([0, 1, 1, 0], [x[0, :], x[1, :]]),
    ),
    "embedding": (lambda xp, x, i: xp.nn.embedding(i(ROWS), x), lambda x: x[ROWS]),
    "getitem": (lambda xp, x, i: x[i(ROWS), i(COLUMNS)], lambda x: x[ROWS, COLUMNS]),
    "getitem of a vector": (lambda xp, x, i: x[0, :][i(ROWS)], lambda x: x[0, :][ROWS]),
    "getitem of many axes": (
        lambda xp, x, i: x[i([ROWS, ROWS[::-1]]), i([[0], [1]])],
        lambda x: x[[ROWS, ROWS[::-1]], [[0], [1]]],
    ),
    "np.take": (lambda xp, x, i: np.take(x, i(ROWS), axis=1), lambda x: np.take(x, ROWS, axis=1)),
    "np.take_along_axis": (
        lambda xp, x, i: np.take_along_axis(x, i(ALONG), axis=0),
        lambda x: np.take_along_axis(x, np.asarray(ALONG), axis=0),
    ),
    "put": (lambda xp, x, i: put(x, np.put, i([0, 7]), 5.0), lambda x: put(x, np.put, [0, 7], 5.0)),
    "put_along_axis": (
        lambda xp, x, i: put(x, np.put_along_axis, i([[0], [1], [3]]), 5.0, 1),
        lambda x: put(x, np.put_along_axis, np.asarray([[0], [1], [3]]), 5.0, 1),
    ),
    "scatter_add": (
        lambda xp, x, i: xp.scatter_add(x[0, :], i(ROWS), shape=(5,)),
        lambda x: np.bincount(ROWS, weights=x[0, :], minlength=5),
    ),
    "take": (lambda xp, x, i: xp.take(x, i(ROWS), axis=0), lambda x: x[ROWS]),
    "take_along_axis": (
        lambda xp, x, i: xp.take_along_axis(x, i(ALONG), axis=0),
        lambda x: np.take_along_axis(x, np.asarray(ALONG), axis=0),
    ),
}
# What the standard does not have: the libraries that do.
BEYOND = {
    "getitem of a matrix": (lambda xp, x, i: x[i(ROWS)], lambda x: x[ROWS]),
    "getitem of an element": (lambda xp, x, i: x[i(1), i(2)], lambda x: x[1, 2]),
    "getitem of one row": (lambda xp, x, i: x[i(1)], lambda x: x[1]),
    "getitem of rows, by a matrix": (
        lambda xp, x, i: x[i([[0, 1], [2, 2]])],
        lambda x: x[[[0, 1], [2, 2]]],
    ),
    "getitem beside a slice": (lambda xp, x, i: x[1:, i(ROWS)], lambda x: x[1:, ROWS]),
    "setitem": (lambda xp, x, i: write(x, i([0, 2]), 5.0), lambda x: write(x, [0, 2], 5.0)),
}
WRITES = {
    "setitem of elements": (
        lambda xp, x, i: write(x, (i([0, 2]), i([3, 1])), x[0, :2] * 3),
        lambda x: write(x, ([0, 2], [3, 1]), x[0, :2] * 3),
    ),
    "setitem of an element": (
        lambda xp, x, i: write(x, (i(1), i(2)), 7.0),
        lambda x: write(x, (1, 2), 7.0),
    ),
}


def same_as_numpys(xp, dtype, call, expected):
    def indices(numbers):
        return xp.asarray(numbers, dtype=getattr(xp, dtype))

    x, mine = leaf(xp, HOST.tolist()), ag.Variable(HOST)
    found = call(xp, x, indices)
    np.testing.assert_array_equal(values(found), expected(HOST))
    xp.sum(found * found).backward()
    np.sum(expected(mine) ** 2).backward()
    np.testing.assert_array_equal(values(x.grad), values(mine.grad))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("backend", "dtype"), EVERYWHERE, indirect=["backend"])
def test_indices_of_every_dtype(xp, call, dtype):
    same_as_numpys(xp, dtype, *CALLS[call])


@pytest.mark.parametrize("call", BEYOND)
@pytest.mark.parametrize(
    ("backend", "dtype"), [pair for pair in EVERYWHERE if pair[0] != "strict"], indirect=["backend"]
)
def test_indices_beyond_the_standard(xp, call, dtype):
    same_as_numpys(xp, dtype, *BEYOND[call])


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize(
    ("backend", "dtype"),
    [pair for pair in EVERYWHERE if pair[0] not in ("strict", "dask")],
    indirect=["backend"],
)
def test_writes_at_indices(xp, call, dtype):
    same_as_numpys(xp, dtype, *WRITES[call])


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpys_indices_on_tensors(dtype):
    pytest.importorskip("torch", reason="whose tensors these are: pip install torch")
    xp = ag.namespace("torch")
    same_as_numpys(xp, dtype, lambda xp, x, i: x[np.asarray(ROWS, dtype=dtype)], lambda x: x[ROWS])
    x = xp.zeros((3, 4))
    x[np.dtype(dtype).type(1)][0] = 5.0  # a number, and so a view
    assert values(x)[1, 0] == 5.0


BESIDE = {
    "x[::-2, i]": lambda i: (slice(None, None, -2), i(1)),
    "x[::-1, [..]]": lambda i: (slice(None, None, -1), i([2, 0, 0])),
    "x[:, ::-1, [..]]": lambda i: (slice(None), slice(None, None, -1), i([2, 0, 0])),
    "x[[..], ::-2]": lambda i: (i([0, 1, 1]), slice(None, None, -2)),
    "x[..., 0:2:-1, [..]]": lambda i: (..., slice(0, 2, -1), i([0, 1])),
    "x[[..], ::-1, [..]]": lambda i: (i([[0], [1]]), slice(None, None, -1), i([1, 2])),
    "x[None, ::-1, [..]]": lambda i: (None, slice(None, None, -1), i([[1, 2]])),
    "x[True]": lambda i: True,
    "x[np.True_]": lambda i: np.True_,
    "x[np.False_]": lambda i: np.False_,
    "x[np.True_, 0]": lambda i: (np.True_, 0),
}


@pytest.mark.parametrize("key", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"], indirect=True)
def test_keys_of_several_kinds_are_numpys(xp, key):
    of_numpy, of_library = key(np.asarray), key(lambda numbers: xp.asarray(numbers).data)
    x = np.arange(24.0).reshape(2, 3, 4)
    value = -np.arange(1.0, 1.0 + x[of_numpy].size).reshape(x[of_numpy].shape)
    squares = lambda x: xp.sum(x[of_library] ** 2)  # noqa: E731
    expected = np.zeros_like(x)
    np.add.at(expected, of_numpy, 2 * x[of_numpy])
    np.testing.assert_array_equal(host(xp.asarray(x)[of_library]), x[of_numpy])
    np.testing.assert_array_equal(host(ag.grad(squares)(xp.asarray(x).data)), expected)

    def write(x, value):
        y = x * 1.0
        y[of_library] = value
        return y

    expected = x.copy()
    expected[of_numpy] = value
    both = xp.asarray(x), xp.asarray(value)
    np.testing.assert_array_equal(host(write(*both)), expected)
    of_x, of_value = ag.grad(lambda *both: xp.sum(write(*both)), argnums=(0, 1))(
        *(each.data for each in both)
    )
    np.testing.assert_array_equal(host(of_x), np.where(expected == x, 1.0, 0.0))
    np.testing.assert_array_equal(host(of_value), np.where(np.isin(value, expected), 1.0, 0.0))


@pytest.mark.parametrize("key", [True, False, np.True_, np.False_])
@pytest.mark.parametrize("backend", ["numpy", "torch", "jax", "dask"], indirect=True)
def test_booleans_read_and_write_arrays_without_axes(xp, key):
    x = xp.asarray(3.0, dtype=xp.float64)
    np.testing.assert_array_equal(host(x[key]), np.asarray(3.0)[key])
    assert host(ag.grad(lambda x: xp.sum(x[key] ** 2))(x.data)) == (6.0 if key else 0.0)

    def write(x):
        y = x * 1.0
        y[key] = 5.0
        return y

    assert host(write(x)) == (5.0 if key else 3.0)
    assert host(ag.grad(write)(x.data)) == (0.0 if key else 1.0)


EMPTY = {
    "getitem": lambda x, i: x[i([0, 1, 1])],
    "getitem beside a slice": lambda x, i: x[i([0, 1, 1]), 1:],
    "getitem of a matrix": lambda x, i: x[i([[0, 1], [1, 1]])],
    "take": lambda x, i: np.take(x, i([0, 1, 1]), axis=0),
    "take_along_axis": lambda x, i: np.take_along_axis(x, i([[0], [2]])[:, :0], axis=0),
    "setitem": lambda x, i: write(x, i([0, 1, 1]), 5.0),
    "setitem of an array": lambda x, i: write(x, i([0, 1]), x[:2, :]),
    "no indices": lambda x, i: x[i([0])[:0]],
}


@pytest.mark.parametrize("shape", [(3, 0), (3, 0, 2)])
@pytest.mark.parametrize("call", EMPTY)
@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"], indirect=True)
def test_indices_beside_an_axis_of_no_length(xp, call, shape):
    if call == "take_along_axis" and len(shape) > 2:
        pytest.skip("indices have as many axes as the array")
    x = ag.Variable(xp.zeros(shape, dtype=xp.float64).data)
    found = EMPTY[call](x, lambda numbers: xp.asarray(numbers, dtype=xp.int64))
    assert found.shape == EMPTY[call](np.zeros(shape), np.asarray).shape
    xp.sum(found * found).backward()
    assert x.grad.shape == shape
