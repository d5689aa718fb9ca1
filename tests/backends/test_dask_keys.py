"""Keys that Dask itself does not take, or reads unlike NumPy."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import UnsupportedArrayError

da = pytest.importorskip("dask.array", reason="Dask: pip install 'agnograd[dask]'")
dask = pytest.importorskip("dask", reason="Dask: pip install 'agnograd[dask]'")

SOME, TABLE = np.asarray([0, 2, 1]), np.asarray([[0, 1], [1, -1]])
ONE, PAIRS = np.asarray(1), np.asarray([[True, False, True], [False, True, True]])
COUNT = int(PAIRS.sum())
KEYS = {
    "x[None, i]": (None, ONE),
    "x[::-2, i]": (slice(None, None, -2), ONE),
    "x[1, table]": (1, TABLE),
    "x[table]": TABLE,
    "x[table, 1]": (TABLE, 1),
    "x[None, table]": (None, TABLE),
    "x[:, None, some]": (slice(None), None, SOME),
    "x[..., some]": (..., SOME),
    "x[table, :, table]": (TABLE, slice(None), TABLE),
    "x[[0, 1, 1], some]": ([0, 1, 1], SOME),
    "x[table, column]": (TABLE, np.asarray([[0], [2]])),
    "x[:, ::-1, some]": (slice(None), slice(None, None, -1), SOME),
    "x[[1, 0], ::-2]": ([1, 0], slice(None, None, -2)),
    "x[None, [0, 0]]": (None, [0, 0]),
    "x[range]": range(1, 2),
    "x[:0, some]": (slice(0, 0), SOME),
    "x[True]": True,
    "x[False]": np.False_,
    "x[True, 0]": (np.True_, 0),
    "x[NumPy's mask]": PAIRS,
    "x[some, NumPy's mask]": (np.asarray([0, 1]), np.asarray([True, False, True])),
}


def lazy(key):
    """Return a key with Dask's arrays for NumPy's, but masks, whose sizes Dask does not know."""
    if isinstance(key, tuple):
        return tuple(map(lazy, key))
    is_index = isinstance(key, np.ndarray) and key.dtype != bool
    return da.from_array(key, chunks=2) if is_index else key


@pytest.fixture
def xp():
    with dask.config.set(scheduler="synchronous"):
        yield ag.namespace("dask")


def arrays():
    x = np.arange(24.0).reshape(2, 3, 4)
    return x, da.from_array(x, chunks=(1, 2, 3))


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_reading_is_numpys_and_so_is_its_gradient(xp, key):
    x, chunked = arrays()
    np.testing.assert_array_equal(xp.asarray(chunked)[lazy(key)].data.compute(), x[key])
    found = ag.grad(lambda x: xp.sum(x[lazy(key)] ** 2))(chunked)
    expected = np.zeros_like(x)
    np.add.at(expected, key, 2 * x[key])
    np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_writing_is_numpys_and_so_are_its_gradients(xp, key):
    x, chunked = arrays()
    value = np.arange(1.0, 1.0 + x[key].size).reshape(x[key].shape)

    def write(x, value):
        y = x * 1.0
        y[lazy(key)] = value
        return y

    expected, places = x.copy(), np.zeros(x.shape, dtype=int)
    expected[key] = value
    places[key] = value
    lazily = da.from_array(value, chunks=-1)
    np.testing.assert_array_equal(write(xp.asarray(chunked), lazily).data.compute(), expected)
    of_x, of_value = ag.grad(lambda *both: 3 * xp.sum(write(*both)), argnums=(0, 1))(
        chunked, lazily
    )
    np.testing.assert_array_equal(of_x.compute(), np.where(places == 0, 3.0, 0.0))
    np.testing.assert_array_equal(of_value.compute(), np.where(np.isin(value, places), 3.0, 0.0))


@pytest.mark.parametrize("key", [*KEYS.values(), da.from_array(PAIRS)], ids=[*KEYS, "x[mask]"])
def test_nothing_is_computed(key):
    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    x, chunked = arrays()
    value = np.ones(4) if isinstance(key, da.Array) else np.ones(x[key].shape)
    with dask.config.set(scheduler=refuse):
        xp = ag.namespace("dask")
        y = xp.asarray(chunked) * 1.0
        y[lazy(key)] = value
        if not isinstance(key, da.Array):
            ag.grad(lambda x: xp.sum(x[lazy(key)] ** 2))(chunked)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4), (COUNT, 1), (COUNT, 4), (1, COUNT, 4)])
def test_what_is_written_at_masks_of_the_first_axes_has_a_gradient(xp, shape):
    """How many rows a mask selects is not known, but how many were written there is."""
    x, chunked = arrays()
    mask, value = da.from_array(PAIRS, chunks=1), np.arange(1.0, 1 + np.prod(shape)).reshape(shape)

    def write(xp, x, mask, value):
        y = xp.asarray(x) * 1.0
        y[mask] = value
        return y

    expected = x.copy()
    expected[PAIRS] = value
    lazy = chunked, mask, da.from_array(value)
    np.testing.assert_array_equal(write(xp, *lazy).data.compute(), expected)

    def derivatives(xp, x, mask, value):
        def loss(x, value):
            return xp.sum(write(xp, x, mask, value) ** 3)

        return *ag.grad(loss, (0, 1))(x, value), *ag.hvp(loss, (x, value), (x, value))

    known = derivatives(ag.namespace("numpy"), x, PAIRS, value)
    for found, right in zip(derivatives(xp, *lazy), known, strict=True):
        assert found.shape == right.shape
        np.testing.assert_array_equal(found.compute(), right)


@pytest.mark.parametrize("key", [PAIRS, (0, np.ones((3, 4), dtype=bool)), (SOME, PAIRS[0])])
def test_masks_of_unknown_size_say_what_to_write_instead(xp, key):
    _, chunked = arrays()
    parts = key if isinstance(key, tuple) else (key,)
    masked = tuple(da.from_array(part) if isinstance(part, np.ndarray) else part for part in parts)
    with pytest.raises(UnsupportedArrayError, match=r"use xp.where\(mask, x, 0.0\) in place of"):
        xp.asarray(chunked)[masked]
    if len(parts) > 1:
        with pytest.raises(UnsupportedArrayError, match=r"xp.where\(mask, value, x\) in place"):
            (xp.asarray(chunked) * 1.0)[masked] = np.zeros(3)
