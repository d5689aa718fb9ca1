"""vmap on Dask: the axis of members is chunked as any other, and nothing is computed."""

import numpy as np
import pytest

import agnograd as ag

da = pytest.importorskip("dask.array", reason="Dask: pip install 'agnograd[dask]'")
dask = pytest.importorskip("dask", reason="Dask: pip install 'agnograd[dask]'")


def no_computing(*args, **kwargs):
    raise AssertionError("something was computed")


def in_numpy(lazily):
    """Build what a function gives without computing anything; return it, and NumPy's of it."""
    with dask.config.set(scheduler=no_computing):
        found = lazily()
    assert isinstance(found, da.Array)
    return found, found.compute(scheduler="synchronous")


def of_one_member(xp):
    """Return a loss of a row and of what all rows share."""

    def loss(row, w):
        hidden = xp.tanh(row @ w)
        return xp.sum(hidden * xp.cumulative_sum(hidden)) + xp.max(row) + row[1] * xp.sum(row[::-1])

    return loss


def given():
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (6, 4)), rng.uniform(-1, 1, (4, 3))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("chunks", [1, 2, (1, 5), (4, 2)])
def test_the_gradients_of_members_are_lazy_and_in_their_chunks(axis, chunks):
    x, w = given()
    rows = np.moveaxis(x, 0, axis)
    along = {axis: chunks, 1 - axis: -1}
    chunked, shared = da.from_array(rows, chunks=along), da.from_array(w)
    gradient = ag.vmap(
        ag.grad(of_one_member(ag.namespace("dask"))), in_axes=(axis, None), out_axes=axis
    )
    lazy, found = in_numpy(lambda: gradient(chunked, shared))
    assert lazy.chunks == chunked.chunks
    one = ag.grad(of_one_member(ag.namespace("numpy")))
    np.testing.assert_allclose(found, np.stack([one(row, w) for row in x], axis=axis))


def test_a_pass_through_the_members_is_lazy_and_in_the_chunks_of_its_inputs():
    x, w = given()
    chunked, spread = da.from_array(x, chunks=(2, 4)), da.from_array(w, chunks=(4, 2))

    def total(xp):
        loss = of_one_member(xp)
        return lambda w, x: xp.sum(ag.vmap(loss, in_axes=(0, None))(x, w))

    for argnum, argument in enumerate((spread, chunked)):
        gradient = ag.grad(total(ag.namespace("dask")), argnums=argnum)
        lazy, found = in_numpy(lambda gradient=gradient: gradient(spread, chunked))
        assert lazy.chunks == argument.chunks
        expected = ag.grad(total(ag.namespace("numpy")), argnums=argnum)(w, x)
        np.testing.assert_allclose(found, expected)


def test_the_members_of_two_arrays_may_lie_in_other_chunks():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 1, (4, 3, 3)) + 3 * np.eye(3), rng.uniform(size=(4, 3))

    def loss(xp):
        return lambda a, b: xp.sum(xp.linalg.solve(a, b) ** 2)

    chunked = da.from_array(a, chunks=(1, 3, 3)), da.from_array(b, chunks=(3, 3))
    gradient = ag.vmap(ag.grad(loss(ag.namespace("dask"))))
    lazy, found = in_numpy(lambda: gradient(*chunked))
    assert lazy.chunks == chunked[0].chunks
    one = ag.grad(loss(ag.namespace("numpy")))
    np.testing.assert_allclose(found, np.stack([one(*each) for each in zip(a, b, strict=True)]))
