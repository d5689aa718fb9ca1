"""An array that is filled step by step is copied a few times, and not once in each step."""

import sys
import tracemalloc

import numpy as np
import pytest

import agnograd as ag

xp = ag.namespace("numpy")
LENGTH = 200_000


def filled(steps):
    def function(x):
        out = xp.zeros(x.shape)
        for k in range(steps):
            before = out[k - 1] if k else 1.0
            out[k] = xp.sin(x[k]) * before
        return xp.sum(out[:steps])

    return function


def by_columns(steps):
    """Fill pairs of a table, of which slices are read."""

    def function(x):
        out = xp.zeros((x.shape[0] // 2, 2))
        for k in range(steps):
            before = out[k - 1, :] if k else xp.ones(2)
            out[k, ...] = xp.sin(x[2 * k : 2 * k + 2]) * before
        return xp.sum(out[:steps, 0] * out[:steps, 1])

    return function


def transformed(f):
    return {
        "grad": ag.grad(f),
        "jvp": lambda x: ag.jvp(f, (x,), (np.cos(x),))[1],
        "vmap": lambda x: ag.vmap(f)(np.stack([x, x + 1.0])),
        "vmap(grad)": lambda x: ag.vmap(ag.grad(f))(np.stack([x, x + 1.0])),
        "grad(vmap)": ag.grad(lambda x: xp.sum(ag.vmap(f)(xp.stack([x, x + 1.0])))),
        "checkpoint": ag.grad(lambda x: ag.checkpoint(f)(x)),
    }


def allocated(call):
    """Return how many bytes a call allocates in all, also where it lets them go at once."""
    total = at = 0

    def look(frame, event, argument):
        nonlocal total, at
        total += max(tracemalloc.get_traced_memory()[1] - at, 0)
        tracemalloc.reset_peak()
        at = tracemalloc.get_traced_memory()[0]
        return look

    outer = sys.gettrace()
    tracemalloc.start()
    try:
        sys.settrace(look)
        call()
    finally:
        sys.settrace(outer)
        look(None, None, None)
        tracemalloc.stop()
    return total


@pytest.mark.parametrize("fill", [filled, by_columns])
@pytest.mark.parametrize("how", transformed(filled(1)))
def test_steps_copy_no_whole_array(fill, how):
    x = np.linspace(1.0, 2.0, LENGTH)
    few, many = (transformed(fill(steps))[how] for steps in (2, 10))
    few(x), many(x)  # what is imported and kept does not count
    copies = (allocated(lambda: many(x)) - allocated(lambda: few(x))) / x.nbytes
    assert copies < 0.5 * (10 - 2)


@pytest.mark.parametrize("fill", [filled, by_columns])
@pytest.mark.parametrize("how", transformed(filled(1)))
def test_derivatives_are_those_of_other_ways(fill, how):
    x = np.linspace(1.0, 2.0, 12)
    f = fill(4)
    gradient = np.stack([ag.grad(f)(x), ag.grad(f)(x + 1.0)])
    value = np.asarray([float(f(x)), float(f(x + 1.0))])
    expected = {
        "vmap": value,
        "vmap(grad)": gradient,
        "grad(vmap)": gradient.sum(axis=0),
        "jvp": gradient[0] @ np.cos(x),
    }
    np.testing.assert_allclose(transformed(f)[how](x), expected.get(how, gradient[0]), rtol=1e-13)


def test_a_tangent_that_a_recorded_op_needs_is_not_written_to():
    def f(x):
        out = x * 1.0
        with ag.hooks("timer"):  # what hooks see is recorded, and pushed in the end
            doubled = out * 2.0  # which keeps no array
        out[0] = x[1]
        return xp.sum(doubled) + xp.sum(out)

    x = np.asarray([0.3, 0.7, 1.1])
    along = np.asarray([1.0, 5.0, 7.0])
    assert ag.jvp(f, (x,), (along,))[1] == pytest.approx(ag.grad(f)(x) @ along, rel=1e-13)


def kept_whole(x):
    out = x * 2.0
    kept = out + 0.0
    out[0] = 5.0 * x[1]
    return xp.sum(kept * out)


def kept_part(x):
    out = xp.sin(x)
    part = out[:2]
    element = out[1]
    out[1] = x[0]
    return xp.sum(part) * element


def written_argument(x):
    x[0] = x[1] * x[2]
    return xp.sum(x * x)


def copied(x):
    out = xp.cos(x)
    other = xp.asarray(out, copy=True)
    out[0] = x[2]
    other[1] = x[0]
    return xp.sum(out * other)


def reshaped(x):
    out = xp.exp(x)
    rows = xp.reshape(out, (2, -1))
    out[0] = x[1]
    rows[1, 0] = x[2]
    return xp.sum(out * out) + xp.sum(rows)


def wider(x):
    out = xp.zeros(3)
    out[0] = x[0] * x[1]
    out[1:] = x[2]
    out[None, 2:] = xp.reshape(x[1:2] ** 2, (1, 1))
    return xp.sum(out * out)


@pytest.mark.parametrize("f", [kept_whole, kept_part, written_argument, copied, reshaped, wider])
@pytest.mark.parametrize("inner", [ag.grad, lambda f: lambda x: ag.jvp(f, (x,), (x,))[1]])
def test_what_shares_memory_sees_a_write_only_where_it_is_a_view(f, inner):
    rows = np.asarray([[0.3, 0.7, 1.1, 0.2], [1.3, 0.4, 0.9, 0.6]])
    before = rows.copy()
    expected = np.stack([inner(f)(row.copy()) for row in rows])
    np.testing.assert_allclose(ag.vmap(inner(f))(rows), expected, rtol=1e-13)
    np.testing.assert_array_equal(rows, before)
    summed = ag.grad(lambda rows: xp.sum(ag.vmap(f)(rows)))(rows)
    np.testing.assert_allclose(
        summed, np.stack([ag.grad(f)(row.copy()) for row in rows]), rtol=1e-13
    )
    np.testing.assert_array_equal(rows, before)
    twice = ag.vmap(ag.vmap(inner(f)))(rows[None])
    np.testing.assert_allclose(twice, expected[None], rtol=1e-13)
