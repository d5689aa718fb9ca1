"""Keys of many members: what vmap reads, writes and adds there is what each member by itself does.

A key is a tuple: a name in it stands for an array of integers of that many axes.
"""

import itertools

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import BatchingError
from arrays import host

XP = ag.namespace("numpy")
ALL, SOME = slice(None), slice(0, 2)
SHAPES = {"no axes": (), "one": (2,), "two": (2, 2)}
KEYS = [
    *(("one",), ("two",), ("one", "one", "one"), ("one", ALL), (ALL, "one"), ("one", ALL, "one")),
    *((ALL, "one", "one"), (ALL, "two", SOME), ("one", 0), (0, "one"), (0, ALL, "one")),
    *(("one", ALL, 0), (ALL, 0, "one"), (None, "one"), ("one", None), (ALL, "one", None, "one")),
    *(("no axes",), ("no axes", "no axes"), ("no axes", ALL, "no axes"), (..., "one")),
    *(("one", ...), ("no axes", "one", "two"), ("two", "two"), (ALL, ALL, "no axes")),
    *((0,), (SOME,), (0, SOME, None), (..., 0), (), (-1, ...), (slice(None, None, -1), "one")),
]
MEMBERS, LENGTH = 3, 3


def drawn(key, rng):
    """Return the arrays of a key, for each member."""
    shapes = [SHAPES[part] for part in key if isinstance(part, str)]
    return [[rng.integers(-LENGTH, LENGTH, shape) for shape in shapes] for _ in range(MEMBERS)]


def filled(key, arrays):
    found = iter(arrays)
    return tuple(next(found) if isinstance(part, str) else part for part in key)


def choices(key):
    """Yield whether the array is mapped, and which arrays of the key are."""
    count = sum(isinstance(part, str) for part in key)
    for x_mapped, *of_key in itertools.product((0, 1), repeat=1 + count):
        yield x_mapped, of_key


class Members:
    """The same call for all members and for one after the other."""

    def __init__(self, mapped):
        self.axes = tuple(0 if each else None for each in mapped)

    def compare(self, f, one, lists):
        """Compare a function with one of NumPy's arrays, given each argument for all members."""
        lists = [
            each if axis == 0 else [each[0]] * MEMBERS
            for each, axis in zip(lists, self.axes, strict=True)
        ]
        given = [
            np.stack(each) if axis == 0 else each[0]
            for each, axis in zip(lists, self.axes, strict=True)
        ]
        expected = np.stack([one(*args) for args in zip(*lists, strict=True)])
        found = host(ag.vmap(f, in_axes=self.axes)(*given))
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_members_read(key):
    rng = np.random.default_rng(0)
    for x_mapped, of_key in choices(key):
        if not (x_mapped or any(of_key)):
            continue
        xs = [rng.normal(size=(LENGTH,) * 3) for _ in range(MEMBERS)]
        lists = [xs, *map(list, zip(*drawn(key, rng), strict=True))]
        Members((x_mapped, *of_key)).compare(
            lambda x, *arrays: XP.asarray(x)[filled(key, arrays)],
            lambda x, *arrays: x[filled(key, arrays)],
            lists,
        )


def written(x, value, key):
    out = np.array(x)
    out[key] = value
    return out


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("value", ["whole", "its last axes", "a number"])
def test_members_write(key, value):
    rng = np.random.default_rng(1)

    def f(x, v, *arrays):
        out = XP.asarray(x, copy=True)
        out[filled(key, arrays)] = v
        return out

    for x_mapped, of_key in choices(key):
        for value_mapped in (0, 1):
            if not (x_mapped or value_mapped or any(of_key)):
                continue
            xs = [rng.normal(size=(LENGTH,) * 3) for _ in range(MEMBERS)]
            of_members = drawn(key, rng)
            shape = xs[0][filled(key, of_members[0])].shape
            shape = {"whole": shape, "its last axes": shape[1:], "a number": ()}[value]
            values = [rng.normal(size=shape) for _ in range(MEMBERS)]
            Members((x_mapped, value_mapped, *of_key)).compare(
                f,
                lambda x, v, *arrays: written(x, v, filled(key, arrays)),
                [xs, values, *map(list, zip(*of_members, strict=True))],
            )


def added(values, key):
    out = np.zeros((LENGTH,) * 3)
    np.add.at(out, key, values)
    return out


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_members_add(key):
    rng = np.random.default_rng(2)
    for value_mapped, of_key in choices(key):
        if not (value_mapped or any(of_key)):
            continue
        of_members = drawn(key, rng)
        shape = np.zeros((LENGTH,) * 3)[filled(key, of_members[0])].shape
        values = [rng.normal(size=shape) for _ in range(MEMBERS)]
        Members((value_mapped, *of_key)).compare(
            lambda v, *arrays: XP.scatter_add(v, filled(key, arrays), shape=(LENGTH,) * 3),
            lambda v, *arrays: added(v, filled(key, arrays)),
            [values, *map(list, zip(*of_members, strict=True))],
        )


# -- masks and sequences ---------------------------------------------------------------------------

MASKS = {
    "whole": np.asarray([[True, False], [False, True], [True, True]]),
    "first axis": np.asarray([True, False, True]),
    "no element": np.zeros((3, 2), dtype=bool),
    "beside an integer": (np.asarray([True, False, True]), 1),
    "after a slice": (slice(1, 3), np.asarray([True, False])),
    "no axes": np.asarray(True),
    "a list": [0, 2, 0],
    "a list of booleans": [True, False, True],
    "a list in a tuple": ([0, 2], 1),
    "an empty list": ([], 0),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_and_sequences_that_are_the_same_for_all_members(name):
    key, rng = MASKS[name], np.random.default_rng(3)
    xs = [rng.normal(size=(3, 2)) for _ in range(MEMBERS)]
    Members((1,)).compare(lambda x: x[key] * 1.0, lambda x: x[key], [xs])
    selected = xs[0][key].shape
    for shape in {selected, selected[1:], ()}:
        values = [rng.normal(size=shape) for _ in range(MEMBERS)]
        for mapped in ((1, 1), (1, 0), (0, 1)):

            def f(x, v):
                out = XP.asarray(x, copy=True)
                out[key] = v
                return out

            Members(mapped).compare(f, lambda x, v: written(x, v, key), [xs, values])


def test_members_write_one_value_at_masks_of_their_own():
    rng = np.random.default_rng(4)
    xs = [rng.normal(size=(3, 2)) for _ in range(MEMBERS)]
    values = [rng.normal(size=()) for _ in range(MEMBERS)]
    for shape in ((3, 2), (3,)):
        masks = [rng.normal(size=shape) > 0 for _ in range(MEMBERS)]
        for mapped in ((1, 1, 1), (0, 0, 1), (1, 0, 1), (0, 1, 1)):

            def f(x, v, mask):
                out = XP.asarray(x, copy=True)
                out[mask] = v
                return out

            Members(mapped).compare(f, written, [xs, values, masks])


@pytest.mark.parametrize("at", ["a mask", "a mask and more"])
def test_masks_of_members_select_no_elements(at):
    x, masks = np.ones((MEMBERS, 3, 2)), np.ones((MEMBERS, 3), dtype=bool)

    def key(mask):
        return mask if at == "a mask" else (mask, 0)

    def write(x, mask):
        y = x * 1.0
        y[key(mask)] = XP.ones(3)
        return y

    for f in (lambda x, mask: x[key(mask)], write):
        with pytest.raises(BatchingError, match=r"selects another number of elements.*xp\.where"):
            ag.vmap(f)(x, masks)


# -- what libraries read unlike each other ---------------------------------------------------------

LIBRARIES = pytest.mark.parametrize("backend", ["dask", "numpy", "torch"], indirect=True)
# Integers, and arrays without axes, are among the arrays of a key in some libraries, and not in
# others. So the axes of the arrays stand elsewhere.
BESIDE_NUMBERS = [
    *((1, ALL, "one"), ("one", ALL, 1), (ALL, "one", 1), (ALL, 1, "one"), ("one", 1, ALL)),
    *(("no axes", ALL, "one"), (ALL, "no axes", "one"), ("one", ALL, "no axes"), (1, ALL, "two")),
    *((np.int64(1), ALL, "one"), (1, None, ALL, "one"), (..., "one", None, -1), (ALL, "no axes")),
    *((1, "one", ALL), (ALL, "one", ..., 1)),
]


def of_library(xp, arrays):
    return [xp.asarray(np.asarray(each)).data for each in arrays]


def put(xp, x, value, key):
    out = xp.asarray(x, copy=True)
    out[key] = value
    return out


@LIBRARIES
@pytest.mark.parametrize("key", BESIDE_NUMBERS, ids=str)
def test_members_read_and_write_beside_numbers_as_each_does_alone(xp, key):
    rng = np.random.default_rng(5)
    arrays = drawn(key, rng)
    xs = rng.normal(size=(MEMBERS, LENGTH, LENGTH, LENGTH))
    selected = [host(xp.asarray(xs[0])[filled(key, of_library(xp, arrays[0]))]).shape] * MEMBERS
    values = np.stack([rng.normal(size=shape) for shape in selected])

    def loss(x, value, *arrays):
        place = filled(key, arrays)
        return xp.sum(xp.asarray(x)[place] * value) + xp.sum(put(xp, x, value, place) ** 3)

    def each(x, value, *arrays):
        place = filled(key, arrays)
        written, slopes = put(xp, x, value, place), ag.grad(loss, argnums=(0, 1))(x, value, *arrays)
        return [xp.asarray(x)[place], written, *slopes]

    none, every = [0] * len(arrays[0]), [1] * len(arrays[0])
    for x_mapped, of_key in ((1, none), (1, every), (0, every)):
        mapped = (x_mapped, 1, *of_key)
        lists = [xs if x_mapped else [xs[0]] * MEMBERS, values]
        lists += [[a[i] if m else arrays[0][i] for a in arrays] for i, m in enumerate(of_key)]
        expected = [each(*of_library(xp, given)) for given in zip(*lists, strict=True)]
        given = [np.stack(a) if m else a[0] for a, m in zip(lists, mapped, strict=True)]
        axes = tuple(0 if m else None for m in mapped)
        found = ag.vmap(each, in_axes=axes)(*of_library(xp, given))
        for one, all_members in zip(zip(*expected, strict=True), found, strict=True):
            np.testing.assert_allclose(host(all_members), np.stack([host(a) for a in one]))


BOOLEANS = {
    "beside a slice": (True, ALL, "one"),
    "of nothing": (False, 0),
    "between arrays": ("one", True, "one"),
    "an array": (np.asarray(True), "one"),
    "alone": True,
    "a mask beside arrays": (np.asarray([True, False, True]), "one"),
    "a list beside arrays": ([0, -1], "one"),
}


@pytest.mark.parametrize("name", BOOLEANS)
def test_what_is_no_array_of_members_is_the_same_for_all_beside_theirs(name):
    key, rng = BOOLEANS[name], np.random.default_rng(6)
    parts = key if isinstance(key, tuple) else (key,)
    lists = [
        rng.normal(size=(MEMBERS, LENGTH, LENGTH)),
        *map(list, zip(*drawn(parts, rng), strict=True)),
    ]

    def place(arrays):
        return filled(key, arrays) if isinstance(key, tuple) else key

    for of_key in {(0,) * (len(lists) - 1), (1,) * (len(lists) - 1)}:
        members = Members((1, *of_key))
        members.compare(
            lambda x, *arrays: XP.asarray(x)[place(arrays)],
            lambda x, *arrays: x[place(arrays)],
            lists,
        )
        members.compare(
            lambda x, *arrays: put(XP, x, 7.0, place(arrays)),
            lambda x, *arrays: written(x, 7.0, place(arrays)),
            lists,
        )


def test_a_key_of_too_many_indices_is_an_index_error():
    with pytest.raises(IndexError, match="3 indices for an array of 2 axes"):
        ag.vmap(lambda x, k: x[0, k, 0])(np.ones((3, 2, 2)), np.zeros((3, 1), dtype=int))


# -- dtypes of what is written ---------------------------------------------------------------------


def tried(call):
    """Return a result with its dtype, or the type of the exception."""
    try:
        return host(call())
    except Exception as error:
        return type(error)


VALUES = [True, 2, 300, 0.5, float("nan"), 1.0 + 2.0j]
VALUES += [np.asarray(each) for each in (1, 0.5, 1.0 + 2.0j)]


@pytest.mark.filterwarnings("ignore")  # of casts, in words of each library
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32"])
@pytest.mark.parametrize("backend", ["dask", "numpy", "strict", "torch"], indirect=True)
def test_a_write_keeps_the_dtype_and_refuses_what_each_member_refuses(xp, dtype):
    x = xp.astype(xp.asarray([[1.0, -2.0], [3.0, 4.0]]), getattr(xp, dtype)).data
    masks = xp.asarray([[True, False], [False, True]]).data
    keys = {"mask": lambda mask: mask, "number": lambda mask: 0, "all": lambda mask: ...}
    for (name, key), value in itertools.product(keys.items(), VALUES):
        given = xp.asarray(value).data if isinstance(value, np.ndarray) else value

        def f(x, mask, key=key, given=given):
            return put(xp, x, given, key(mask))

        alone = [tried(lambda i=i, f=f: f(x[i, ...], masks[i, ...])) for i in range(2)]
        found = tried(lambda f=f: ag.vmap(f)(x, masks))
        if isinstance(alone[0], type):
            assert found is alone[0], (name, value)
        else:
            assert found.dtype == alone[0].dtype
            np.testing.assert_array_equal(found, np.stack(alone), err_msg=f"{name}: {value}")


def test_a_number_written_to_integers_at_masks_of_members_is_cut_in_gradients_too():
    def f(x):
        counts = XP.astype(XP.floor(x), XP.int64)
        counts[x > 0] = 2.7
        return XP.sum(XP.astype(counts, XP.float64) * x)

    x = np.asarray([[1.5, -0.5], [-2.0, 3.5]])
    expected = np.stack([ag.grad(f)(each) for each in x])
    np.testing.assert_array_equal(expected, [[2.0, -1.0], [-2.0, 2.0]])
    np.testing.assert_array_equal(ag.vmap(ag.grad(f))(x), expected)


def test_a_member_takes_no_longer_value_than_it_takes_alone():
    x, one = np.ones((2, 3)), np.ones((2, 1))
    for key, refused in ((0, True), (..., False), (np.asarray([True, False, True]), True)):
        assert isinstance(tried(lambda k=key: written(x[0], one[0][None], k)), type) == refused
        found = tried(lambda k=key: ag.vmap(lambda x, v: put(XP, x, v[None], k))(x, one))
        assert isinstance(found, type) == refused
