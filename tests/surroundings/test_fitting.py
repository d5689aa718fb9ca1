"""Calls that are of the kind of an earlier one: never one that has another key."""

import math

import numpy as np
import pytest

import agnograd as ag
from agnograd._surroundings.elements import WatchedArrays
from agnograd._surroundings.fitting import fitting
from agnograd._surroundings.inventory import Name
from agnograd._surroundings.keys import key_of

x = np.arange(6.0).reshape(2, 3)
tracked = ag.Variable(x)
VALUES = {
    "array": x,
    "other elements": x + 1.0,
    "other shape": x[:1],
    "other strides": x[:, ::-1],
    "columns": np.asfortranarray(x),
    "other dtype": x.astype("f4"),
    "big-endian": x.astype(">f8"),
    "subclass": x.view(np.ma.MaskedArray),
    "NumPy's number": np.float64(1.0),
    "array without axes": np.asarray(1.0),
    "tracked": tracked,
    "untracked": ag.Variable(x, requires_grad=False),
    "view": ag.Variable(np.stack([x, x]))[0],
    "int": 1,
    "bool": True,
    "float": 1.0,
    "zero": 0.0,
    "minus zero": -0.0,
    "NaN": math.nan,
    "text": "x",
    "nothing": None,
    "tuple": (1, 2.0),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_fits_has_the_key(name):
    fits = fitting([VALUES[name]], [])
    assert fits([VALUES[name]], [])
    for other in VALUES.values():
        assert not fits([other], []) or key_of([other], None) == key_of([VALUES[name]], None)


def test_another_array_of_the_kind_fits():
    fits = fitting([x, 2, tracked], [x, tracked])
    assert fits([x + 1.0, 2, ag.Variable(x + 1.0)], [x * 2.0, ag.Variable(x)])
    assert not fits([x, 3, tracked], [x, tracked])
    assert not fits([x, 2, tracked], [x[:, :2], tracked])
    assert not fits([x, 2, tracked], [x, ag.Variable(x, requires_grad=False)])


def test_a_dtype_that_is_equal_fits():
    made = np.dtype([("a", "f8")])
    assert fitting([np.zeros(2, made)], [])([np.zeros(2, np.dtype([("a", "f8")]))], [])


def test_nothing_fits_nothing():
    assert fitting([], [])([], [])


def test_samples_have_to_be_as_they_were():
    short, long = np.arange(6.0), np.arange(1000.0)
    watched, names = WatchedArrays(), (Name("", "short", ""), Name("", "long", ""))
    watched.see(names)
    arrays = [short, ag.Variable(long)]
    samples = watched.samples(watched.key(arrays, names), names)
    fits = fitting([], arrays, samples)
    assert fits([], arrays)
    assert fits([], [short, ag.Variable(long)])
    assert not fits([], [short.copy(), arrays[1]])
    for array in (short, long):
        before, array[0] = array[0], 7.0
        assert not fits([], arrays)
        array[0] = before
        assert fits([], arrays)


def test_there_are_no_samples_where_all_elements_count():
    masked = np.ma.MaskedArray(x, x > 2.0)
    for array, use in ((x, True), (masked, False)):
        watched, names = WatchedArrays(), (Name("", "x", ""),)
        (watched.use if use else watched.see)(names)
        assert watched.samples(watched.key([array], names), names) is None


def test_what_is_watched_later_is_noticed():
    first, second = Name("", "x", ""), Name("", "y", "")
    watched = WatchedArrays()
    watched.see([first])
    before = watched.names
    watched.see([first])
    assert watched.names is before
    watched.use([first])
    assert watched.names is not before
    before = watched.names
    watched.see([first, second])
    assert watched.names is not before
