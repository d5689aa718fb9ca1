"""Keys of calls: equal for equal programs, and different for all that a program depends on."""

import datetime
import decimal
import enum
import fractions
import math
from functools import partial

import numpy as np
import pytest

import agnograd as ag
from agnograd._util.trees import flatten
from agnograd.errors import ArgumentError
from agnograd_compile._surroundings.differences import difference
from agnograd_compile._surroundings.elements import WatchedArrays
from agnograd_compile._surroundings.inventory import Name
from agnograd_compile._surroundings.keys import (
    content_key,
    fingerprint,
    key_of,
    key_of_array,
    value_key,
)
from agnograd_compile._surroundings.surroundings import Surroundings
from calls import profiled
from memory import peak_of


class Mode(enum.Enum):
    ONE = 1
    TWO = 2


def key(*args, **kwargs):
    return key_of(*flatten((args, kwargs)))


x = np.arange(6.0).reshape(2, 3)
noon = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
SAME = {
    "array": (x, x + 1.0),
    "list of arrays": ([x, x], [x, x + 1]),
    "dict": ({"a": x, "b": 2}, {"b": 2, "a": x}),
    "NaN": (math.nan, -math.nan),
    "text": ("sum", "".join(["s", "um"])),
    "dtype": (np.dtype("f8"), np.dtype(float)),
    "enum": (Mode.ONE, Mode(1)),
    "Variable": (ag.Variable(x), ag.Variable(x + 1)),
    "view": (ag.Variable(x)[0], ag.Variable(x[0])),
}
DIFFERENT = {
    "shape": (x, x[:1]),
    "dtype": (x, x.astype("f4")),
    "layout": (x, np.asfortranarray(x)),
    "byte order": (x, x.astype(">f8")),
    "scalar": (np.float64(1), np.asarray(1.0)),
    "number for array": (1.0, np.asarray(1.0)),
    "Variable": (x, ag.Variable(x)),
    "tracked": (ag.Variable(x), ag.Variable(x, requires_grad=False)),
    "integer and float": (1, 1.0),
    "integer and boolean": (1, True),
    "zeros": (0.0, -0.0),
    "complex zeros": (complex(0.0, 0.0), complex(0.0, -0.0)),
    "structure": ([x, x], (x, x)),
    "length": ([x], [x, x]),
    "dict": ({"a": x}, {"b": x}),
    "text": ("sum", "prod"),
    "enum": (Mode.ONE, Mode.TWO),
    "fraction": (fractions.Fraction(1, 2), 0.5),
    "date": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "zone": (noon, noon.astimezone(datetime.timezone(datetime.timedelta(hours=1)))),
    "fold": (datetime.time(1), datetime.time(1, fold=1)),
    "digits": (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    "range": (range(0, 3, 2), range(0, 4, 2)),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_keys_are_equal(pair):
    first, second = map(key, pair)
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_keys_are_different(pair):
    assert key(pair[0]) != key(pair[1])


def test_long_doubles_without_their_padding():
    keys = {value_key(np.longdouble(2))}
    if np.longdouble(0).itemsize == 16 and np.finfo(np.longdouble).nmant == 63:  # 10 bytes count
        data = np.longdouble(2).tobytes()[:10] + bytes(range(6))
        keys.add(value_key(np.frombuffer(data, np.longdouble)[0]))
    assert len(keys) == 1
    assert value_key(np.longdouble(-2)) not in keys


def test_a_signaling_nan_has_a_key():
    keys = {value_key(decimal.Decimal("sNaN")) for _ in range(2)}
    assert len(keys) == 1


def test_an_argument_by_keyword_is_another_one():
    assert key(x) != key(x=x)


@pytest.mark.parametrize("library", ["torch", "jax.numpy", "array_api_strict", "dask.array"])
def test_arrays_of_other_libraries(library):
    lib = pytest.importorskip(library)
    one = lib.ones((2, 3), dtype=lib.float32)
    assert hash(key_of_array(one)) == hash(key_of_array(one + one))
    assert key_of_array(one) == key_of_array(one + one)
    assert key_of_array(one) != key_of_array(one[:1, :])
    assert key_of_array(one) != key_of_array(lib.ones((2, 3), dtype=lib.int32))
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(one + one)


def test_tensors_by_their_strides():
    torch = pytest.importorskip("torch")
    assert key_of_array(torch.ones(3, 3)) != key_of_array(torch.ones(3, 3).T)


def test_weak_types_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    assert key_of_array(jnp.asarray(1.0)) != key_of_array(jnp.asarray(1.0, dtype=jnp.float32))


def test_what_is_not_hashable():
    with pytest.raises(ArgumentError, match=r"argument 1\['w'\] is a set, which is neither"):
        key(x, {"w": {1, 2}})
    with pytest.raises(ArgumentError, match=r"argument 'mask' is a bytearray.*static="):
        key(x, mask=bytearray(b"ab"))


def test_values_inside_of_tuples():
    assert value_key((1, (0.0,))) != value_key((1, (-0.0,)))
    assert value_key(frozenset({1})) != value_key(frozenset({True}))
    assert value_key(slice(0, 1)) != value_key(slice(0, True))
    assert hash(value_key(slice(0, 1))) == hash(value_key(slice(0, 1)))


def test_static_arguments_by_content():
    one = {"a": [1, {2, 3}], "b": np.arange(3), "c": bytearray(b"x")}
    two = {"a": [1, {3, 2}], "b": np.arange(3), "c": bytearray(b"x")}
    assert content_key(one) == content_key(two)
    assert hash(content_key(one)) == hash(content_key(two))
    two["b"][0] = 1
    assert content_key(one) != content_key(two)
    with pytest.raises(ArgumentError, match="static= names; it must be hashable"):
        content_key([type("Unhashable", (), {"__hash__": None})()])


MISSING = np.ma.masked


def test_numpys_masked_element_may_be_outside_of_a_compiled_function():
    xp = ag.namespace("numpy")

    def scaled(x, by=None):
        return xp.sum(x) if by is MISSING else 2.0 * xp.sum(x)

    assert ag.compile(scaled)(np.ones(3)) == 6.0
    values = np.asarray([1.0, 2.0])
    masks = [fingerprint(np.ma.masked_array(values, mask)) for mask in ([1, 0], [0, 1], [1, 0])]
    assert masks[0] == masks[2] != masks[1]


@pytest.mark.parametrize("size", [3, 10_000])
def test_a_fingerprint_is_that_of_all_elements(size):
    one = np.zeros(size)
    before = fingerprint(one)
    for place in (0, size // 2, size - 1):
        one[place] = 1.0
        assert fingerprint(one) != before
        one[place] = 0.0
    assert fingerprint(one[::-1]) == before == fingerprint(ag.Variable(one))
    assert len(before) <= 1024


@pytest.mark.parametrize("size", [0, 1, 10_000])
@pytest.mark.parametrize("kind", ["f8", ">f4", "c16", "?", "i1"])
def test_a_fingerprint_of_any_dtype_and_layout(size, kind):
    one = np.arange(2 * size).astype(kind).reshape(2, size)
    whole = fingerprint(one)
    assert type(whole) is bytes
    assert fingerprint(one.copy("F")) == fingerprint(np.flip(np.flip(one))) == whole


def test_a_key_takes_a_call_for_each_array():
    leaves, tree = flatten(((x, x + 1, x[0]), {}))
    key_of(leaves, tree)
    names = []
    notice = lambda frame, event, _: names.append(frame.f_code.co_name)  # noqa: E731
    profiled(partial(key_of, leaves, tree), notice)
    assert names.count("layout_of") == 2 * 3  # a call, and a return
    assert len([name for name in names if name not in ("layout_of", "key_of")]) <= 2


# -- differences in words -------------------------------------------------------------------------


def whole(f, *args, **kwargs):
    arrays, facts = Surroundings(f).read()
    return key(*args, **kwargs), facts, tuple(map(key_of_array, arrays)), "mode"


def f(x):
    return x


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (x, x[:1], "argument 0 has shape (1, 3) where it had (2, 3)"),
        (x, x.astype("f4"), "argument 0 has dtype float32 where it had float64"),
        (x, x.copy("F"), "argument 0 has strides (8, 16) where it had (24, 8)"),
        (2, 3, "argument 0 is 3 where it was 2"),
        (0.0, -0.0, "argument 0 is -0.0 where it was 0.0"),
        (2, 2.0, "argument 0 is 2.0 where it was 2"),
        ("a", "b", "argument 0 is 'b' where it was 'a'"),
        (range(2), range(3), "argument 0 is range(0, 3) where it was range(0, 2)"),
        (x, 2.0, "argument 0 is 2.0 where it was a ndarray of shape (2, 3) and dtype float64"),
        ({"a": 1}, {"a": 2}, "argument 0['a'] is 2 where it was 1"),
        (
            ag.Variable(x),
            ag.Variable(x, requires_grad=False),
            "argument 0 is not tracked where it was tracked",
        ),
    ],
)
def test_differences_of_arguments(old, new, expected):
    assert difference(whole(f, old), whole(f, new)) == expected


def test_differences_of_structure():
    assert "have the structure" in difference(whole(f, [x]), whole(f, (x, x)))


def test_differences_of_arguments_that_are_all_leaves():
    def plain(*leaves):
        return key_of(leaves, None), *whole(f, x)[1:]

    assert difference(plain(x, 1), plain(x, 2)) == "argument 1 is 2 where it was 1"
    expected = "there are 3 arrays and other values in the arguments where there were 2"
    assert difference(plain(x, x), plain(x, x, x)).startswith(expected)
    assert difference(plain(x, x), whole(f, [x, x, x])).startswith(expected)


def test_differences_of_surroundings():
    scale, w, weights = 2.0, np.ones(2), [1, 2]

    def g(x):
        return x * scale + w, weights

    before = whole(g, x)
    scale = 3.0
    expected = "the closure variable 'scale' of g is 3.0 where it was 2.0"
    assert difference(before, whole(g, x)) == expected
    before, scale = whole(g, x), np.float32(4)
    expected = "the closure variable 'scale' of g is float32(4.0) where it was 3.0"
    assert difference(before, whole(g, x)) == expected
    before, scale = whole(g, x), np.longdouble(-2)
    expected = "the closure variable 'scale' of g is longdouble(-2.0) where it was float32(4.0)"
    assert difference(before, whole(g, x)) == expected
    before, scale = whole(g, x), np.complex64(0)
    expected = "the closure variable 'scale' of g is complex64(0000000000000000) where it was "
    assert difference(before, whole(g, x)) == f"{expected}longdouble(-2.0)"
    before, w = whole(g, x), np.ones(3)
    expected = "the closure variable 'w' of g has shape (3,) where it had (2,)"
    assert difference(before, whole(g, x)) == expected
    before = whole(g, x)
    weights.append(3)
    found = difference(before, whole(g, x))
    expected = "'weights' of g is a list of length 3 where it was a list of length 2"
    assert found == f"the closure variable {expected}"


def test_what_else_differs():
    one = whole(f, x)
    assert difference(one, (*one[:-1], "other")) == "the state is other where it was mode"
    assert "other elements" in difference((*one, (b"1",)), (*one, (b"2",)))
    assert "different" in difference(one, one)


class TestWatchedElements:
    """Arrays outside of which Python makes something count by all of their elements."""

    NAME = Name("", "x", "")

    def key(self, watched, array):
        (key,) = watched.key([array], (self.NAME,))
        return key

    def watched(self):
        watched = WatchedArrays()
        watched.add([self.NAME], used=True)
        return watched

    @pytest.mark.parametrize("size", [0, 1, 8192, 8193, 30_000])
    def test_each_element_counts(self, size):
        watched, x = self.watched(), np.arange(float(size))
        first = self.key(watched, x)
        assert self.key(watched, x) == self.key(watched, x.copy()) == first
        assert self.key(self.watched(), ag.Variable(x)) == first
        for place in {0, 8191, 8192, size // 2, size - 1} & {*range(size)}:
            before, x[place] = x[place], -1.0
            assert self.key(watched, x) != first
            x[place] = before
            assert self.key(watched, x) == first

    def test_an_array_that_begins_like_a_shorter_one(self):
        watched, short = self.watched(), np.zeros(8192)  # as long as what is compared at a time
        first = self.key(watched, short)
        long = [np.concatenate([short, np.full(8192, last)]) for last in (1.0, 2.0)]
        assert len({first, *(self.key(watched, each) for each in long)}) == 3
        assert self.key(watched, short) == first

    def test_layouts(self):
        watched, x = self.watched(), np.arange(40_000.0).reshape(200, 200)
        for array in (x, x.T, x[::2, ::-1], np.asfortranarray(x)):
            assert self.key(watched, array) == self.key(self.watched(), array.copy("C"))

    def test_what_is_compared_is_not_copied(self):
        watched, x = self.watched(), np.arange(2.0**12)
        self.key(watched, x)
        assert peak_of(lambda: self.key(watched, x)) < x.nbytes / 16

    def test_what_is_seen_first_is_copied_in_pieces(self):
        watched, x = self.watched(), np.arange(2.0**20)
        assert x.nbytes > 2**22  # too large to be kept
        assert peak_of(lambda: self.key(watched, x)) < x.nbytes / 64

    @pytest.mark.parametrize(
        "dtype", ["M8[s]", "U3", "f2", "c16", "?", ">f8", [("a", "i8"), ("b", "f4")]]
    )
    def test_dtypes(self, dtype):
        watched, x = self.watched(), np.array([1, 0, 1, 1]).astype(dtype)
        first = self.key(watched, x)
        assert self.key(watched, x.copy()) == first
        x[1] = x[0]
        assert self.key(watched, x) != first

    def test_nan_is_what_it_was_and_zeros_have_signs(self):
        watched = self.watched()
        first = self.key(watched, np.array([np.nan, 0.0]))
        assert self.key(watched, np.array([np.nan, 0.0])) == first
        assert self.key(watched, np.array([np.nan, -0.0])) != first
