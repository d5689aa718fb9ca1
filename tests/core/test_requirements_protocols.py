"""What clients need of an array's protocols: points 10 to 14 of docs/protocol.md, in order."""

import operator
import warnings

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError
from arrays import leaf, values

BACKENDS = ("numpy", "strict")
A = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


ARITHMETIC = ["add", "mod", "mul", "pow", "sub", "truediv", "matmul", "lt", "eq"]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_10_numpy_leaves_its_operators_to_variables(name):
    x, raw = ag.Variable(np.asarray([1.5, 2.5])), np.asarray([4.0, 3.0])
    for left in (raw, raw.astype(np.float32), raw.astype(np.int64)):
        result = getattr(operator, name)(left, x)
        assert isinstance(result, ag.Variable)
        assert result.requires_grad is (name not in ("lt", "eq"))
        np.testing.assert_array_equal(values(result), getattr(operator, name)(left, x.data))


def test_10_the_gradient_of_what_numpy_left_is_right():
    x, raw = ag.Variable(np.ones(2)), np.asarray([4.0, 3.0])
    (raw @ (raw * x - raw / x)).backward()
    np.testing.assert_array_equal(values(x.grad), 2 * raw * raw)


@pytest.mark.parametrize("ufunc", [np.sin, np.add, np.multiply, np.matmul, np.modf])
@pytest.mark.parametrize("tracked", [True, False])
def test_10_a_ufunc_gives_variables_or_an_error(xp, ufunc, tracked):
    x = leaf(xp, [1.0, 2.0])
    x = x if tracked else x.detach()
    assert type(x).__array_ufunc__ is None or callable(type(x).__array_ufunc__)
    try:
        results = ufunc(*[x] * ufunc.nin)
    except TypeError:
        return
    for result in results if isinstance(results, tuple) else (results,):
        assert isinstance(result, ag.Variable)
        assert result.requires_grad is tracked


@pytest.mark.parametrize(
    "leave",
    [
        np.asarray,
        np.array,
        np.from_dlpack,
        lambda x: np.asarray([x, x]),
        lambda x: np.zeros(2).__setitem__(slice(None), x),
        lambda x: x.__array__(),
        lambda x: x.__array__(np.float32, copy=True),
        lambda x: x.__dlpack__(),
        lambda x: x.__array_namespace__().from_dlpack(x),
        np.ma.exp,  # which looks for an attribute of arrays before it asks for one
        lambda x: np.ma.multiply(np.ma.masked_array([1.0, 2.0]), x),
    ],
)
def test_11_tracked_arrays_refuse_to_leave(xp, leave):
    x = leaf(xp, [1.0, 2.0])
    for tracked in (x, x * 2.0, x[:2]):
        with pytest.raises(LostGradientError, match=r"detach\(\)"):
            leave(tracked)


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool", "complex64"])
def test_11_untracked_arrays_leave(xp, dtype):
    x = xp.asarray([1, 0], dtype=getattr(xp, dtype))
    for found in (np.asarray(x), np.array(x), np.asarray(x, dtype=dtype), x.__array__()):
        assert type(found) is np.ndarray
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, [1, 0])


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8"])
def test_11_dlpack_takes_the_standards_options(xp, dtype):
    x = xp.asarray([1, 2], dtype=getattr(xp, dtype))
    assert x.__dlpack_device__() == x.data.__dlpack_device__()
    assert type(x.__dlpack__()) is type(x.data.__dlpack__())
    device = x.__dlpack_device__()
    assert x.__dlpack__(max_version=(1, 0), dl_device=device, copy=True) is not None
    np.testing.assert_array_equal(np.from_dlpack(x), [1, 2])


@pytest.mark.parametrize("source", BACKENDS)
@pytest.mark.parametrize("copied", [None, False, True])
def test_11_from_dlpack_takes_variables(xp, source, copied):
    x = ag.namespace(source).asarray([1.0, 2.0])
    device = None if copied is None else xp.ones(1).device
    found = xp.from_dlpack(x, device=device, copy=copied)
    assert isinstance(found, ag.Variable)
    assert found.__array_namespace__() is xp
    shared = np.shares_memory(np.from_dlpack(found), np.from_dlpack(x))
    assert shared is (copied is not True)


CONVERSIONS = {
    bool: ("bool", "int64", "float64", "complex128"),
    int: ("bool", "int64", "float64"),
    float: ("bool", "int64", "float64"),
    complex: ("bool", "int64", "float64", "complex128"),
}


@pytest.mark.parametrize(("kind", "dtypes"), CONVERSIONS.items())
def test_12_scalars_are_builtins(xp, kind, dtypes):
    for dtype in dtypes:
        x = xp.asarray(1, dtype=getattr(xp, dtype))
        for each in (x, x + x - x if dtype != "bool" else x):
            found = getattr(each, f"__{kind.__name__}__")()
            assert type(found) is kind
            assert found == 1


def test_12_integers_are_indices(xp):
    x = xp.asarray(2)
    assert type(operator.index(x)) is int
    assert ["a", "b", "c"][x] == "c"
    assert list(range(xp.sum(xp.asarray([1, 2])))) == [0, 1, 2]


@pytest.mark.parametrize("value", [1.0, True, [1], [1, 2]], ids=repr)
def test_12_what_is_no_index_is_refused_as_by_the_library(xp, value):
    x = xp.asarray(value)
    with pytest.raises(TypeError) as ours:
        operator.index(x)
    with pytest.raises(ours.type):
        operator.index(x.data)


@pytest.mark.parametrize("kind", [float, complex])
def test_12_a_scalar_of_a_tracked_array_warns(xp, kind):
    x = leaf(xp, 1.5)
    for tracked in (x, x * 1.0, leaf(xp, [1.5])[0]):
        with pytest.warns(ag.LostGradientWarning, match=kind.__name__):
            assert kind(tracked) == 1.5
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(5):
            kind(x)
    assert [each.filename for each in caught] == [__file__]


def test_12_other_scalars_of_a_tracked_array_are_silent(xp):
    x = leaf(xp, 1.5)
    assert (bool(x), int(x), x.item()) == (True, 1, 1.5)
    assert float(x.detach()) == complex(x.detach()) == 1.5


@pytest.mark.parametrize("rows", [[1.0, 2.0, 3.0], A.tolist()], ids=["1-d", "2-d"])
def test_13_iteration_gives_connected_items(xp, rows):
    x = leaf(xp, rows)
    items = list(x)
    assert [values(item).tolist() for item in items] == rows
    xp.sum(items[1] * items[0]).backward()
    expected = np.zeros_like(rows)
    expected[0], expected[1] = rows[1], rows[0]
    np.testing.assert_array_equal(values(x.grad), expected)


def test_13_iteration_is_explicit(xp):
    assert callable(type(xp.ones(1)).__iter__)
    assert len(xp.ones((2, 3))) == 2
    first, second = leaf(xp, [1.0, 2.0])
    assert (first.item(), second.item()) == (1.0, 2.0)
    assert list(xp.ones(0)) == []


@pytest.mark.parametrize("function", [iter, list, len])
def test_13_a_scalar_is_not_iterable(xp, function):
    for x in (leaf(xp, 1.0), xp.asarray(1)):
        with pytest.raises(TypeError, match="0-d"):
            function(x)


@pytest.mark.parametrize("index", [3, -4, 100])
def test_13_an_index_out_of_range_is_an_error(xp, index):
    for x in (leaf(xp, [1.0, 2.0, 3.0]), xp.asarray([1, 2, 3])):
        with pytest.raises(IndexError):
            x[index]
        with pytest.raises(IndexError):
            x[index] = 1
        with pytest.raises(IndexError):
            x[xp.asarray([index])]


KEYS = {
    "integer": (0, ...),
    "integers": (1, -1),
    "negative": (..., -1),
    "slices": (slice(1, None), slice(None, 2)),
    "strides": (slice(None), slice(None, None, 2)),
    "ellipsis": ...,
    "negative step": (slice(None, None, -1), slice(None)),
    "negative steps": (slice(None, None, -1), slice(2, 0, -1)),
    "mask": np.asarray([[True, False, True], [False, True, False]]),
    "empty mask": np.zeros((2, 3), dtype=bool),
}
# Beyond the standard, and all that clients use on the libraries that have it.
WIDER_KEYS = {
    "integer arrays": (np.asarray([1, 0]), np.asarray([2, 0])),
    "integer array": (np.asarray([1]), 2),
    "0-d integer arrays": (np.asarray(1), np.asarray(2)),
    "array and ellipsis": (np.asarray([1, 0]), ...),
    "slice and array": (slice(None), np.asarray([0, 1])),
    "rows of a mask": (np.asarray([False, True]), slice(1, None)),
}
CASES = [(name, key) for name in BACKENDS for key in KEYS] + [("numpy", key) for key in WIDER_KEYS]
KEYS |= WIDER_KEYS
each_case = pytest.mark.parametrize(("backend", "key"), CASES, indirect=["backend"])


def on(xp, key):
    """Return a key whose NumPy arrays are Variables."""
    if isinstance(key, tuple):
        return tuple(on(xp, each) for each in key)
    return xp.asarray(key.tolist()) if isinstance(key, np.ndarray) else key


@each_case
def test_14_a_scalar_is_written_at_any_key(xp, key):
    key = KEYS[key]
    x, v = leaf(xp, A.tolist()), leaf(xp, 7.0)
    y = x * 1.0
    y[on(xp, key)] = v
    expected, kept = A.copy(), np.ones_like(A)
    expected[key], kept[key] = 7.0, 0.0
    np.testing.assert_array_equal(values(y), expected)
    xp.sum(y * y).backward()
    np.testing.assert_array_equal(values(x.grad), 2 * A * kept)
    assert v.grad.item() == 14.0 * (kept == 0).sum()


@each_case
def test_14_an_array_is_written_at_any_key(xp, key):
    key = KEYS[key]
    part = np.arange(10.0, 10.0 + A[key].size).reshape(A[key].shape)
    x, v = leaf(xp, A.tolist()), leaf(xp, part.tolist() if part.size else [])
    y = x * 1.0
    y[on(xp, key)] = v
    expected = A.copy()
    expected[key] = part
    np.testing.assert_array_equal(values(y), expected)
    xp.sum(y * y).backward()
    np.testing.assert_array_equal(values(v.grad), 2 * part)


def test_14_integer_arrays_with_an_ellipsis_are_written_where_they_are_read():
    strict, xp = ag.namespace("strict"), ag.namespace("numpy")
    z = strict.zeros((2, 3))
    for each in (z, z.data):  # beyond the standard, which the strict library refuses to leave
        with pytest.raises(IndexError):
            each[..., strict.asarray([2, 0]).data]
    x, v = leaf(xp, A.tolist()), leaf(xp, [[10.0, 20.0], [30.0, 40.0]])
    y = x * 1.0
    y[..., xp.asarray([2, 0])] = v
    np.testing.assert_array_equal(values(y), [[20.0, 2.0, 10.0], [40.0, 5.0, 30.0]])
    xp.sum(y).backward()
    np.testing.assert_array_equal(values(x.grad), [[0.0, 1.0, 0.0]] * 2)
    np.testing.assert_array_equal(values(v.grad), 1.0)


@each_case
def test_14_a_write_changes_no_array_that_was_given(xp, key):
    raw = xp.asarray(A.tolist()).data
    x = xp.asarray(raw)
    x[on(xp, KEYS[key])] = 7.0
    np.testing.assert_array_equal(np.asarray(raw), A)
