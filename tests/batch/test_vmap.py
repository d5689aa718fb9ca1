"""vmap: which axes have members, in what order and number, and what a wrong one is told."""

from collections import namedtuple

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, BatchingError
from arrays import host, leaf

Point = namedtuple("Point", "x y")


def raw(xp, *shape):
    """Return an array of distinct numbers."""
    numbers = np.sin(np.arange(1.0, 1 + np.prod(shape, dtype=int)))
    given = numbers.reshape(shape).tolist() if numbers.size else np.zeros(shape)
    return xp.asarray(given, dtype=xp.float64).data


def close(found, expected):
    found, expected = host(found), host(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def stack(xp, results, axis=0):
    return xp.stack([xp.asarray(each) for each in results], axis=axis)


def rows(xp, x):
    return [x[k, ...] for k in range(x.shape[0])]


# -- where members lie -----------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_members_lie_along_any_axis(xp, axis):
    x = raw(xp, 2, 3, 4)
    members = rows(xp, xp.moveaxis(xp.asarray(x), axis, 0))
    found = ag.vmap(lambda x: xp.sum(x, axis=0) * x[1, 0], in_axes=axis)(x)
    close(found, stack(xp, [xp.sum(m, axis=0) * m[1, 0] for m in members]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_results_have_their_members_along_any_axis(xp, axis):
    x = raw(xp, 4, 2, 3)
    found = ag.vmap(lambda x: xp.exp(x), out_axes=axis)(x)
    close(found, stack(xp, [xp.exp(m) for m in rows(xp, xp.asarray(x))], axis))


def test_arguments_have_members_along_axes_of_their_own_or_none(xp):
    x, w, shift = raw(xp, 5, 3), raw(xp, 3, 5), raw(xp, 3)
    f = ag.vmap(lambda x, w, shift: xp.sum(x * w + shift), in_axes=(0, 1, None))
    expected = xp.sum(xp.asarray(x) * xp.asarray(w).T + xp.asarray(shift), axis=1)
    close(f(x, w, shift), expected)
    close(ag.vmap(lambda x, w: x @ w, in_axes=[0, None])(x, w), xp.asarray(x) @ xp.asarray(w))


def test_axes_are_given_for_prefixes_of_pytrees(xp):
    x, y, z = raw(xp, 4, 3), raw(xp, 3, 4), raw(xp, 3)

    def f(point, rest):
        return {"sum": point.x + point.y, "rest": [rest["z"] * point.x, point.y]}

    axes = (Point(0, 1), {"z": None})
    found = ag.vmap(f, axes, {"sum": 1, "rest": 0})(Point(x, y), {"z": z})
    close(found["sum"], xp.asarray(x).T + xp.asarray(y))
    close(found["rest"][0], xp.asarray(x) * xp.asarray(z))
    close(found["rest"][1], xp.asarray(y).T)
    found = ag.vmap(lambda p, s: Point(p.x * s, p), in_axes=(0, None))(Point(x, x), 2.0)
    assert isinstance(found, Point)
    close(found.x, 2 * host(x))
    close(found.y.y, x)


def test_what_is_none_stays_none(xp):
    x = raw(xp, 4)
    found = ag.vmap(lambda x, none: (x, none, {"none": none}), in_axes=(0, None))(x, None)
    close(found[0], x)
    assert found[1:] == (None, {"none": None})


def test_keyword_arguments_are_the_same_for_all_members(xp):
    x, scale = raw(xp, 4, 2), raw(xp, 2)
    found = ag.vmap(lambda x, *, scale, power=1: scale * x**power)(x, scale=scale, power=2)
    close(found, host(scale) * host(x) ** 2)


def test_a_result_that_is_the_same_for_all_members(xp):
    x, w = raw(xp, 4, 2), raw(xp, 3)
    f = ag.vmap(lambda x: (x, xp.asarray(w) * 2.0, 1.5), out_axes=(0, None, 0))
    _, once, number = f(x)
    close(once, 2 * host(w))
    close(number, np.full(4, 1.5))
    close(ag.vmap(lambda x: xp.asarray(w), out_axes=1)(x), np.stack([host(w)] * 4, axis=1))


# -- how many members there are --------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_any_number_of_members(xp, size):
    x, w = raw(xp, size, 3), raw(xp, 3, 2)
    found = ag.vmap(lambda x: xp.tanh(x @ xp.asarray(w)) * x[0])(x)
    close(found, np.tanh(host(x) @ host(w)) * host(x)[:, :1])
    gradient = ag.vmap(ag.grad(lambda x: xp.sum(xp.tanh(x @ xp.asarray(w)))))(x)
    assert gradient.shape == (size, 3)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 100])
def test_parts_of_the_members_are_computed_one_after_the_other(xp, chunk_size):
    x, w, sizes = raw(xp, 5, 3), raw(xp, 3), []

    def f(x, w):
        sizes.append(1)
        return {"a": x * w, "same": xp.asarray(w), "b": xp.sum(x)}

    axes = {"a": 1, "same": None, "b": 0}
    found = ag.vmap(f, (0, None), axes, chunk_size=chunk_size)(x, w)
    assert len(sizes) == -(-5 // chunk_size)
    close(found["a"], (host(x) * host(w)).T)
    close(found["b"], host(x).sum(axis=1))
    close(found["same"], w)


def test_parts_are_differentiated(xp):
    x, w = leaf(xp, host(raw(xp, 5, 3))), leaf(xp, host(raw(xp, 3)))
    out = ag.vmap(lambda x: xp.sum(xp.sin(x * w)), chunk_size=2)(x)
    xp.sum(out * out).backward()
    again = [leaf(xp, host(each)) for each in (x, w)]
    out = xp.sum(xp.sin(again[0] * again[1]), axis=1)
    xp.sum(out * out).backward()
    close(x.grad, again[0].grad)
    close(w.grad, again[1].grad)


# -- what comes in, and what goes out --------------------------------------------------------------


def test_raw_arrays_give_raw_arrays_and_variables_variables(xp):
    x = raw(xp, 4, 2)
    assert type(ag.vmap(lambda x: xp.sum(x))(x)) is type(x)
    found = ag.vmap(lambda x: xp.sum(x))(xp.asarray(x))
    assert isinstance(found, ag.Variable)
    assert not found.requires_grad
    w = leaf(xp, [1.0, 2.0])
    assert ag.vmap(lambda x: xp.sum(x * w))(x).requires_grad
    with ag.no_grad():
        assert not ag.Variable(ag.vmap(lambda x: xp.sum(x))(leaf(xp, [[1.0]])).data, False).node


def test_the_function_sees_variables_of_one_member(xp):
    def f(x, y):
        assert isinstance(x, ag.Variable)
        assert (x.shape, x.ndim, x.size, len(x)) == ((3, 2), 2, 6, 3)
        assert x.dtype == xp.float64
        assert y.shape == ()
        assert "5 members" in repr(x)
        return x

    ag.vmap(f)(raw(xp, 5, 3, 2), raw(xp, 5))


def test_a_member_that_is_returned_as_it_was_given_is_a_copy(xp):
    x = raw(xp, 4, 2)
    out = ag.vmap(lambda x: x)(x)
    close(out, x)
    assert out is not x


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "int64", "bool"])
def test_members_of_any_dtype(xp, dtype):
    x = xp.astype(xp.asarray([[0.0, 1.0], [1.0, 1.0]]), getattr(xp, dtype)).data
    found = ag.vmap(lambda x: xp.where(x == x, x, x)[::-1])(x)
    assert found.dtype == x.dtype
    close(found, host(x)[:, ::-1])
    if dtype == "int64":
        close(ag.vmap(lambda i: xp.asarray([5.0, 7.0])[i])(x), np.asarray([5.0, 7.0])[host(x)])


def test_functions_keep_their_names(xp):
    def loss(x):
        """Return x."""
        return x

    assert ag.vmap(loss).__name__ == "loss"


# -- what is wrong ---------------------------------------------------------------------------------


def same(x):
    return x


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ag.vmap(3), "ag.vmap"),
        (lambda x: ag.vmap(same, chunk_size=0), "chunk_size is 0; it must be a positive integer"),
        (lambda x: ag.vmap(same, chunk_size=True), "chunk_size is True"),
        (lambda x: ag.vmap(same, in_axes=2)(x), "in_axes names axis 2 of an array of shape"),
        (lambda x: ag.vmap(same, in_axes=-3)(x), "in_axes names axis -3"),
        (lambda x: ag.vmap(same, out_axes=2)(x), "out_axes names axis 2 of a result of 2 axes"),
        (lambda x: ag.vmap(same, out_axes=None)(x), "out_axes is None for a result that differs"),
        (lambda x: ag.vmap(same, in_axes=None)(x), "no argument has members"),
        (lambda x: ag.vmap(same)(), "no argument has members"),
        (lambda x: ag.vmap(lambda: x)(), "no argument has members"),
        (lambda x: ag.vmap(same)(2.0), "2.0 is not an array, and has no axis 0: give in_axes=None"),
        (lambda x: ag.vmap(same, in_axes=True)(x), "in_axes has True; each axis is an integer"),
        (lambda x: ag.vmap(same, in_axes=0.0)(x), "in_axes has 0.0"),
        (lambda x: ag.vmap(same, in_axes=(0, 1))(x), "in_axes does not fit"),
        (lambda x: ag.vmap(same, in_axes=({"a": 0},))({"b": x}), "in_axes does not fit"),
        (lambda x: ag.vmap(same, out_axes=(0, 1))(x), "out_axes does not fit"),
        (
            lambda x: ag.vmap(lambda x, y: x, in_axes=(0, 1))(x, x),
            r"different numbers of members: 4 of shape \(4, 2\) along axis 0, 2 of shape \(4, 2\)",
        ),
    ],
)
def test_what_is_wrong_is_said(xp, call, words):
    with pytest.raises((ArgumentError, TypeError), match=words):
        call(raw(xp, 4, 2))


def test_none_in_a_pytree_needs_no_axis(xp):
    x = raw(xp, 4, 2)

    def f(p, x):
        assert p["b"] is None
        return {"y": p["w"] * x, "b": p["b"]}

    found = ag.vmap(f)({"w": x, "b": None}, x)
    assert found["b"] is None
    np.testing.assert_allclose(host(found["y"]), host(x) ** 2)
    with pytest.raises(ArgumentError, match="no argument has members"):
        ag.vmap(f)({"w": None, "b": None}, None)


def test_a_function_returns_arrays(xp):
    with pytest.raises(BatchingError, match="an object of type str; it must return arrays"):
        ag.vmap(lambda x: "x")(raw(xp, 4))
