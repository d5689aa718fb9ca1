"""Namespaces of libraries that have the standard's names, and not all of its keywords."""

import types

import numpy as np
import pytest

from agnograd.extend import with_keywords


@pytest.fixture
def library():
    """Return NumPy as a library that knows no keywords but its own words for some."""
    made = types.ModuleType("library", "A library.")

    def asarray(obj):
        return np.asarray(obj)

    def astype(x, dtype):
        return x.astype(dtype, copy=False)

    def reshape(x, shape):
        return np.reshape(x, shape)

    def zeros(shape):
        return np.zeros(shape)

    def full(shape, value):
        return np.full(shape, value)

    def var(x, axis=None, ddof=0):
        return np.var(x, axis=axis, ddof=ddof)

    def reduced(x, axis=None):
        return np.sum(x, axis=axis)

    vars(made).update(
        asarray=asarray, astype=astype, reshape=reshape, zeros=zeros, full=full, var=var
    )
    vars(made).update(sum=reduced, sin=np.sin, float32=np.dtype("float32"), pi=np.pi)
    return made


def test_a_device_is_dropped_if_it_is_the_one_that_there_is(library):
    xp = with_keywords(library, lacks={"device": ["zeros", "as*"]}, device="here")
    assert xp.zeros(2, device="here").shape == xp.zeros(2, device=None).shape == (2,)
    assert xp.astype(xp.asarray([1], device="here"), "float32").dtype == np.float32
    with pytest.raises(ValueError, match="zeros: there is one device, 'here', and 'there' was"):
        xp.zeros(2, device="there")
    assert xp.reshape is library.reshape
    assert (xp.pi, xp.float32, xp.sin) == (library.pi, library.float32, library.sin)
    assert (xp.__name__, xp.__doc__) == ("library", "A library.")
    assert xp.zeros.__name__ == "zeros"


def test_copies_are_made_by_the_function_that_is_given(library):
    lacks = {"copy": ["asarray", "astype", "reshape"]}
    xp = with_keywords(library, lacks=lacks, copied=np.copy)
    x = np.ones((2, 3))
    assert xp.asarray(x) is x
    for copied in (
        xp.asarray(x, copy=True),
        xp.reshape(x, (6,), copy=True),
        xp.astype(x, x.dtype),
        xp.astype(x, x.dtype, copy=True),
    ):
        assert not np.shares_memory(copied, x)
    assert xp.astype(x, x.dtype, copy=False) is x
    assert xp.asarray(x, copy=False) is x
    assert np.shares_memory(xp.reshape(x, (6,), copy=False), x)
    with pytest.raises(ValueError, match=r"no such array without a copy \(copy=False\)"):
        xp.asarray([1.0], copy=False)
    with pytest.raises(TypeError, match="asarray lacks 'copy': pass with_keywords a function as"):
        with_keywords(library, lacks={"copy": ["asarray"]})


def test_dtypes_are_casts_where_no_digits_are_lost(library):
    xp = with_keywords(library, lacks={"dtype": ["sum", "zeros"]})
    many = np.full(300, 1, dtype=np.int8)
    assert xp.sum(many, dtype=np.float32).dtype == np.float32
    assert xp.sum(np.full(2, 200, dtype=np.uint8), dtype=np.uint8) == 144
    assert xp.sum(np.ones((2, 3)), axis=0).shape == (3,)
    assert xp.zeros((2,), dtype=np.int8).dtype == np.int8
    with pytest.raises(TypeError, match="full lacks 'dtype', and a cast of its result could have"):
        with_keywords(library, lacks={"dtype": ["f*"]})


def test_words_are_translated_and_what_is_given_stands_for_the_librarys(library):
    xp = with_keywords(
        library,
        lacks={"device": ["*"]},
        renamed={"var": {"correction": "ddof"}},
        given={"full": None, "linalg": library},
    )
    assert xp.var(np.asarray([1.0, 3.0]), correction=1, device="cpu") == 2.0
    assert (xp.full, xp.linalg) == (None, library)
    with pytest.raises(TypeError, match="how to do without device, copy, dtype, and not 'axis'"):
        with_keywords(library, lacks={"axis": ["*"]})
